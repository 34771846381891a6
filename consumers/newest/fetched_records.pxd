# The C face of fetched_records.py, and what only C can do: walk through librdkafka's messages.

from libc.string cimport memcpy, strcmp

ctypedef struct Message:  # rd_kafka_message_t, as rdkafka.h has it
    int error
    void* topic
    int partition
    void* value
    size_t value_size
    void* key
    size_t key_size
    long long offset
    void* own

ctypedef void (*Destroy)(Message*) noexcept
ctypedef long long (*Moment)(const Message*, int*) noexcept
ctypedef const char* (*TopicName)(const void*) noexcept

cdef class FetchedRecords:
    cdef readonly Py_ssize_t count
    cdef readonly bint odd
    cdef readonly bint full
    cdef bytes topic
    cdef Py_ssize_t most_bytes
    cdef object at
    cdef object end
    cdef set left
    cdef int partition
    cdef long long next
    cdef long long stop
    cdef bytearray keys
    cdef bytearray values
    cdef bytearray key_ends
    cdef bytearray value_ends
    cdef bytearray offsets
    cdef bytearray moments
    cdef Py_ssize_t room
    cdef Py_ssize_t key_size
    cdef Py_ssize_t value_size
    cdef unsigned char* key_view
    cdef unsigned char* value_view
    cdef int* key_end_view
    cdef int* value_end_view
    cdef long long* offset_view
    cdef long long* moment_view
    cdef object turn_to(self, int partition)
    cdef object end_before(self, int partition, long long offset)
    cdef bint is_wanted(self, int error, int partition, long long offset)
    cdef object grow_rows(self)
    cdef object grow_keys(self, Py_ssize_t size)
    cdef object grow_values(self, Py_ssize_t size)

cdef inline object take_messages(
    FetchedRecords self, size_t address, Py_ssize_t count, size_t destroy_at, size_t moment_at, size_t topic_name_at
):
    """Do what `take` does, without a Python object for a message."""
    cdef Message** messages = <Message**>address
    cdef Destroy destroy = <Destroy>destroy_at
    cdef Moment moment = <Moment>moment_at
    cdef TopicName name = <TopicName>topic_name_at
    cdef const char* topic = self.topic
    cdef void* known = NULL
    cdef int kind = 0
    cdef Py_ssize_t place
    cdef Py_ssize_t key_size
    cdef Py_ssize_t value_size
    cdef Message* one
    cdef Py_ssize_t given_back = 0
    try:
        for place in range(count):
            one = messages[place]
            if not self.odd and one.topic != NULL and one.topic != known:
                known = one.topic
                self.odd = strcmp(name(known), topic) != 0
            if not self.odd and not self.full and self.is_wanted(one.error, one.partition, one.offset) and one.value != NULL:
                key_size, value_size = one.key_size, one.value_size
                if one.key == NULL:
                    self.odd = True
                elif key_size + value_size > self.most_bytes - self.key_size - self.value_size:
                    self.end_before(one.partition, one.offset)
                else:
                    if self.count == self.room:
                        self.grow_rows()
                    if self.key_size + key_size > len(self.keys):
                        self.grow_keys(key_size)
                    if self.value_size + value_size > len(self.values):
                        self.grow_values(value_size)
                    memcpy(self.key_view + self.key_size, one.key, key_size)
                    memcpy(self.value_view + self.value_size, one.value, value_size)
                    self.key_size += key_size
                    self.value_size += value_size
                    self.offset_view[self.count] = one.offset
                    self.moment_view[self.count] = moment(one, &kind)
                    self.count += 1
                    self.key_end_view[self.count] = <int>self.key_size
                    self.value_end_view[self.count] = <int>self.value_size
            destroy(one)
            given_back = place + 1
    finally:  # a client that has not got all of them back does not close
        for place in range(given_back, count):
            destroy(messages[place])
    return None
