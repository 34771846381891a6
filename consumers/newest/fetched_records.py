"""The records of a range in the driver's memory, taken from librdkafka by the thousand.

Compiled if there is a C compiler, plain Python elsewhere: the same file, the same records.  Keys and values
lie one after the other in two buffers, so that a record costs no Python object.

What nobody expects (another topic, another partition, an offset that was seen, an error, a record without a
key) makes the range `odd`: Spark's source then reads it, and says what it is.  Records without a value are
there for compaction, and are left out.  Records of too many bytes make it `full`: it ends before them.
"""

import ctypes
from collections.abc import Mapping
from typing import Any, Protocol

import cython

COMPILED: bool = cython.compiled

_END_OF_PARTITION = cython.declare(cython.int, -191)
_ROWS = cython.declare(cython.Py_ssize_t, 1024)
_BYTES = cython.declare(cython.Py_ssize_t, 65536)


class NativeCalls(Protocol):
    """Functions of librdkafka, with where they are."""

    @property
    def library(self) -> Any:  # noqa: ANN401 - of ctypes
        """The library."""
        ...

    @property
    def destroy_at(self) -> int:
        """`rd_kafka_message_destroy`."""
        ...

    @property
    def moment_at(self) -> int:
        """`rd_kafka_message_timestamp`."""
        ...

    @property
    def topic_name_at(self) -> int:
        """`rd_kafka_topic_name`."""
        ...


class _Message(ctypes.Structure):
    """The same as `Message` of the .pxd, for plain Python."""

    _fields_ = (
        ("error", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("value", ctypes.c_void_p),
        ("value_size", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_size", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("own", ctypes.c_void_p),
    )


@cython.final
@cython.cclass
class FetchedRecords:
    """Records of one topic, from these offsets to these ends."""

    def __init__(
        self, topic: str, at: Mapping[int, int], end: Mapping[int, int], most_bytes: int = 1 << 30
    ) -> None:
        """Begin with no record, and take so many bytes of them at most."""
        self.topic, self.at, self.end, self.most_bytes = topic.encode(), dict(at), end, most_bytes
        self.left = {partition for partition, start in at.items() if start < end[partition]}
        self.count = self.key_size = self.value_size = self.room = 0
        self.odd = self.full = False
        self.partition, self.next, self.stop = -1, 0, 0
        self.keys, self.values = bytearray(_BYTES), bytearray(_BYTES)
        self.key_view, self.value_view = self.keys, self.values
        self.key_ends, self.value_ends = bytearray(), bytearray()
        self.offsets, self.moments = bytearray(), bytearray()
        if not cython.compiled:
            self.key_end_view = self.value_end_view = memoryview(b"").cast("i")
            self.offset_view = self.moment_view = memoryview(b"").cast("q")
        self.grow_rows()

    def __len__(self) -> int:
        return self.count

    @property
    def size(self) -> int:
        """How many bytes keys and values have."""
        return self.key_size + self.value_size

    @property
    def done(self) -> bool:
        """Whether every partition is at its end."""
        return not self.left

    @property
    def reached(self) -> int:
        """A number that grows with every step towards the ends."""
        beside = sum(self.at.values()) - self.at.get(self.partition, 0)
        return int(beside + self.next - len(self.left))

    def reached_offsets(self) -> dict[int, int]:
        """Return by partition up to where the range is read."""
        return {**self.at, **({} if self.partition < 0 else {self.partition: self.next})}

    def offset(self, place: int) -> int:
        """Return the offset of a record."""
        return self.offset_view[place]

    def published_ms(self, place: int) -> int:
        """Return when a record was made."""
        return self.moment_view[place]

    def key(self, place: int) -> bytes:
        """Return the key of a record."""
        first: cython.Py_ssize_t = self.key_end_view[place]
        last: cython.Py_ssize_t = self.key_end_view[place + 1]
        return bytes(self.key_view[first:last])

    def take(self, address: int, count: int, calls: NativeCalls) -> None:
        """Take over messages, whose addresses are there; all of them are given back."""
        if cython.compiled:
            take_messages(self, address, count, calls.destroy_at, calls.moment_at, calls.topic_name_at)  # type: ignore[name-defined]  # noqa: F821 - of the .pxd
            return
        library, given_back = calls.library, 0
        places = (ctypes.c_size_t * count).from_address(address)
        try:
            for place in places:
                self._take_one(place, library)
                library.rd_kafka_message_destroy(place)
                given_back += 1
        finally:  # a client that has not got all of them back does not close
            for place in places[given_back:]:
                library.rd_kafka_message_destroy(place)

    def _take_one(self, place: int, library: Any) -> None:  # noqa: ANN401 - of ctypes
        message = _Message.from_address(place)
        if self.odd or self.full:
            return
        if message.topic and library.rd_kafka_topic_name(message.topic) != self.topic:
            self.odd = True
        elif self.is_wanted(message.error, message.partition, message.offset):
            key = ctypes.string_at(message.key, message.key_size) if message.key else None
            value = ctypes.string_at(message.value, message.value_size) if message.value else None
            moment = library.rd_kafka_message_timestamp(place, ctypes.byref(ctypes.c_int()))
            self.add(key, value, message.offset, moment)

    def add(self, key: bytes | None, value: bytes | None, offset: int, published_ms: int) -> None:
        """Append a record."""
        if value is None:
            return
        if key is None:
            self.odd = True
            return
        if len(key) + len(value) > self.most_bytes - self.size:
            self.end_before(self.partition, offset)
            return
        if self.count == self.room:
            self.grow_rows()
        if self.key_size + len(key) > len(self.keys):
            self.grow_keys(len(key))
        if self.value_size + len(value) > len(self.values):
            self.grow_values(len(value))
        self.keys[self.key_size : self.key_size + len(key)] = key
        self.values[self.value_size : self.value_size + len(value)] = value
        self.key_size += len(key)
        self.value_size += len(value)
        self.offset_view[self.count] = offset
        self.moment_view[self.count] = published_ms
        self.count += 1
        self.key_end_view[self.count] = self.key_size
        self.value_end_view[self.count] = self.value_size

    @cython.cfunc
    def is_wanted(self, error: cython.int, partition: cython.int, offset: cython.longlong) -> cython.bint:
        """Whether a message is a record of the range; a partition's last offsets may be markers."""
        if error != 0 and error != _END_OF_PARTITION:
            self.odd = True
            return False
        if partition != self.partition:
            self.turn_to(partition)
        if self.odd or offset < self.next:
            self.odd = True
            return False
        if self.next >= self.stop:
            return False
        self.next = offset if error != 0 else offset + 1
        if self.next >= self.stop:
            self.left.discard(partition)
        return error == 0 and offset < self.stop

    @cython.cfunc
    def end_before(self, partition: cython.int, offset: cython.longlong) -> None:
        """End the range before a record that it has no room for."""
        self.full = True
        self.next = offset
        self.left.add(partition)

    @cython.cfunc
    def turn_to(self, partition: cython.int) -> None:
        """Remember where one partition is, and go on with another."""
        if self.partition >= 0:
            self.at[self.partition] = self.next
        if partition not in self.at:
            self.odd = True
            return
        self.partition, self.next, self.stop = partition, self.at[partition], self.end[partition]

    @cython.cfunc
    def grow_rows(self) -> None:
        """Make room for twice as many records."""
        self.room = max(_ROWS, 2 * self.room)
        self.key_ends = enlarge(self.key_ends, (self.room + 1) * 4)
        self.value_ends = enlarge(self.value_ends, (self.room + 1) * 4)
        self.offsets = enlarge(self.offsets, self.room * 8)
        self.moments = enlarge(self.moments, self.room * 8)
        if cython.compiled:
            self.key_end_view = cython.cast(cython.p_int, cython.cast(cython.p_uchar, self.key_ends))
            self.value_end_view = cython.cast(cython.p_int, cython.cast(cython.p_uchar, self.value_ends))
            self.offset_view = cython.cast(cython.p_longlong, cython.cast(cython.p_uchar, self.offsets))
            self.moment_view = cython.cast(cython.p_longlong, cython.cast(cython.p_uchar, self.moments))
        else:
            self.key_end_view = memoryview(self.key_ends).cast("i")
            self.value_end_view = memoryview(self.value_ends).cast("i")
            self.offset_view = memoryview(self.offsets).cast("q")
            self.moment_view = memoryview(self.moments).cast("q")

    @cython.cfunc
    def grow_keys(self, size: cython.Py_ssize_t) -> None:
        """Make room for this many bytes of keys more."""
        self.keys = enlarge(self.keys, max(2 * len(self.keys), self.key_size + size))
        self.key_view = self.keys

    @cython.cfunc
    def grow_values(self, size: cython.Py_ssize_t) -> None:
        """Make room for this many bytes of values more."""
        self.values = enlarge(self.values, max(2 * len(self.values), self.value_size + size))
        self.value_view = self.values


def enlarge(buffer: bytearray, size: int) -> bytearray:
    """Return a larger buffer that begins as the old one."""
    return buffer + bytes(size - len(buffer))
