# The types of statement.py's state, for its compiled form and for decoders of rows.
from wrackline.producers.sources.oracle.redo.cells cimport RedoCells

cdef class RedoStatement(RedoCells):
    cdef readonly int operation
    cdef readonly Py_ssize_t owner_start
    cdef readonly Py_ssize_t owner_size
    cdef readonly Py_ssize_t table_start
    cdef readonly Py_ssize_t table_size
    cdef readonly Py_ssize_t row_id_start
    cdef readonly Py_ssize_t row_id_size
    cdef readonly Py_ssize_t changed
    cdef unsigned char alias
    cdef Py_ssize_t _insert(self) except -9
    cdef Py_ssize_t _update(self) except -9
    cdef Py_ssize_t _delete(self) except -9
    cdef Py_ssize_t _block(self, bytes text) except -9
    cdef Py_ssize_t _select(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _where(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _apart(self, Py_ssize_t at) noexcept
    cdef Py_ssize_t _condition(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _row_id(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _ended(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _table(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _alias(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _prefix(self, Py_ssize_t at) except -9
    cdef list _listed(self, Py_ssize_t first, Py_ssize_t last)
