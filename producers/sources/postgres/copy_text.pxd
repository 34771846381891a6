# The types of copy_text.py's state, for its compiled form.
from wrackline.schemas.writer cimport Writer

cdef class CopyText:
    cdef int columns
    cdef Writer writer
