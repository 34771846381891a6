# The types of slicing.py's state, and what a source's own slicing calls, for the compiled forms.

cdef class Slices:
    cdef Py_ssize_t slice_rows
    cdef Py_ssize_t slice_bytes
    cdef Py_ssize_t most_bytes
    cdef list slices
    cdef list rows
    cdef bytes raw
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t size
    cdef Py_ssize_t total
    cdef readonly bint full
    cdef list misfits
    cdef object add(self, bytes raw, object row)
