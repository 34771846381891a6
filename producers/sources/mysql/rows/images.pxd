# The types of images.py's state, for its compiled form.
from wrackline.producers.rows.row_events cimport Cells

cdef long long DIFF
cdef long long MADE

cpdef int operation(int kind)

cdef class RowCells(Cells):
    cdef list made

cdef class Images:
    cdef int count
    cdef long long[::1] fixed
    cdef bytes lengths
    cdef long long[::1] slots
    cdef bytes json
    cdef int documents
    cdef Py_ssize_t begin(self, const unsigned char* data, Py_ssize_t at, Py_ssize_t end, int kind) except -3
    cdef Py_ssize_t image(self, const unsigned char* data, Py_ssize_t at, Py_ssize_t end, RowCells cells, bint partial) except -3
