# The types of rows.py's state, for its compiled form.
from wrackline.producers.rows.row_events cimport Cells, RowEvents
from wrackline.producers.sources.oracle.redo.statement cimport RedoStatement
from wrackline.schemas.events.frame cimport Frame

cdef class OracleRowDecoder(RowEvents):
    cdef bytes done
    cdef long long[::1] scales
    cdef bytes read_kinds
    cdef bytes lacks
    cdef bytes never
    cdef list makes
    cdef bytes names
    cdef long long[::1] name_starts
    cdef long long[::1] name_sizes
    cdef long long[::1] slots
    cdef int known
    cdef bytearray seen
    cdef Cells new
    cdef Cells old
    cdef RedoStatement statement
    cdef bint again
    cdef readonly object misfit
    cpdef Py_ssize_t change(self, int operation, bytes redo, Frame frame, long long ordinal, list events) except -1
    cpdef object read(self, object fields)
    cdef bint _take(self, Py_ssize_t first, Py_ssize_t last, Cells cells) except -1
    cdef int _complete(self, Cells cells, bint lenient) except -1
    cdef int _find(self, Py_ssize_t start, Py_ssize_t size, int expected) except -1
    cdef object _copy(self)
    cdef int _refuse_gaps(self, Cells cells) except -1
    cdef bint _lacks(self, Cells cells) noexcept
    cdef object _unsent(self, Cells cells)
    cdef Py_ssize_t _insert(self, bytes data, object unsent, Frame frame, long long ordinal, list events) except -1
    cdef Py_ssize_t _settle(self, str op, bytes data, Cells old, Cells new, object unsent, Frame frame, long long ordinal, list events, object failed) except -1
