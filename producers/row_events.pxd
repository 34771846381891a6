# The types of row_events.py's state, and what a decoder overrides, for the compiled forms.
from wrackline.schemas.frame cimport Frame
from wrackline.schemas.writer cimport Writer

cdef long long VALUE
cdef long long NULL
cdef long long UNSENT

cdef class Cells:
    cdef int count
    cdef bytearray kinds
    cdef long long[::1] starts
    cdef long long[::1] sizes

cdef class RowEvents:
    cdef object ref
    cdef object table
    cdef int count
    cdef long long[::1] key_places
    cdef int key_size
    cdef bytes key_nullable
    cdef bytes key_header
    cdef bytes value_header
    cdef bytes growth
    cdef tuple unavailable
    cdef Py_ssize_t beside
    cdef Writer writer
    cdef int column
    cdef Py_ssize_t put_cell(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit, int column, const unsigned char* data, Cells cells) except -1
    cdef Py_ssize_t inserted(self, const unsigned char* data, Cells cells, Frame frame, long long ordinal, long long of_table, list events) except -1
    cdef Py_ssize_t deleted(self, const unsigned char* data, Cells cells, Frame frame, long long ordinal, long long of_table, list events) except -1
    cdef Py_ssize_t updated(self, const unsigned char* data, Cells old, Cells new, object unsent, Frame frame, long long ordinal, long long of_table, list events) except -1
    cdef object found(self, const unsigned char* data, Cells cells)
    cdef bytes key(self, const unsigned char* data, Cells cells)
    cdef bytes value(self, const unsigned char* data, Cells before, Cells after, Frame frame, unsigned char op, bytes unchanged, long long ordinal, long long of_table)
    cdef Py_ssize_t _room(self, Cells cells) noexcept
    cdef Py_ssize_t _row(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit, const unsigned char* data, Cells cells) except -1
