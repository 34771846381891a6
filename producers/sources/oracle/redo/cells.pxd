# The types of cells.py's state, for statement.py.

cdef class RedoCells:
    cdef readonly bytes text
    cdef const unsigned char* data
    cdef Py_ssize_t end
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef object given
    cdef int[::1] cells
    cdef Py_ssize_t start
    cdef Py_ssize_t size
    cdef bint escapes
    cdef void _take(self, bytes text) except *
    cdef object _refuse(self, str reason, Py_ssize_t at)
    cdef void _make_room(self) except *
    cdef Py_ssize_t _word(self, Py_ssize_t at, const unsigned char* word) except -9
    cdef Py_ssize_t _name(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _column(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _value(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _function(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _json(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _temporal(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _date(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _argument(self, Py_ssize_t at, Py_ssize_t place, int kind) except -9
    cdef Py_ssize_t _xml(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _variable(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _string(self, Py_ssize_t at) except -9
    cdef Py_ssize_t _chain(self, Py_ssize_t first, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _number(self, Py_ssize_t at, Py_ssize_t place) except -9
    cdef Py_ssize_t _settle(self, Py_ssize_t at, Py_ssize_t place, int kind, Py_ssize_t start, Py_ssize_t size) noexcept

cdef Py_ssize_t blanks(const unsigned char* data, Py_ssize_t at) noexcept
cdef Py_ssize_t past(const unsigned char* data, Py_ssize_t at, const unsigned char* word) noexcept
