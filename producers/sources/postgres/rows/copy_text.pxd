# The types of copy_text.py's state, for its compiled form.
from wrackline.schemas.events.avro_writer cimport AvroWriter

cdef class CopyText:
    cdef int columns
    cdef AvroWriter writer
