"""What CAST and CONVERT do, what COLLATE changes, and REPLACE, which looks by a collation."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from wrackline.control.local.sqlserver_standin.model.tables import Cells
from wrackline.control.local.sqlserver_standin.tsql.scope import Compiled
from wrackline.control.local.sqlserver_standin.wire.collations import COLLATIONS, DEFAULT, Collation
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted, shown
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import MAX, SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell, Variant, codec_of

COLLATED = frozenset({"char", "varchar", "nchar", "nvarchar", "text", "ntext"})
_WHOLE = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8}
_WIDE = "utf-16-le"


def conversion(inner: Compiled, of: SqlType) -> Compiled:
    """Convert an expression; a text that was a text before keeps its collation."""
    keeps = inner.of.name in COLLATED and of.name in COLLATED
    made = replace(of, collation=inner.of.collation) if keeps else of

    def value(row: Cells) -> Cell:
        return converted(made, inner.of, inner.value(row))

    explicit = keeps and inner.explicit
    return Compiled(made, value, inner.nullable, constant=inner.constant, explicit=explicit)


def converted(of: SqlType, source: SqlType, cell: Cell) -> Cell:
    """Convert a value; what is too long for a text or for bytes is cut."""
    if isinstance(cell, Variant) and of.name != "sql_variant":
        source, cell = cell
    if isinstance(cell, bytes) and of.name in _WHOLE:
        width = _WHOLE[of.name]
        cell = int.from_bytes(cell[-width:].rjust(width, b"\x00"), "big", signed=of.name != "tinyint")
    elif cell is not None and of.name in COLLATED:
        cell = _text(of, cell)
    elif isinstance(cell, str) and of.name in {"binary", "varbinary"}:
        cell = _encoded(source, cell)
    if isinstance(cell, bytes) and of.name in {"binary", "varbinary"} and of.size > 0:
        cell = cell[: of.size]
    return fitted(of, cell)


def _text(of: SqlType, cell: Cell) -> str:
    """Make a text: bytes are its code units, and an odd byte at the end of wide ones gets a zero."""
    codec = codec_of(of)
    if isinstance(cell, bytes):
        units = cell + b"\x00" * (len(cell) % 2 if codec == _WIDE else 0)
    else:
        units = _encoded(of, shown(cell))
    if of.size > 0:
        units = units[: of.size * (2 if codec == _WIDE else 1)]
    return units.decode(codec, "surrogatepass" if codec == _WIDE else "replace")


def _encoded(of: SqlType, text: str) -> bytes:
    codec = codec_of(of)
    return text.encode(codec, "surrogatepass" if codec == _WIDE else "replace")


def collated(inner: Compiled, name: str) -> Compiled:
    """Give an expression a collation; a `varchar` is read again by the code page of that collation."""
    found = next((one for one in COLLATIONS.values() if one.name.lower() == name.lower()), None)
    if found is None:
        raise ServerError(448, f"Invalid collation '{name}'.")
    if inner.of.name not in COLLATED:
        raise ServerError(447, f"Expression type {inner.of} is invalid for COLLATE clause.")
    of = replace(inner.of, collation=found)
    return Compiled(
        of,
        lambda row: fitted(of, inner.value(row)),
        inner.nullable,
        constant=inner.constant,
        explicit=True,
    )


def ruling(sides: Sequence[Compiled], operation: str) -> Collation | None:
    """Return the collation in which texts are compared: an explicit one, a column's, or that of neither.

    None is a comparison without a text.
    """
    texts = [side for side in sides if side.of.name in COLLATED]
    is_ruling: Callable[[Compiled], bool]
    for is_ruling in (lambda side: side.explicit, lambda side: side.place is not None):
        found = {side.of.collation for side in texts if is_ruling(side)}
        if len(found) > 1:
            names = "' and '".join(sorted(one.name for one in found))
            text = f"Cannot resolve the collation conflict between '{names}' in the {operation} operation."
            raise ServerError(468, text)
        if found:
            return found.pop()
    return texts[0].of.collation if texts else None


def replaced(arguments: Sequence[Compiled]) -> Compiled:
    """Put a text in the place of each other one, as the collation finds it."""
    if len(arguments) != 3:
        raise ServerError(174, "The replace function requires 3 argument(s).")
    collation = ruling(arguments, "replace")
    wide = any(one.of.name.startswith("n") and one.of.name != "null" for one in arguments)
    size = MAX if arguments[0].of.size == MAX else 4000 if wide else 8000
    of = SqlType("nvarchar" if wide else "varchar", size, collation=collation or DEFAULT)
    flags = re.IGNORECASE if of.collation.ignores_case else 0

    def value(row: Cells) -> Cell:
        cells = [one.value(row) for one in arguments]
        if None in cells:
            return None
        text, pattern, new = map(shown, cells)
        return converted(
            of, of, re.sub(re.escape(pattern), lambda _: new, text, flags=flags) if pattern else text
        )

    explicit = any(one.explicit for one in arguments)
    return Compiled(of, value, constant=all(one.constant for one in arguments), explicit=explicit)
