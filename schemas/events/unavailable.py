"""What a column holds in an event whose log did not send the column's value (unchanged TOAST).

In: a column's type and the text of `unavailable.value.placeholder`.  Out: the column's Avro bytes.  The
forms are Debezium's: a text is the placeholder itself, bytes are its UTF-8, an array of texts or bytes has it
as its only element, an array of integers has its bytes as elements, an array of UUIDs has a UUID that is made
from it.  A type that can hold none of these is null.

No reader of ours looks at the placeholder: `source.unchanged` names the columns, whatever they hold.
"""

import hashlib
import uuid

from wrackline.schemas.events.frame import avro_long, avro_text
from wrackline.schemas.tables.types import ColumnType, Kind

_NULL = b"\x00"
_THERE = b"\x02"
_HEX = "hex:"
_TEXTS = frozenset({Kind.STRING, Kind.JSON, Kind.XML, Kind.TEXT_OF})
_COUNTED = frozenset({Kind.INT16, Kind.INT32, Kind.INT64, Kind.DATE})


def bytes_of(setting: str) -> bytes:
    """Return the placeholder's bytes: as Debezium, `hex:` is followed by their hexadecimal form."""
    return bytes.fromhex(setting[len(_HEX) :]) if setting.startswith(_HEX) else setting.encode()


def placeholder_fault(setting: object) -> str | None:
    """Return why a setting is not a placeholder."""
    try:
        bytes_of(str(setting)).decode()
    except ValueError:
        return "expected a text, or hex: and the UTF-8 bytes of a text in hexadecimal form"
    return None


def can_hold(column: ColumnType) -> bool:
    """Whether a column of this type can hold a placeholder."""
    kind = column.kind if column.element is None else column.element.kind
    arrays = column.element is not None and (kind in _COUNTED or kind is Kind.UUID)
    return kind in _TEXTS or kind is Kind.BYTES or arrays


def placeholder_bytes(column: ColumnType, placeholder: bytes) -> bytes:
    """Return the Avro bytes of a nullable column whose value was not sent; no placeholder: null."""
    if not placeholder or not can_hold(column):
        return _NULL
    if column.element is None:
        return _THERE + _plain(placeholder)
    elements = [_THERE + one for one in _elements(column.element.kind, placeholder)]
    return _THERE + avro_long(len(elements)) + b"".join(elements) + b"\x00"


def _elements(kind: Kind, placeholder: bytes) -> list[bytes]:
    if kind in _COUNTED:
        return [avro_long(byte - 256 if byte > 127 else byte) for byte in placeholder]
    if kind is Kind.UUID:
        digest = hashlib.md5(placeholder, usedforsecurity=False).digest()
        return [avro_text(str(uuid.UUID(bytes=digest, version=3)))]
    return [_plain(placeholder)]


def _plain(placeholder: bytes) -> bytes:
    return avro_long(len(placeholder)) + placeholder
