# The types of slicing.py's state, for its compiled form.
from wrackline.producers.slicing cimport Slices
from wrackline.producers.sources.postgres.copy_text cimport CopyText
from wrackline.producers.sources.postgres.rows cimport RowDecoder

cdef class Slicing(Slices):
    cdef RowDecoder decoder
    cdef CopyText text
    cdef int columns
    cdef list places
