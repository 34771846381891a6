"""The newest record of each key, recognised by bytes, and read to Arrow columns: compiled.

In: a range's records.  Out: places among them, as records/replaced_records.py would choose; and what is read
at some places, in the parts of arrow_parts.py.  What a newer record has replaced is never parsed.
"""

import secrets
from array import array
from collections.abc import Sequence

import cython

from wrackline.consumers.newest.arrow_parts import Part, Place
from wrackline.consumers.newest.fetched_records import FetchedRecords

if cython.compiled:
    from cython.cimports.libc.string import memcmp, memcpy
    from cython.cimports.wrackline.consumers.newest.arrow_parts import Part, Place
    from cython.cimports.wrackline.consumers.newest.fetched_records import FetchedRecords

_HEAD = cython.declare(cython.Py_ssize_t, 5)  # a zero byte and the schema's id


@cython.final
@cython.cclass
class KeySlots:
    """A table of keys by their hash: which record of each has been chosen so far.

    A key is compared where it lies, because an object for each would cost more than all the rest.  The hash
    begins with a number that nobody can know, so that nobody can choose keys that all have the same.
    """

    def __init__(self, most: int) -> None:
        """Make room for this many keys."""
        room: cython.Py_ssize_t = 64
        while room < 2 * most:
            room *= 2
        self.mask = room - 1
        self.start = secrets.randbits(63)
        self.place_bytes = bytearray(b"\xff") * (4 * room)
        self.number_bytes = bytearray(4 * room)
        if not cython.compiled:
            self.places = memoryview(self.place_bytes).cast("i")
            self.numbers = memoryview(self.number_bytes).cast("I")
        else:
            self.places = cython.cast(cython.p_int, cython.cast(cython.p_uchar, self.place_bytes))
            self.numbers = cython.cast(cython.p_uint, cython.cast(cython.p_uchar, self.number_bytes))

    def chosen(self, count: int) -> Sequence[int]:
        """Return which of so many records were chosen, in their order."""
        slot: cython.Py_ssize_t
        place: cython.Py_ssize_t
        marks: bytearray = bytearray(count)
        for slot in range(self.mask + 1):
            if self.places[slot] >= 0:
                marks[self.places[slot]] = 1
        found = array("i")
        for place in range(len(marks)):
            if marks[place]:
                found.append(place)
        return found

    @cython.cfunc
    @cython.exceptval(check=False)
    def hash_of(self, records: FetchedRecords, place: cython.Py_ssize_t) -> cython.uint:
        """Return a number of a record's key."""
        at: cython.Py_ssize_t = records.key_end_view[place] + _HEAD
        end: cython.Py_ssize_t = records.key_end_view[place + 1]
        if not cython.compiled:
            return hash((self.start, bytes(records.key_view[at:end]))) & 0xFFFFFFFF
        number: cython.ulonglong = self.start
        word: cython.ulonglong
        while at < end:
            word = 0
            memcpy(cython.address(word), records.key_view + at, min(end - at, 8))
            number = (number ^ word) * cython.cast(cython.ulonglong, 0x9E3779B97F4A7C15)
            number ^= number >> 29
            at += 8
        return cython.cast(cython.uint, number ^ (number >> 32))

    @cython.cfunc
    @cython.exceptval(check=False)
    def find(
        self, records: FetchedRecords, place: cython.Py_ssize_t, number: cython.uint
    ) -> cython.Py_ssize_t:
        """Return the slot of a record's key: a free one where it is new."""
        slot: cython.Py_ssize_t = number & self.mask
        while self.places[slot] >= 0:
            if self.numbers[slot] == number and has_same_key(records, self.places[slot], place):
                return slot
            slot = (slot + 1) & self.mask
        return slot

    @cython.cfunc
    @cython.exceptval(check=False)
    def put(self, slot: cython.Py_ssize_t, place: cython.Py_ssize_t, number: cython.uint) -> cython.void:
        """Choose the first record of a key."""
        self.places[slot] = place
        self.numbers[slot] = number


def newest_places(
    records: FetchedRecords, key_head: bytes, value_head: bytes, width: int
) -> Sequence[int] | None:
    """Return where the newest record of each key is; None: some record is of another form."""
    place: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    number: cython.uint
    seq_width: cython.Py_ssize_t = width
    slots: KeySlots = KeySlots(records.count)
    for place in range(records.count):
        if not is_of_form(records, place, key_head, value_head, seq_width):
            return None
        number = slots.hash_of(records, place)
        slot = slots.find(records, place, number)
        if slots.places[slot] < 0:
            slots.put(slot, place, number)
        elif not is_newer(records, slots.places[slot], place, seq_width):
            slots.places[slot] = place
    return slots.chosen(records.count)


def places_of(records: FetchedRecords, keys: frozenset[bytes]) -> Sequence[int]:
    """Return where all records with one of these keys are."""
    place: cython.Py_ssize_t
    first: cython.Py_ssize_t
    last: cython.Py_ssize_t
    places = array("i")
    for place in range(records.count):
        first = records.key_end_view[place]
        last = records.key_end_view[place + 1]
        if bytes(records.key_view[first:last]) in keys:
            places.append(place)
    return places


def decode_records(records: FetchedRecords, places: Sequence[int], key_part: Part, value_part: Part) -> bool:
    """Read the records at these places; False: one of them is not what its schema says."""
    key: Part = key_part
    value: Part = value_part
    place: Place = Place()
    at: cython.Py_ssize_t
    for number in places:
        at = number
        place.begin(records.key_view, records.key_end_view[at] + _HEAD, records.key_end_view[at + 1])
        key.read(place)
        if place.bad or place.at != place.end:
            return False
        place.begin(records.value_view, records.value_end_view[at] + _HEAD, records.value_end_view[at + 1])
        value.read(place)
        if place.bad or place.at != place.end:
            return False
    return True


@cython.cfunc
@cython.exceptval(check=False)
def has_same_key(records: FetchedRecords, one: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.bint:
    """Whether two records have one key."""
    first: cython.Py_ssize_t = records.key_end_view[one]
    size: cython.Py_ssize_t = records.key_end_view[one + 1] - first
    second: cython.Py_ssize_t = records.key_end_view[other]
    if records.key_end_view[other + 1] - second != size:
        return False
    if cython.compiled:
        return memcmp(records.key_view + first, records.key_view + second, size) == 0
    return records.key_view[first : first + size] == records.key_view[second : second + size]


@cython.cfunc
@cython.exceptval(-1, check=False)
def is_of_form(
    records: FetchedRecords,
    place: cython.Py_ssize_t,
    key_head: bytes,
    value_head: bytes,
    width: cython.Py_ssize_t,
) -> cython.bint:
    """Whether a record begins and ends as those that are known."""
    first: cython.Py_ssize_t = records.key_end_view[place]
    last: cython.Py_ssize_t = records.key_end_view[place + 1]
    begin: cython.Py_ssize_t = records.value_end_view[place]
    end: cython.Py_ssize_t = records.value_end_view[place + 1]
    if last - first < _HEAD or end - begin < _HEAD + 1 + width:
        return False
    if records.value_view[end - width - 1] != 2 * width:
        return False
    if cython.compiled:
        head: cython.p_const_uchar = key_head
        if memcmp(records.key_view + first, head, _HEAD) != 0:
            return False
        head = value_head
        return memcmp(records.value_view + begin, head, _HEAD) == 0
    return (
        records.key_view[first : first + _HEAD] == key_head
        and records.value_view[begin : begin + _HEAD] == value_head
    )


@cython.cfunc
@cython.exceptval(-1, check=False)
def is_newer(
    records: FetchedRecords, one: cython.Py_ssize_t, other: cython.Py_ssize_t, width: cython.Py_ssize_t
) -> cython.bint:
    """Whether the first of two records has the greater seq; of the same event the later record counts."""
    at: cython.Py_ssize_t = records.value_end_view[one + 1] - width
    place: cython.Py_ssize_t = records.value_end_view[other + 1] - width
    if cython.compiled:
        return memcmp(records.value_view + at, records.value_view + place, width) > 0
    return records.value_view[at : at + width] > records.value_view[place : place + width]
