# The types of slicing.py's state, for its compiled form.
from wrackline.producers.sources.postgres.copy_text cimport CopyText
from wrackline.producers.sources.postgres.rows cimport RowDecoder

cdef class Slicing:
    cdef RowDecoder decoder
    cdef CopyText text
    cdef int columns
    cdef list places
    cdef Py_ssize_t slice_rows
    cdef Py_ssize_t slice_bytes
    cdef Py_ssize_t most_bytes
    cdef list slices
    cdef list rows
    cdef bytes line
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t size
    cdef Py_ssize_t total
    cdef readonly bint full
    cdef object _take(self, bytes line)
