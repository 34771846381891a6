# The C face of moments.py, for cells.py.
cdef long long NO_MOMENT
cdef long long read_moment(const unsigned char* data, Py_ssize_t at, Py_ssize_t end, long long zone) noexcept
