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
from wrackline.schemas.types import FORMS

_HEAD = """\
# PostgreSQL, type by type

What was written, and what stands in Avro for it. Each line is tested on real servers: every value is
inserted, read from the log and from a chunk, updated and deleted; the bytes of its row are the same in all of
these, and are what the line says. A null is a null. The same holds where the database's own settings are
others (`DateStyle`, `IntervalStyle`, `TimeZone`, `extra_float_digits`, `bytea_output`, `lc_monetary`,
`search_path`, `client_encoding` and more), for ours are set on both connections.

- *key*: the type can be a primary key, and chunks may begin and end at its values.
- *refused*: values that the type's Avro form can't hold. They pause the table (`pg.value_unfit`), by log and
  by chunk alike, and the error does not show them. `column.as.text=<column>` carries the column as the
  server's own text, in which these stand as they are here.
- A value that stands alone is the same in both; `inf` and `nan` are how Python writes those.
- The test's table has more values than fit on this page; `…` stands for the middle of a long one.

Printed from `tests/integration/postgres/conformance.py` and its neighbour by `python -m
tests.integration.postgres.conformance_page docs/conformance.md`.
"""
_TAIL = """\
## What is not carried, or not whole

- A base type that is not in these tables is refused by name (`pg.type_unknown`), by log and by chunk; here
  {unknown} stand for all such. `column.as.text` carries it.
- PostGIS and pgvector need builds of their own. Their types are tested by stand-ins: base types of the same
  names whose text is whatever was written.
- `reg*` values are names, and the name of an object outside `pg_catalog` carries its schema.
- `money` is read with two decimal places. A database whose `lc_monetary` has none or three of them keeps
  other numbers than it shows; `wrackline check` says so.
- An infinite `date`, `timestamp` or `timestamptz` has the number or text that `types.md` names.
- An `infinity` of `interval` (PostgreSQL 17) is text as all intervals are, and no ISO 8601.
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
