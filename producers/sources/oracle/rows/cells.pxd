# The C face of cells.py, for rows.py.
cdef Py_ssize_t put_value(unsigned char* out, Py_ssize_t at, Py_ssize_t limit, int done, long long scale, int kind, const unsigned char* data, Py_ssize_t start, Py_ssize_t size) except -2
