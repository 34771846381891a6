# The C face of arrow_parts.py, for newest_records.py.

cdef class Place:
    cdef const unsigned char* data
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef bint bad
    cdef object begin(self, const unsigned char* data, Py_ssize_t at, Py_ssize_t end)
    cdef long long take_long(self) noexcept
    cdef Py_ssize_t take_size(self) noexcept

cdef class Part:
    cdef readonly int kind
    cdef readonly int null_at
    cdef readonly bint wanted
    cdef readonly int digits
    cdef object most
    cdef readonly Py_ssize_t width
    cdef readonly object arrow
    cdef readonly list children
    cdef readonly Py_ssize_t rows
    cdef readonly Py_ssize_t nulls
    cdef readonly Py_ssize_t size
    cdef Py_ssize_t row_room
    cdef Py_ssize_t byte_room
    cdef bytearray valid
    cdef bytearray values
    cdef bytearray ends
    cdef unsigned char* valid_raw
    cdef unsigned char* raw
    cdef unsigned char* ends_raw
    cdef object grow_rows(self)
    cdef object grow_bytes(self, Py_ssize_t size)
    cdef object next_row(self, bint valid)
    cdef object add_null(self)
    cdef void put_end(self, long long end) noexcept
    cdef object read(self, Place place)
    cdef object read_record(self, Place place)
    cdef object read_array(self, Place place)
    cdef object read_number(self, Place place)
    cdef object read_boolean(self, Place place)
    cdef object read_fixed(self, Place place)
    cdef object read_bytes(self, Place place)
    cdef object read_decimal(self, Place place)
    cdef bint has_room(self, Place place, Py_ssize_t size) except -1
