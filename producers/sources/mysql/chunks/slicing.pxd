# The types of slicing.py's state, for its compiled form.
from wrackline.producers.rows.slices cimport Slices

cdef class MySqlSlicing(Slices):
    cdef object read
    cdef object bound_of
    cdef Py_ssize_t most_rows
    cdef readonly list begun
    cdef readonly bytes last
    cdef object _take(self, bytes row)
    cdef bint _one_too_many(self)
    cdef object _go_on(self, bytes packet, Py_ssize_t size)
