# The types of result_cells.py's state, for its compiled form.
from wrackline.producers.sources.mysql.rows.images cimport RowCells

cdef class ResultCells:
    cdef int count
    cdef long long[::1] sizes
    cdef long long[::1] slots
    cdef bint split(self, const unsigned char* data, Py_ssize_t end, RowCells cells) noexcept
