# The C face of newest_records.py.

from wrackline.consumers.newest.fetched_records cimport FetchedRecords

cdef class KeySlots:
    cdef Py_ssize_t mask
    cdef unsigned long long start
    cdef bytearray place_bytes
    cdef bytearray number_bytes
    cdef int* places
    cdef unsigned int* numbers
    cdef unsigned int hash_of(self, FetchedRecords records, Py_ssize_t place) noexcept
    cdef Py_ssize_t find(self, FetchedRecords records, Py_ssize_t place, unsigned int number) noexcept
    cdef void put(self, Py_ssize_t slot, Py_ssize_t place, unsigned int number) noexcept

cdef bint has_same_key(FetchedRecords records, Py_ssize_t one, Py_ssize_t other) noexcept
cdef bint is_of_form(FetchedRecords records, Py_ssize_t place, bytes key_head, bytes value_head, Py_ssize_t width) except -1
cdef bint is_newer(FetchedRecords records, Py_ssize_t one, Py_ssize_t other, Py_ssize_t width) except -1
