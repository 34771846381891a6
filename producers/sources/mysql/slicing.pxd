# The types of slicing.py's state, for its compiled form.

cdef class Slicing:
    cdef object read
    cdef object bound_of
    cdef Py_ssize_t slice_rows
    cdef Py_ssize_t slice_bytes
    cdef Py_ssize_t most_rows
    cdef Py_ssize_t most_bytes
    cdef list slices
    cdef list rows
    cdef readonly list begun
    cdef bytes row
    cdef readonly bytes last
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t size
    cdef Py_ssize_t total
    cdef readonly bint full
    cdef bint _one_too_many(self)
    cdef object _go_on(self, bytes packet, Py_ssize_t size)
    cdef object _take(self, bytes packet)
