# The types of token_reader.py's state, for its compiled form and for decoders of rows.
from wrackline.producers.sources.sqlserver.wire.message_bytes cimport MessageBytes

cdef class TdsBatch:
    cdef readonly object columns
    cdef readonly int width
    cdef readonly bytearray data
    cdef readonly object places
    cdef int[::1] spots
    cdef readonly Py_ssize_t rows
    cdef readonly int result
    cdef bytes _bytes(self, Py_ssize_t at)

cdef class TdsReader:
    cdef long long most
    cdef MessageBytes message
    cdef Py_ssize_t rows
    cdef Py_ssize_t enough
    cdef int result
    cdef object shown
    cdef int count
    cdef int[::1] forms
    cdef int[::1] widths
    cdef Py_ssize_t capacity
    cdef object given
    cdef int[::1] places
    cdef object _missing(self)
    cdef TdsBatch _batch(self)
    cdef object _other(self, int token)
    cdef void _take_places(self, Py_ssize_t rows) except *
    cdef void _double_places(self) except *
    cdef Py_ssize_t _row(self, int token) except -9
    cdef Py_ssize_t _pieces(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _counted(self, Py_ssize_t at, Py_ssize_t place, int form) except -9
    cdef void _join(self, Py_ssize_t place) noexcept
