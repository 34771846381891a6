# The C face of frame.py, for the compiled decoders.
cdef class Frame:
    cdef bytes source
    cdef bytes chunk
    cdef bytes moment
    cdef bytes transaction
    cdef bytes seq
    cdef bint counted
    cdef readonly Py_ssize_t bound
    cdef Py_ssize_t put(self, unsigned char* out, Py_ssize_t at, Py_ssize_t limit, unsigned char op, bytes unchanged, long long ordinal, long long of_table) except -1
