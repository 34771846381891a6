# The types of rows.py's state, for its compiled form.
from wrackline.producers.rows.row_events cimport Cells, RowEvents
from wrackline.producers.sources.mysql.rows.images cimport Images, RowCells
from wrackline.producers.sources.mysql.rows.result_cells cimport ResultCells
from wrackline.schemas.events.frame cimport Frame

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
    cdef int _make_one(self, bytes event, RowCells cells, RowCells before, int column) except -1
    cdef object unmade(self, bytes event, RowCells cells, RowCells before)

cdef class MySqlRowDecoder(MySqlRows):
    cdef Images images
    cdef RowCells new
    cdef RowCells old
    cdef readonly Py_ssize_t rows
    cdef readonly list misfits
    cdef Py_ssize_t _settle(self, bytes event, int what, Frame frame, long long ordinal, Py_ssize_t row, bint out, list events, object failed) except -1
    cdef Py_ssize_t _decode(self, bytes event, Py_ssize_t at, Py_ssize_t end, int kind, Frame frame, long long ordinal, Py_ssize_t skip, list events) except -1
    cdef Py_ssize_t _row_events(self, bytes event, int what, Frame frame, long long ordinal, list events) except -1

cdef class ResultDecoder(MySqlRows):
    cdef ResultCells result
    cdef RowCells new
    cpdef object read(self, bytes row)
