# The types of row_events.py's state, and what a decoder overrides, for the compiled forms.
from wrackline.schemas.events.frame cimport Frame
from wrackline.schemas.events.avro_writer cimport AvroWriter

cdef long long VALUE
cdef long long NULL
cdef long long UNSENT

cdef class Cells:
    cdef int count
    cdef bytearray kinds
    cdef long long[::1] starts
    cdef long long[::1] sizes

cdef class RowEvents:
    cdef readonly object ref
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
    cdef AvroWriter writer
    cdef bint changed_only
    cdef bint same
    cdef int column
    cdef tuple on_unfit
    cdef Py_ssize_t put_cell(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit, int column, const unsigned char* data, Cells cells) except -1
    cdef long long total
    cdef long long of_table
    cdef Py_ssize_t inserted(self, const unsigned char* data, Cells cells, Frame frame, long long ordinal, list events) except -1
    cdef Py_ssize_t deleted(self, const unsigned char* data, Cells cells, Frame frame, long long ordinal, list events) except -1
    cdef Py_ssize_t updated(self, const unsigned char* data, Cells old, Cells new, object unsent, Frame frame, long long ordinal, list events) except -1
    cdef object settled(self, str op, const unsigned char* data, Cells before, Cells after, object unmade_before, object unmade_after, object unsent, Frame frame, long long ordinal, list events, object failed)
    cdef object settled_row(self, const unsigned char* data, Cells cells, object unmade, object failed)
    cdef object _unfits(self, const unsigned char* data, Cells cells)
    cdef bytes _sure_key(self, const unsigned char* data, Cells cells, object unfit)
    cdef object chunk_row(self, const unsigned char* data, Cells cells)
    cdef bytes key(self, const unsigned char* data, Cells cells)
    cdef bytes value(self, const unsigned char* data, Cells before, Cells after, Frame frame, unsigned char op, bytes unchanged, long long ordinal)
    cdef Py_ssize_t _room(self, Cells cells) noexcept
    cdef Py_ssize_t _row(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit, const unsigned char* data, Cells cells) except -1
