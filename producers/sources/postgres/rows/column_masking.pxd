# The types of column_masking.py's state, for its compiled form.
from wrackline.schemas.events.avro_writer cimport AvroWriter

cdef class ColumnMasking:
    cdef int count
    cdef int column_count
    cdef dict masks
    cdef bytes actions
    cdef Py_ssize_t growth
    cdef Py_ssize_t at
    cdef AvroWriter writer
    cdef Py_ssize_t _tuple(self, bytes message, Py_ssize_t at, Py_ssize_t end) except -1
    cdef int _mask(self, int column, bytes message, Py_ssize_t cell, Py_ssize_t end) except -1
