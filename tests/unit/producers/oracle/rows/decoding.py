"""Tables with a key and a few columns, and what the decoder makes of their rows, as plain values."""

from collections.abc import Mapping, Sequence
from typing import Any

from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import column_type
from wrackline.producers.sources.oracle.rows.rows import OracleRowDecoder
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import Projection, project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

ID = OracleType("NUMBER", precision=9, scale=0)
TEXT = OracleType("VARCHAR2", length=40)
CLOB = OracleType("CLOB")
NUMBER = OracleType("NUMBER")
DOUBLE = OracleType("BINARY_DOUBLE")


def table_of(
    columns: Mapping[str, OracleType],
    key: Sequence[str] = ("ID",),
    *,
    instants: Kind = Kind.ZONED_TIMESTAMP,
    as_text: Sequence[str] = (),
) -> TableSchema:
    made = tuple(
        Column(
            name,
            number,
            column_type(sql_type, column=f"S.T.{name}", as_text=name in as_text, instants=instants),
            name not in key,
        )
        for number, (name, sql_type) in enumerate(columns.items(), 1)
    )
    return TableSchema(TableId("DB", "S", "T"), made, tuple(key), KeyKind.PRIMARY if key else KeyKind.NONE)


def decoder_of(
    columns: Mapping[str, OracleType],
    key: Sequence[str] = ("ID",),
    shape: Projection | None = None,
    **options: Any,
) -> OracleRowDecoder:
    chosen = shape or project_all(table_of(columns, key))
    return OracleRowDecoder(1, chosen, list(columns.values()), 7, 8, **options)


def changes(decoder: OracleRowDecoder, *statements: tuple[int, str]) -> list[RowChange]:
    events: list[RowChange] = []
    frame = Frame(b"<source>", b"<seq>")
    for ordinal, (operation, redo) in enumerate(statements):
        decoder.change(operation, redo.encode(), frame, ordinal, events)
    return events


def inserted(cell: str) -> tuple[int, str]:
    return 1, f"""insert into "S"."T"("ID","V") values ('7',{cell});"""


def of_one_cell(
    sql_type: OracleType, cell: str, field: object, instants: Kind, *, as_text: bool
) -> tuple[bytes | None, bytes, bytes | None, bytes]:
    """Return key and event of an insert, and key and head of the same row of a chunk."""
    columns = {"ID": ID, "V": sql_type}
    table = table_of(columns, instants=instants, as_text=("V",) if as_text else ())
    decoder = decoder_of(columns, shape=project_all(table))
    ((_, _, key, event, _),) = changes(decoder, inserted(cell))
    read_key, head = decoder.read(("7", field))
    return key, event, read_key, head
