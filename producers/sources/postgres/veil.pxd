# The types of veil.py's state, for its compiled form.
from wrackline.schemas.writer cimport Writer

cdef class Veil:
    cdef int count
    cdef int kept
    cdef dict masks
    cdef bytes actions
    cdef Py_ssize_t growth
    cdef Py_ssize_t at
    cdef Writer writer
    cdef Py_ssize_t _tuple(self, bytes message, Py_ssize_t at, Py_ssize_t end) except -1
    cdef int _mask(self, int column, bytes message, Py_ssize_t cell, Py_ssize_t end) except -1
