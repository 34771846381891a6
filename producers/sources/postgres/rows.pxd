# The types of rows.py's state, for its compiled form.
from wrackline.producers.sources.postgres.veil cimport Veil
from wrackline.schemas.frame cimport Frame
from wrackline.schemas.writer cimport Writer

cdef class Cells:
    cdef int count
    cdef bytearray kinds
    cdef long long[::1] starts
    cdef long long[::1] sizes
    cdef Py_ssize_t split(self, const unsigned char* data, Py_ssize_t at, Py_ssize_t end) except -1
    cdef bint split_line(self, const unsigned char* data, Py_ssize_t end) noexcept

cdef class RowDecoder:
    cdef object ref
    cdef object table
    cdef Veil veil
    cdef int announced
    cdef int count
    cdef bytes done
    cdef bytes scales
    cdef long long[::1] key_places
    cdef int key_size
    cdef bytes key_nullable
    cdef bytes key_header
    cdef bytes value_header
    cdef bytes growth
    cdef Cells new
    cdef Cells old
    cdef Writer writer
    cdef int column
    cdef Py_ssize_t put(self, bytes message, Py_ssize_t at, Frame frame, long long ordinal, long long of_table, list events) except -1
    cpdef object read_line(self, bytes line)
    cdef object _found(self, bytes row)
    cdef Py_ssize_t _update(self, bytes message, Py_ssize_t at, Frame frame, long long ordinal, long long of_table, list events) except -1
    cdef bint _unsent(self, Cells old) noexcept
    cdef bytes _key(self, bytes message, Cells cells)
    cdef bytes _value(self, bytes message, Cells before, Cells after, Frame frame, unsigned char op, bytes unchanged, long long ordinal, long long of_table)
    cdef Py_ssize_t _room(self, Cells cells) noexcept
    cdef Py_ssize_t _row(self, unsigned char* out, Py_ssize_t at, const unsigned char* data, Cells cells) except -1
