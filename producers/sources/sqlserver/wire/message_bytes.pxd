# The types of message_bytes.py's state, for token_reader.py.

cdef class MessageBytes:
    cdef bytearray head
    cdef int head_size
    cdef Py_ssize_t left
    cdef bint last
    cdef readonly bint ended
    cdef bytearray data
    cdef Py_ssize_t at
    cdef Py_ssize_t free
    cdef Py_ssize_t end
    cdef void _make_room(self, Py_ssize_t size) except *
    cdef bytearray hand_out(self)

cdef long long four(const unsigned char* data, Py_ssize_t at) noexcept
cdef void copy(unsigned char* out, Py_ssize_t at, const unsigned char* data, Py_ssize_t start, Py_ssize_t size) noexcept
cdef void move(unsigned char* data, Py_ssize_t out, Py_ssize_t at, Py_ssize_t size) noexcept
