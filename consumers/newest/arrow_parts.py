"""Avro bytes to Arrow columns: the compiled reader of the newest records.

Compiled if there is a C compiler, plain Python elsewhere: the same file, the same columns.  A record's schema
is a tree of parts.  Each part reads its value at the place where the bytes are and, if the value is wanted,
appends it to the buffers of an Arrow column; no Python object is made for a column.

It reads strictly.  What is odd in any way (a length beyond the end, a number that is too long, a decimal of
too many digits) sets `bad`, and the caller then looks at the batch with Spark's own reader.
"""

from collections.abc import Sequence

import cython
import pyarrow as pa

from wrackline.consumers.newest.fetched_records import enlarge

if cython.compiled:
    from cython.cimports.libc.string import memcpy

COMPILED: bool = cython.compiled

BOOLEAN = cython.declare(cython.int, 0)
INT = cython.declare(cython.int, 1)
LONG = cython.declare(cython.int, 2)
BYTES = cython.declare(cython.int, 5)
DECIMAL = cython.declare(cython.int, 6)
ARRAY = cython.declare(cython.int, 7)
RECORD = cython.declare(cython.int, 8)

KINDS = {  # float and double are 3 and 4; both are read by `read_fixed`
    "boolean": BOOLEAN,
    "int": INT,
    "long": LONG,
    "float": 3,
    "double": 4,
    "string": BYTES,
    "bytes": BYTES,
    "decimal": DECIMAL,
    "array": ARRAY,
    "record": RECORD,
}
_WIDTHS = (0, 4, 8, 4, 8, 0, 16, 0, 0)  # bytes of a value of each kind, of those that all have the same
_ROWS = cython.declare(cython.Py_ssize_t, 1024)  # a column's first room
_BYTES = cython.declare(cython.Py_ssize_t, 16384)
_MOST_BYTES = cython.declare(
    cython.longlong, (1 << 31) - 1
)  # of a column's texts: Arrow counts them in 31 bits


@cython.final
@cython.cclass
class Place:
    """Where the reader is: the bytes of one record, the next byte, and the end."""

    def __init__(self) -> None:
        self.at = self.end = 0
        self.bad = False

    @cython.cfunc
    def begin(self, data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> None:
        """Read from here on."""
        self.data = data
        self.at = at
        self.end = end
        self.bad = False

    @cython.cfunc
    @cython.exceptval(check=False)
    def take_long(self) -> cython.longlong:
        """Take an Avro int or long: zigzag, seven bits a byte, at most ten bytes, and none too many."""
        found: cython.ulonglong = 0
        shift: cython.int = 0
        byte: cython.ulonglong
        while self.at < self.end and shift < 70:
            byte = self.data[self.at]
            self.at += 1
            if (shift == 63 and byte > 1) or (shift > 0 and byte == 0):
                break
            found |= (byte & 127) << shift
            if byte < 128:
                if cython.compiled:
                    return cython.cast(cython.longlong, found >> 1) ^ -cython.cast(cython.longlong, found & 1)
                return (found >> 1) ^ -(found & 1)
            shift += 7
        self.bad = True
        return 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def take_size(self) -> cython.Py_ssize_t:
        """Take the length of what follows, which is there."""
        size: cython.longlong = self.take_long()
        if size < 0 or size > self.end - self.at:
            self.bad = True
            return 0
        return size


@cython.final
@cython.cclass
class Part:
    """One type of a schema, and the Arrow column of its values, if they are wanted.

    `null_at` is the branch of the union that means null, and -1 where there is no union.
    """

    def __init__(
        self,
        kind: int,
        arrow: pa.DataType,
        children: Sequence["Part"] = (),
        *,
        null_at: int = -1,
        wanted: bool = True,
        digits: int = 0,
    ) -> None:
        self.kind, self.null_at, self.wanted, self.digits = kind, null_at, wanted, digits
        self.arrow, self.children, self.width = arrow, list(children), _WIDTHS[kind]
        self.most = 10**digits
        self.start()

    def start(self) -> None:
        """Begin an empty column."""
        self.rows = self.nulls = self.size = self.row_room = self.byte_room = 0
        self.valid, self.values, self.ends = bytearray(), bytearray(), bytearray()
        self.raw = self.values
        if self.wanted:
            self.grow_rows()

    def finish(self) -> pa.Array:
        """Return the column and begin another."""
        bits = pa.py_buffer(self.valid) if self.nulls else None
        children = [child.finish() for child in self.children if child.wanted]
        if self.kind == RECORD:
            array = pa.StructArray.from_buffers(self.arrow, self.rows, [bits], self.nulls, 0, children)
        elif self.kind == ARRAY:
            parts = [bits, pa.py_buffer(self.ends)]
            array = pa.ListArray.from_buffers(self.arrow, self.rows, parts, self.nulls, 0, children)
        elif self.kind == BYTES:
            parts = [bits, pa.py_buffer(self.ends), pa.py_buffer(self.values)]
            array = pa.Array.from_buffers(self.arrow, self.rows, parts, self.nulls)
        else:
            array = pa.Array.from_buffers(
                self.arrow, self.rows, [bits, pa.py_buffer(self.values)], self.nulls
            )
        self.start()
        return array

    @cython.cfunc
    def grow_rows(self) -> None:
        """Make room for twice as many rows."""
        self.row_room = max(_ROWS, 2 * self.row_room)
        self.valid = enlarge(self.valid, self.row_room // 8)
        self.valid_raw = self.valid
        if self.kind == BOOLEAN:
            self.values = enlarge(self.values, self.row_room // 8)
            self.raw = self.values
        elif self.width:
            self.values = enlarge(self.values, self.row_room * self.width)
            self.raw = self.values
        elif self.kind == BYTES or self.kind == ARRAY:
            self.ends = enlarge(self.ends, (self.row_room + 1) * 4)
            self.ends_raw = self.ends

    @cython.cfunc
    def grow_bytes(self, size: cython.Py_ssize_t) -> None:
        """Make room for this many bytes of texts."""
        self.byte_room = max(_BYTES, 2 * self.byte_room, self.size + size)
        self.values = enlarge(self.values, self.byte_room)
        self.raw = self.values

    @cython.cfunc
    def next_row(self, valid: cython.bint) -> None:
        """Count one more row; its value is written already, or will be at `rows - 1`."""
        if self.rows == self.row_room:
            self.grow_rows()
        if valid:
            self.valid_raw[self.rows >> 3] |= 1 << (self.rows & 7)
        else:
            self.nulls += 1
        self.rows += 1

    @cython.cfunc
    def add_null(self) -> None:
        """Append a null, and one to each column of a record."""
        i: cython.Py_ssize_t
        child: Part
        self.next_row(False)
        if self.kind == RECORD:
            for i in range(len(self.children)):
                child = self.children[i]
                if child.wanted:
                    child.add_null()
        elif self.kind == BYTES:
            self.put_end(self.size)
        elif self.kind == ARRAY:
            child = self.children[0]
            self.put_end(child.rows)

    @cython.cfunc
    @cython.exceptval(check=False)
    def put_end(self, end: cython.longlong) -> cython.void:
        """Write where the last row's value ends."""
        place: cython.Py_ssize_t = self.rows * 4
        number: cython.int = end
        if cython.compiled:
            memcpy(cython.address(self.ends_raw[place]), cython.address(number), 4)
        else:
            self.ends_raw[place : place + 4] = number.to_bytes(4, "little")

    @cython.cfunc
    def read(self, place: Place) -> None:
        """Read a value, and append it if it is wanted."""
        branch: cython.longlong
        if self.null_at >= 0:
            branch = place.take_long()
            if branch == self.null_at:
                if self.wanted:
                    self.add_null()
                return
            if branch != 1 - self.null_at:
                place.bad = True
                return
        if self.kind == BYTES:
            self.read_bytes(place)
        elif self.kind == INT or self.kind == LONG:
            self.read_number(place)
        elif self.kind == DECIMAL:
            self.read_decimal(place)
        elif self.kind == RECORD:
            self.read_record(place)
        elif self.kind == ARRAY:
            self.read_array(place)
        elif self.kind == BOOLEAN:
            self.read_boolean(place)
        else:
            self.read_fixed(place)

    @cython.cfunc
    def read_record(self, place: Place) -> None:
        """Read the fields in their order."""
        i: cython.Py_ssize_t
        child: Part
        if self.wanted:
            self.next_row(True)
        for i in range(len(self.children)):
            if place.bad:
                return
            child = self.children[i]
            child.read(place)

    @cython.cfunc
    def read_array(self, place: Place) -> None:
        """Read blocks of elements; a negative count comes with the block's size in bytes."""
        count: cython.longlong
        end: cython.Py_ssize_t
        child: Part = self.children[0]
        while not place.bad:
            count = place.take_long()
            end = -1
            if count == 0:
                break
            if not place.at - place.end <= count <= place.end - place.at:  # each has a byte at least
                place.bad = True
                break
            if count < 0:
                count = -count
                end = place.take_size()
                end += place.at
            while count > 0 and not place.bad:
                child.read(place)
                count -= 1
            if end >= 0 and place.at != end:
                place.bad = True
        if self.wanted and not place.bad:
            self.next_row(True)
            self.put_end(child.rows)

    @cython.cfunc
    def read_number(self, place: Place) -> None:
        """Read an int or a long."""
        value: cython.longlong = place.take_long()
        small: cython.int
        at: cython.Py_ssize_t
        if self.kind == INT and (value > 2147483647 or value < -2147483648):
            place.bad = True
            return
        if not self.wanted:
            return
        self.next_row(True)
        at = (self.rows - 1) * self.width
        if not cython.compiled:
            self.raw[at : at + self.width] = value.to_bytes(self.width, "little", signed=True)
        elif self.kind == INT:
            small = value
            memcpy(cython.address(self.raw[at]), cython.address(small), 4)
        else:
            memcpy(cython.address(self.raw[at]), cython.address(value), 8)

    @cython.cfunc
    def read_boolean(self, place: Place) -> None:
        """Read a byte that is 0 or 1."""
        if place.at >= place.end or place.data[place.at] > 1:
            place.bad = True
            return
        if self.wanted:
            self.next_row(True)
            self.raw[(self.rows - 1) >> 3] |= place.data[place.at] << ((self.rows - 1) & 7)
        place.at += 1

    @cython.cfunc
    def read_fixed(self, place: Place) -> None:
        """Read a float or a double, whose bytes are Arrow's."""
        at: cython.Py_ssize_t
        if place.end - place.at < self.width:
            place.bad = True
            return
        if self.wanted:
            self.next_row(True)
            at = (self.rows - 1) * self.width
            if cython.compiled:
                memcpy(cython.address(self.raw[at]), cython.address(place.data[place.at]), self.width)
            else:
                self.raw[at : at + self.width] = place.data[place.at : place.at + self.width]
        place.at += self.width

    @cython.cfunc
    def read_bytes(self, place: Place) -> None:
        """Read a text or bytes."""
        size: cython.Py_ssize_t = place.take_size()
        if self.wanted and not place.bad:
            if self.size + size > _MOST_BYTES:
                place.bad = True
                return
            if self.size + size > self.byte_room:
                self.grow_bytes(size)
            if not cython.compiled:
                self.raw[self.size : self.size + size] = place.data[place.at : place.at + size]
            elif size:
                memcpy(cython.address(self.raw[self.size]), cython.address(place.data[place.at]), size)
            self.size += size
            self.next_row(True)
            self.put_end(self.size)
        place.at += size

    @cython.cfunc
    def read_decimal(self, place: Place) -> None:
        """Read a big-endian number of as many digits as the type has; Arrow's is little-endian."""
        size: cython.Py_ssize_t = place.take_size()
        at: cython.Py_ssize_t
        i: cython.Py_ssize_t
        sign: cython.int
        if place.bad or size == 0 or size > 16:
            place.bad = True
            return
        if self.wanted:
            if size * 100 > self.digits * 41 and not self.has_room(place, size):
                place.bad = True
                return
            self.next_row(True)
            at = (self.rows - 1) * 16
            sign = 255 if place.data[place.at] > 127 else 0
            for i in range(16):
                self.raw[at + i] = place.data[place.at + size - 1 - i] if i < size else sign
        place.at += size

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def has_room(self, place: Place, size: cython.Py_ssize_t) -> cython.bint:
        """Whether a number has no more digits than its type; asked where its bytes may hold more."""
        number = int.from_bytes(place.data[place.at : place.at + size], "big", signed=True)
        return bool(-self.most < number < self.most)
