# The types of stretch.py's state, for its compiled form.
from wrackline.producers.sources.postgres.rows cimport RowDecoder
from wrackline.schemas.frame cimport Frame

cdef class Stretch:
    cdef readonly list rows
    cdef public long long ordinal
    cdef readonly unsigned int relation
    cdef bint aimed
    cdef RowDecoder decoder
    cdef Frame frame
