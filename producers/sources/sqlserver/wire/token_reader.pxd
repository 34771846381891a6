# The types of token_reader.py's state, for its compiled form and for decoders of rows.

cdef class TdsBatch:
    cdef readonly object columns
    cdef readonly int width
    cdef readonly bytearray data
    cdef readonly object places
    cdef readonly Py_ssize_t rows
    cdef readonly int result

cdef class TdsReader:
    cdef long long most
    cdef bytearray head
    cdef int head_size
    cdef Py_ssize_t left
    cdef bint last
    cdef readonly bint ended
    cdef bytearray data
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef Py_ssize_t rows
    cdef int result
    cdef object shown
    cdef int count
    cdef int[::1] forms
    cdef int[::1] widths
    cdef Py_ssize_t capacity
    cdef object given
    cdef int[::1] places
    cdef _make_room(self, Py_ssize_t size)
