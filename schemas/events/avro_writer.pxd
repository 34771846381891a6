# The C face of avro_writer.py, for the compiled modules beside it.
cdef long long SLACK

cdef Py_ssize_t put_long(unsigned char* out, Py_ssize_t at, long long value) noexcept
cdef Py_ssize_t put_raw(unsigned char* out, Py_ssize_t at, Py_ssize_t limit, const unsigned char* data, Py_ssize_t start, Py_ssize_t size) except -1
cdef Py_ssize_t put_bytes(unsigned char* out, Py_ssize_t at, Py_ssize_t limit, const unsigned char* data, Py_ssize_t start, Py_ssize_t size) except -1
cdef Py_ssize_t put_units(unsigned char* out, Py_ssize_t at, long long units) noexcept

cdef class AvroWriter:
    cdef bytearray buffer
    cdef readonly Py_ssize_t size
    cdef unsigned char* raw
    cdef object reserve(self, Py_ssize_t size)
    cdef bytes take(self, Py_ssize_t size)
