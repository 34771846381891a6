"""The page docs/conformance.md, printed from the conformance table.

python -m tests.integration.postgres.conformance_page docs/conformance.md
"""

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from tests.fixtures.every_kind import Value
from tests.integration.postgres.conformance import Case
from tests.integration.postgres.conformance_made import TABLE, UNKNOWN
from wrackline.schemas.tables.types import FORMS

_HEAD = """\
# PostgreSQL, type by type

What was written, and what Avro holds for it. Each line is tested on real servers: every value is inserted,
read from the log and from a chunk, updated and deleted; the bytes of its row are the same each time, and are
what the line says. A null is a null. Other settings of the database (`DateStyle`, `IntervalStyle`,
`TimeZone`, `extra_float_digits`, `bytea_output`, `lc_monetary`, `search_path`, `client_encoding` and more)
make no difference, because our own are set on both connections.

- *key*: the type can be a primary key, and chunks may begin and end at its values.
- *refused*: values that the type's Avro form can't hold. They set the table aside (`pg.value_unfit`), both
  from the log and from a chunk, and the error does not show them. `column.as.text = '<column>'` carries the
  column as the server's own text, in which these values are written as they are here.
- If a cell has only one form of a value, it is the same in both; `inf` and `nan` are Python's spelling.
- The test has more values than fit on this page; `…` replaces the middle of a long one.

Printed from `tests/integration/postgres/conformance.py` and its neighbour by `python -m
tests.integration.postgres.conformance_page docs/conformance.md`.
"""
_TAIL = """\
## What is not carried, or only in part

- A base type that is not in these tables is refused by name (`pg.type_unknown`), from log and chunk; here
  {unknown} are the examples. `column.as.text` carries such a type.
- PostGIS and pgvector are not installed for the tests. Stand-ins replace their types: base types of the same
  names whose text is whatever was written.
- `reg*` values are names, and the name of an object outside `pg_catalog` carries its schema.
- `money` is read with two decimal places. If `lc_monetary` has none or three of them, the database stores
  other numbers than it shows; `wrackline check` says so.
- An infinite `date`, `timestamp` or `timestamptz` has the number or text that `types.md` names.
- An `infinity` of `interval` (PostgreSQL 17) is text like all intervals, but not ISO 8601.
- Arrays have one dimension that begins at 1; others are refused.
"""
_ON_ONE_LINE = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v", "|": "\\|"}


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for title, cases in TABLE.items():
        heads = ("type", "kind", "Avro", "key", "values", "refused", "")
        lines: list[tuple[str, ...]] = [heads, ("---",) * len(heads), *map(_line, cases)]
        rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        parts.append(f"## {title}\n\n{rows}")
    unknown = " and ".join(f"`{name}`" for name in UNKNOWN)
    return "\n".join([*parts, _TAIL.format(unknown=unknown)])


def _line(case: Case) -> tuple[str, ...]:
    form = FORMS[case.kind]
    avro = f"{form.avro}, `{form.logical_type}`" if form.logical_type else form.avro
    note = f"from PostgreSQL {case.since}" if case.since else case.note
    return (
        f"`{case.type}`",
        case.kind.value,
        avro,
        "yes" if case.key else "",
        "<br>".join(_samples(case)),
        ", ".join(_code(text) for text in case.unfit),
        note,
    )


def _samples(case: Case) -> Iterator[str]:
    """Write the first values and the last ones; one that stands as it was written is written once."""
    chosen = case.values if len(case.values) <= 4 else (*case.values[:2], *case.values[-2:])
    for literal, value in chosen:
        if literal in (value, _written(value)):
            yield _code(literal)
        else:
            yield f"{_code(literal)} → {_code(_written(value))}"


def _written(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, Decimal):
        return format(value, "f")
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _code(text: str) -> str:
    """Write a value as code in a table's cell: short, on one line, no bar of its own."""
    if len(text) > 60:
        text = f"{text[:24]}…{text[-12:]}"
    for raw, shown in _ON_ONE_LINE.items():
        text = text.replace(raw, shown)
    if not text.strip():
        return "(blank)" if text else "(empty)"
    return f"`{text}`"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
