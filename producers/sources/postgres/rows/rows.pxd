# The types of rows.py's state, for its compiled form.
from wrackline.producers.rows.row_events cimport Cells, RowEvents
from wrackline.producers.sources.postgres.rows.column_masking cimport ColumnMasking
from wrackline.schemas.events.frame cimport Frame

cdef class TupleCells(Cells):
    cdef Py_ssize_t split(self, const unsigned char* data, Py_ssize_t at, Py_ssize_t end) except -1
    cdef bint split_line(self, const unsigned char* data, Py_ssize_t end) noexcept

cdef class PgRowDecoder(RowEvents):
    cdef ColumnMasking veil
    cdef int announced
    cdef bytes every_done
    cdef const unsigned char* done
    cdef bytes every_scale
    cdef const unsigned char* scales
    cdef TupleCells new
    cdef TupleCells old
    cdef Py_ssize_t put(self, bytes message, Py_ssize_t at, Frame frame, long long ordinal, list events) except -1
    cpdef object read_line(self, bytes line)
    cdef object _chunk_row(self, bytes row)
    cdef Py_ssize_t _settle(self, unsigned char letter, bytes message, TupleCells old, TupleCells new, object unsent, Frame frame, long long ordinal, list events, object failed) except -1
    cdef bint _unsent(self, TupleCells old) noexcept
