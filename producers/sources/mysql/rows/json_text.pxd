# The types of json_text.py's state, for its compiled form.
cdef class _Document:
    cdef bytes data
    cdef Py_ssize_t size
    cdef Py_ssize_t left
    cdef Py_ssize_t unread
    cpdef object value(self, int kind, Py_ssize_t at, int depth)
    cdef object _container(self, int kind, Py_ssize_t start, int depth)
    cdef bytes _bytes(self, Py_ssize_t at, Py_ssize_t size)
    cdef Py_ssize_t _number(self, Py_ssize_t at, int size) except? -1
