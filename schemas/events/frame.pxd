# The C face of frame.py, for the compiled decoders.
cdef class Frame:
    cdef bytes source
    cdef bytes between
    cdef bytes behind
    cdef bytes opening
    cdef bint placed
    cdef public long long place
    cdef public long long row
    cdef public bytes spot
    cdef public long long total
    cdef public long long of_table
    cdef bytes skipped
    cdef bytes chunk
    cdef bytes transaction
    cdef bytes whole
    cdef bytes ending
    cdef bytes opened
    cdef long long high
    cdef str prefix
    cdef bint counted
    cdef readonly Py_ssize_t bound
    cdef Py_ssize_t put(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit, unsigned char op, bytes unchanged, long long ordinal) except -1
    cdef Py_ssize_t _put_orders(self, unsigned char* out, Py_ssize_t at, unsigned char op) except -1
    cdef Py_ssize_t _put_place(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit) except -1
