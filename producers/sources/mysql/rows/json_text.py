"""MySQL's binary JSON as the text that the server prints, also where the log has only a change.

    document   kind | value                       kinds: objects and arrays, small and large; scalars
    object     count | size | where each key is | kind and place of each value | keys | values
    diffs      what to do | path | [document] ...                   replace, insert, remove

In: a cell of the log.  Out: its text.  A scalar becomes text when it is read, so that a document consists of
objects, arrays and texts, and a diff is applied to these: a decimal or a double stays exactly the same.  A
document that claims more than its bytes can hold is refused (`Unfit`), never read beyond its end.
"""

import base64
import json
import re
import struct
from typing import Any, TypeAlias

import cython

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.rows.odd_cells import (
    date_text,
    datetime_text,
    decimal_text,
    float_text,
    time_text,
    units,
)

Node: TypeAlias = "dict[bytes, Node] | list[Node] | bytes"

_LARGE = cython.declare(cython.longlong, 1)  # a bit of the four containers' kinds
_ARRAY = cython.declare(cython.longlong, 2)  # another
_LITERAL = cython.declare(cython.longlong, 4)
_DOUBLE = cython.declare(cython.longlong, 11)
_STRING = cython.declare(cython.longlong, 12)
_OPAQUE = cython.declare(cython.longlong, 15)
_DEEPEST = cython.declare(cython.longlong, 100)  # the servers' own limit

_LITERALS = (b"null", b"true", b"false")
_NUMBER_BYTES = (2, 2, 4, 4, 8, 8)  # of kinds 5 to 10: every second kind is unsigned
_ESCAPED = re.compile(rb'["\\\x00-\x1f]')
_SHORT = {
    b'"': b'\\"',
    b"\\": b"\\\\",
    b"\b": b"\\b",
    b"\f": b"\\f",
    b"\n": b"\\n",
    b"\r": b"\\r",
    b"\t": b"\\t",
}
_LINE = 76  # characters of base64, as the server breaks them
_REPLACE, _INSERT, _REMOVE = range(3)
_LEG = re.compile(r'\.("(?:[^"\\]|\\.)*"|[^.\[]+)|\[(\d+|last(?:-\d+)?)\]', re.DOTALL)


def text_of(cell: bytes) -> bytes:
    """Return the text of a document."""
    return _text(_node(cell))


def apply_diffs(cell: bytes, diffs: bytes) -> bytes:
    """Return the text of a document to which diffs were applied."""
    document = _node(cell)
    at = 0
    while at < len(diffs):
        what, start = diffs[at], at + 1
        path, at = _length_prefixed(diffs, start)
        if what > _REMOVE:
            raise Unfit("its change is written in an unknown form")
        value = None
        if what != _REMOVE:
            raw, at = _length_prefixed(diffs, at)
            value = _node(raw)
        _apply(document, _legs(path), value, insert=what == _INSERT)
    return _text(document)


def _node(cell: bytes) -> Node:
    return _Document(cell).value(cell[0], 1, 0) if cell else b"null"


@cython.final
@cython.cclass
class _Document:
    """One document.  `left` is how many values its bytes can hold, `unread` how many bytes may be read.

    A server writes each value in bytes of its own.  The limits refuse a document that refers repeatedly to
    the same bytes, because its text would be far larger than itself.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.left = self.size
        self.unread = 2 * self.size

    @cython.ccall
    def value(self, kind: cython.int, at: cython.Py_ssize_t, depth: cython.int) -> Node:
        """Read the value of this kind at this place."""
        self.left -= 1
        if self.left < 0 or depth > _DEEPEST:
            raise Unfit("it is not a document")
        if kind < _LITERAL:
            return self._container(kind, at, depth)
        if kind == _STRING:
            size, at = self._length(at)
            return quote(self._bytes(at, size))
        if kind == _LITERAL:
            literal = self._number(at, 1)
            if literal > 2:
                raise Unfit("it is not a document")
            return _LITERALS[literal]
        if kind == _DOUBLE:
            return _double(struct.unpack("<d", self._bytes(at, 8))[0])
        if kind == _OPAQUE:
            size, start = self._length(at + 1)
            return _opaque(self._number(at, 1), self._bytes(start, size))
        if kind > 10:
            raise Unfit("it contains a value of an unknown kind")
        number: bytes = self._bytes(at, _NUMBER_BYTES[kind - 5])
        return b"%d" % int.from_bytes(number, "little", signed=kind % 2 == 1)

    @cython.cfunc
    def _container(self, kind: cython.int, start: cython.Py_ssize_t, depth: cython.int) -> Node:
        width: cython.int = 4 if kind & _LARGE else 2
        count: cython.Py_ssize_t = self._number(start, width)
        at: cython.Py_ssize_t = start + 2 * width
        keys: list[bytes] = []
        values: list[Node] = []
        if count > self.left:
            raise Unfit("it is not a document")
        if kind < _ARRAY:
            for _ in range(count):
                place = start + self._number(at, width)
                keys.append(self._bytes(place, self._number(at + width, 2)))
                at += width + 2
        for _ in range(count):
            told: cython.int = self._number(at, 1)
            if 4 <= told <= (8 if kind & _LARGE else 6):
                values.append(self.value(told, at + 1, depth + 1))
            else:
                values.append(self.value(told, start + self._number(at + 1, width), depth + 1))
            at += 1 + width
        return values if kind >= _ARRAY else dict(zip(keys, values, strict=True))

    @cython.cfunc
    def _bytes(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> bytes:
        if at < 0 or size < 0 or size > self.size - at or size > self.unread:
            raise Unfit("it is not a document")
        self.unread -= size
        return self.data[at : at + size]

    @cython.cfunc
    @cython.exceptval(-1)
    def _number(self, at: cython.Py_ssize_t, size: cython.int) -> cython.Py_ssize_t:
        raw: bytes = self._bytes(at, size)
        return int.from_bytes(raw, "little")

    def _length(self, at: cython.Py_ssize_t) -> tuple[int, int]:
        """Read a length with seven bits in each byte; return it and the place behind it."""
        length = shift = 0
        for place in range(at, at + 5):
            byte = self._number(place, 1)
            length |= (byte & 127) << shift
            if byte < 128:
                return length, place + 1
            shift += 7
        raise Unfit("it is not a document")


def quote(raw: bytes) -> bytes:
    """Write a text with its quotes."""
    if _ESCAPED.search(raw) is None:
        return b'"%b"' % raw
    return b'"%b"' % _ESCAPED.sub(lambda hit: _SHORT.get(hit[0]) or b"\\u%04x" % hit[0][0], raw)


def _double(number: float) -> bytes:
    text = float_text(number)
    return (text if "." in text or "e" in text else f"{text}.0").encode()


def _opaque(kind: int, raw: bytes) -> bytes:
    """Write a value of a type that JSON does not have."""
    if kind == wire.NEWDECIMAL and len(raw) > 2:
        return decimal_text(units(raw[2:], raw[0], raw[1]), raw[1])
    if kind in {wire.DATE, wire.DATETIME, wire.TIMESTAMP, wire.TIME} and len(raw) == 8:
        packed = int.from_bytes(raw, "little", signed=True)
        if kind == wire.DATE:
            return b'"%b"' % date_text(packed)
        if kind == wire.TIME:
            time = abs(packed)
            seconds = (time >> 36) * 3600 + (time >> 30 & 63) * 60 + (time >> 24 & 63)
            micros = seconds * 1_000_000 + (time & 0xFFFFFF)
            return b'"%b"' % time_text(-micros if packed < 0 else micros, 6)
        return b'"%b"' % datetime_text(packed, 6)
    letters = base64.b64encode(raw)
    lines = [letters[at : at + _LINE] for at in range(0, len(letters), _LINE)]
    return b'"base64:type%d:%b"' % (kind, b"\\n".join(lines))


def _text(node: Node) -> bytes:
    if isinstance(node, bytes):
        return node
    if isinstance(node, list):
        return b"[%b]" % b", ".join([_text(one) for one in node])
    return b"{%b}" % b", ".join([b"%b: %b" % (quote(key), _text(one)) for key, one in node.items()])


def _length_prefixed(raw: bytes, at: int) -> tuple[bytes, int]:
    """Return the bytes behind their length, and the place behind them."""
    first = raw[at] if at < len(raw) else 251
    if first in {251, 255}:
        raise Unfit("its change is incomplete")
    width = {252: 2, 253: 3, 254: 8}.get(first, 0)
    size = int.from_bytes(raw[at + 1 : at + 1 + width], "little") if width else first
    start = at + 1 + width
    if size > len(raw) - start:
        raise Unfit("its change is incomplete")
    return raw[start : start + size], start + size


def _legs(path: bytes) -> list[bytes | int]:
    """Split `$.a[0]` into names, and numbers, which count from the end if they are negative."""
    text, at = path.decode(), 1
    legs: list[bytes | int] = []
    while at < len(text):
        leg = _LEG.match(text, at)
        if leg is None:
            raise Unfit("its change has an unknown path")
        name, number = leg.groups()
        if name is not None:
            legs.append((json.loads(name) if name.startswith('"') else name).encode())
        else:
            legs.append(-1 - int(number[5:] or 0) if number.startswith("last") else int(number))
        at = leg.end()
    if not legs:
        raise Unfit("its change has an empty path")
    return legs


def _apply(document: Node, legs: list[bytes | int], value: "Node | None", *, insert: bool) -> None:
    """Replace, insert or, without a value, remove the value at a place."""
    try:
        parent: Any = document
        for leg in legs[: len(legs) - 1]:
            parent = parent[leg]
        last = legs[len(legs) - 1]
        if isinstance(parent, list) and isinstance(last, int):
            _change_array(parent, last, value, insert=insert)
        elif isinstance(parent, dict) and isinstance(last, bytes) and (last in parent) is not insert:
            _change_object(parent, last, value)
        else:
            raise Unfit("its change is at a place that does not exist")
    except (KeyError, IndexError, TypeError):
        raise Unfit("its change is at a place that does not exist") from None


def _change_array(array: list[Node], place: int, value: "Node | None", *, insert: bool) -> None:
    if insert and value is not None:
        array.insert(place if place >= 0 else max(len(array) + 1 + place, 0), value)
    elif value is None:
        del array[place]
    else:
        array[place] = value


def _change_object(members: dict[bytes, Node], name: bytes, value: "Node | None") -> None:
    """Keep the server's order of names: the shorter before the longer, then by their bytes."""
    if value is None:
        del members[name]
        return
    new = name not in members
    members[name] = value
    if new:
        ordered = sorted(members.items(), key=lambda member: (len(member[0]), member[0]))
        members.clear()
        members.update(ordered)
