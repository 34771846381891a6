# The C face of zoned_text.py, for the cells of sources.
cdef Py_ssize_t put_zoned(unsigned char* out, Py_ssize_t at, long long moment) noexcept
