# The types of slicing.py's state, for its compiled form.
from wrackline.producers.rows.slices cimport Slices
from wrackline.producers.sources.postgres.rows.copy_text cimport CopyText
from wrackline.producers.sources.postgres.rows.rows cimport PgRowDecoder

cdef class PgSlicing(Slices):
    cdef PgRowDecoder decoder
    cdef CopyText text
    cdef int columns
    cdef list places
