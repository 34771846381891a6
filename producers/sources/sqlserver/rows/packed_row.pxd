# The types of packed_row.py's state, for its compiled form.
from wrackline.schemas.events.avro_writer cimport AvroWriter

cdef class RowPacker:
    cdef AvroWriter writer
    cdef int[::1] _places
    cdef Py_ssize_t _size(self, bytearray data, Py_ssize_t cell) except -2
    cdef bytes _bytes(self, bytearray data, Py_ssize_t cell)
    cdef long long _number(self, bytearray data, Py_ssize_t cell) except? -1
    cdef bytes _key(self, bytearray data, Py_ssize_t at, long long table)
    cdef bytes _row(self, bytearray data, Py_ssize_t at, Py_ssize_t count)
