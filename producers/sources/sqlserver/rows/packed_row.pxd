# The types of packed_row.py's state, for its compiled form.
from wrackline.schemas.events.avro_writer cimport AvroWriter

cdef class RowPacker:
    cdef AvroWriter writer
    cdef int[::1] _places
    cdef bytes _row(self, bytearray data, Py_ssize_t at, Py_ssize_t count)
