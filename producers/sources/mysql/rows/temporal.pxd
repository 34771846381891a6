# The C face of temporal.py, for cells.py.
cdef long long little_number(const unsigned char* data, Py_ssize_t start, Py_ssize_t size) noexcept
cdef long long signed_number(const unsigned char* data, Py_ssize_t start, Py_ssize_t size) noexcept
cdef Py_ssize_t put_zoned(unsigned char* out, Py_ssize_t at, long long value) except -1
cdef long long days(long long value) except? -1
cdef long long micros_of(long long value) except? -1
cpdef long long moment(int form, const unsigned char* data, Py_ssize_t start, Py_ssize_t size) except? -1
cpdef long long duration(int form, const unsigned char* data, Py_ssize_t start, Py_ssize_t size) except? -1
