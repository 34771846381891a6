# The types of packed_row.py's state, for its compiled form.
from wrackline.schemas.events.avro_writer cimport AvroWriter

cdef class RowPacker:
    cdef AvroWriter writer
    cdef bytes _row(self, bytearray data, int[::1] places, Py_ssize_t at, Py_ssize_t count)
