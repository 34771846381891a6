# The types of slicing.py's state, for its compiled form.
from wrackline.producers.rows.slices cimport Slices

cdef class OracleSlicing(Slices):
    cdef object reads
    cdef object bound_of
    cdef tuple last
