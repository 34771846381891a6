# The types of rows.py's state, for its compiled form.
from wrackline.producers.row_events cimport Cells, RowEvents
from wrackline.producers.sources.mysql.images cimport Images, RowCells
from wrackline.producers.sources.mysql.result_cells cimport ResultCells
from wrackline.schemas.frame cimport Frame

cdef class MySqlRows(RowEvents):
    cdef int announced
    cdef list forms
    cdef list makes
    cdef bytes every_done
    cdef const unsigned char* done
    cdef long long[::1] meta
    cdef list labels
    cdef list odd
    cdef Py_ssize_t _put_labels(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit, int column, const unsigned char* data, Cells cells) except -1
    cdef int make(self, bytes event, RowCells cells, RowCells before) except -1

cdef class RowDecoder(MySqlRows):
    cdef Images images
    cdef RowCells new
    cdef RowCells old
    cdef readonly Py_ssize_t rows
    cdef Py_ssize_t _decode(self, bytes event, Py_ssize_t at, Py_ssize_t end, int kind, Frame frame, long long ordinal, long long of_table, Py_ssize_t skip, list events) except -1
    cdef Py_ssize_t _row_events(self, bytes event, int what, Frame frame, long long ordinal, long long of_table, list events) except -1

cdef class ResultDecoder(MySqlRows):
    cdef ResultCells result
    cdef RowCells new
    cpdef object read(self, bytes row)
