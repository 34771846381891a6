# The types of row_run.py's state, for its compiled form.
from wrackline.producers.sources.postgres.rows.rows cimport PgRowDecoder
from wrackline.schemas.events.frame cimport Frame

cpdef long long place_of(bytes message, Py_ssize_t at) noexcept

cdef class PgRowRun:
    cdef readonly list rows
    cdef public long long ordinal
    cdef readonly unsigned int relation
    cdef bint aimed
    cdef readonly Py_ssize_t read
    cdef readonly Py_ssize_t made
    cdef PgRowDecoder decoder
    cdef Frame frame
    cpdef Py_ssize_t take(self, bytes message, Py_ssize_t at) except -1
