# The types of rows.py's state, for its compiled form.
from wrackline.producers.rows.row_events cimport Cells, RowEvents
from wrackline.schemas.events.frame cimport Frame

cdef class ChangeCount:
    cdef public long long done
    cdef public long long skip
    cdef public bytes behind
    cdef public bytes last
    cdef public long long serial
    cdef public long long total
    cdef public Py_ssize_t at
    cdef public Py_ssize_t whole
    cdef public long long size
    cdef long long shown
    cdef long long shown_serial
    cdef bytes shown_last
    cpdef int take(self, bytes key, str op) except -1

cdef class SqlServerRowDecoder(RowEvents):
    cdef long long[::1] done
    cdef long long[::1] scales
    cdef long long[::1] widths
    cdef list makes
    cdef list lengthy
    cdef long long[::1] slots
    cdef int known
    cdef Cells new
    cdef Cells old
    cdef readonly object misfit
    cpdef Py_ssize_t change(self, str op, bytes before, bytes after, bytes mask, Frame frame, long long ordinal, list events) except -1
    cdef bytes _spot(self, bytes key)
    cpdef object read(self, bytes row)
    cdef int _split(self, bytes row, Py_ssize_t at, Py_ssize_t end, Cells cells) except -1
    cdef int _complete(self, Cells old, Cells new, bytes mask) except -1
    cdef Py_ssize_t _settle(self, str op, bytes data, Cells old, Cells new, Frame frame, long long ordinal, list events, object failed) except -1
