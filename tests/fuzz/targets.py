"""What is fuzzed of a database's log and of what people write; only an error with a code may come out."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from tests.fixtures.pgoutput import insert
from tests.fixtures.rows_events import PARTIAL_UPDATE, WRITE, image, rows_event, sized
from tests.fuzz import stored
from tests.fuzz.oracle_redo import oracle_redo
from tests.fuzz.sqlserver_rows import WIRE_TOKENS, sqlserver_rows
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.rows.python_rows import form_of
from wrackline.producers.rows.row_events import BROKEN
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.events import table_map
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.charsets import charset_of
from wrackline.producers.sources.mysql.events.events import HEADER, small_event
from wrackline.producers.sources.mysql.events.packed_events import plain_events
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.follow.table_map_cache import name_of
from wrackline.producers.sources.mysql.rows.images import Images
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder as MySqlRows
from wrackline.producers.sources.postgres.rows import messages
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder as PostgresRows
from wrackline.producers.sources.sqlserver.discover.types import WireType, column_type, of_wire
from wrackline.producers.sources.sqlserver.rows.cell_values import reader_of
from wrackline.producers.sources.sqlserver.rows.packed_row import RowPacker, unpack_row
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch, TdsReader
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.kafka import signals
from wrackline.schemas.language import conditions
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

CORPUS = Path(__file__).parent / "corpus"
_FRAME = Frame(b"\0" * 9, b"00" * 11, ts_ms=5, transaction="a")
_MOST = 1 << 20

_DOCUMENT = (WireColumn("doc", wire.JSON, 4, True, False, None),)
_DOCUMENTS = TableSchema(
    TableId("d", "d", "t"), (Column("doc", 1, ColumnType(Kind.JSON, "json")),), (), KeyKind.NONE
)
_DECIMALS = ((10, 2), (18, 0), (38, 38), (38, 0), (1, 0))
SCALARS = (
    *(ColumnType(kind, "x") for kind in Kind if kind not in {Kind.ARRAY, Kind.DECIMAL, Kind.BITS}),
    *(ColumnType(Kind.DECIMAL, "numeric", *digits) for digits in _DECIMALS),
    ColumnType(Kind.DECIMAL, "money", 19, 2),
    ColumnType(Kind.BITS, "bit(9)", length=9),
)
EVERY = (*SCALARS, *(ColumnType(Kind.ARRAY, "a[]", element=scalar) for scalar in SCALARS))


def mysql_table_map(data: bytes) -> None:
    """A table map's body; the first byte says whose."""
    name_of(data[1:])
    MySqlShapes(ColumnRules()).of_log(table_map.parse(data[1:], mariadb=data[:1] == b"\1"))


def mysql_rows(data: bytes) -> None:
    """The event's number, two bytes of a length, so long a table map, the event."""
    kind, size = data[0], int.from_bytes(data[1:3], "little")
    told = table_map.parse(data[3 : 3 + size], mariadb=False)
    event = data[3 + size :]
    Images(told.columns).rows(event, 0, len(event), kind)
    shape = MySqlShapes(ColumnRules()).of_log(told)
    made: list[RowChange] = []
    decoder = MySqlRows(3, shape, told.columns, 1, 2, lambda one: charset_of(one, column="c"), _MOST)
    decoder.decode(event, 0, len(event), kind, _FRAME, 9, 0, made)


def mysql_event(data: bytes) -> None:
    """A whole event without a checksum, packed or not."""
    if len(data) < HEADER:
        return
    with suppress(WracklineError):
        small_event(data, 0, len(data))
    for event in plain_events(data, 0, len(data), _MOST):
        small_event(*event)


def mysql_json(data: bytes) -> None:
    """Two bytes of a length, so long a document, its changes: as a new row, and as a changed one."""
    size = int.from_bytes(data[:2], "little")
    document = image([sized(data[2 : 2 + size], 4)])
    changes = b"\1\1" + image([sized(data[2 + size :], 4)])
    decoder = MySqlRows(3, project_all(_DOCUMENTS), _DOCUMENT, 1, 2, lambda one: charset_of(one, column="c"))
    for kind, images in ((WRITE, (document,)), (PARTIAL_UPDATE, (document, changes))):
        event = rows_event(kind, 1, *images)
        with suppress(WracklineError):
            decoder.decode(event, 0, len(event), kind, _FRAME, 9, 0, [])


def pgoutput(data: bytes) -> None:
    """A message that is no row."""
    for parse in (messages.begin, messages.commit, messages.relation, messages.truncate, messages.message):
        with suppress(WracklineError):
            parse(data, 1)


def postgres_rows(data: bytes) -> None:
    """Which type, how many columns of it, then a row message and a line of COPY."""
    type_ = EVERY[data[0] % len(EVERY)]
    columns = tuple(Column(f"c{i}", i + 1, type_) for i in range(1 + data[1] % 100))
    key = ("c0",) if data[1] > 99 else ()
    kind = KeyKind.PRIMARY if key else KeyKind.NONE
    decoder = PostgresRows(1, project_all(TableSchema(TableId("d", "p", "t"), columns, key, kind)), 1, 2)
    made: list[RowChange] = []
    with suppress(WracklineError):
        decoder.decode(data[2:], 0, _FRAME, 9, made)
    decoder.read_line(data[2:])


def postgres_cell(data: bytes) -> None:
    """Which type, then a text: as a row of the log, and as a line of COPY."""
    type_ = EVERY[data[0] % len(EVERY)]
    table = TableSchema(TableId("d", "p", "t"), (Column("c", 1, type_),), (), KeyKind.NONE)
    decoder = PostgresRows(1, project_all(table), 1, 2)
    with suppress(WracklineError):
        decoder.decode(insert([data[1:]]), 0, _FRAME, 9, [])
    decoder.read_line(data[1:])


def sqlserver_cell(data: bytes) -> None:
    """Which type, its scale, its collation's language, then a cell's bytes: as a value and as a text."""
    token, scale, language = WIRE_TOKENS[data[0] % len(WIRE_TOKENS)], data[1] % 8, data[2:3] or b"\0"
    wire_type = WireType(token, len(data[3:]), 38, scale, language + b"\4\0\0\0")
    for as_text in (False, True):
        with suppress(*BROKEN):
            column = column_type(of_wire(wire_type), column="d.s.t.c", as_text=as_text)
            form_of(column)(reader_of(wire_type, column)(data[3:]))


def sqlserver_tokens(data: bytes) -> None:
    """How the bytes come, then an answer: its tokens in packets of ours, and packets as they are."""
    size, at_once = 9 + data[0], 1 + data[1] % 7
    joined = b"".join(
        b"\4" + bytes([at + size - 8 >= len(data)]) + (len(body) + 8).to_bytes(2, "big") + bytes(4) + body
        for at in range(2, len(data), size - 8)
        if (body := data[at : at + size - 8])
    )
    for given in (joined, data[2:]):
        with suppress(WracklineError):
            _read_answer(given, size + data[1], at_once)


def _read_answer(given: bytes, piece: int, at_once: int) -> None:
    reader, at = TdsReader(1 << 20), 0
    while not reader.over:
        found = reader.next(at_once)
        if isinstance(found, TdsBatch):
            for row, packed in enumerate(RowPacker().pack(found)):
                if tuple(unpack_row(packed)) != found.row(row):
                    raise AssertionError
        elif found is None:
            if at == len(given):
                return
            at = reader.feed(given, at, min(at + piece, len(given)))


def signal(data: bytes) -> None:
    """A record of the topic of signals."""
    signals.parse_message(data, "f")


def condition(data: bytes) -> None:
    """What a condition says, it says again when it is written."""
    parsed = conditions.parse(data.decode("utf-8", "replace"))
    if conditions.parse(conditions.render(parsed)) != parsed:
        raise AssertionError("written differently")


def reference(data: bytes) -> None:
    """A setting with references to secrets."""
    Resolver(Allowed(), {"WRACKLINE_X": "s3cret${env:HOME}"})(data.decode("utf-8", "replace"))


TARGETS: Mapping[str, Callable[[bytes], None]] = MappingProxyType(
    {
        "mysql-table-map": mysql_table_map,
        "mysql-rows": mysql_rows,
        "mysql-event": mysql_event,
        "mysql-json": mysql_json,
        "pgoutput": pgoutput,
        "postgres-rows": postgres_rows,
        "postgres-cell": postgres_cell,
        "sqlserver-cell": sqlserver_cell,
        "sqlserver-tokens": sqlserver_tokens,
        "sqlserver-rows": sqlserver_rows,
        "oracle-redo": oracle_redo,
        "signal": signal,
        "condition": condition,
        "reference": reference,
        "offsets": stored.offsets_record,
        "postgres-position": stored.postgres_position,
        "mysql-position": stored.mysql_position,
        "sqlserver-position": stored.sqlserver_position,
        "gtids": stored.gtids,
        "postgres-ddl": stored.postgres_ddl,
        "mysql-ddl": stored.mysql_ddl,
        "tail": stored.tail,
        "group": stored.group,
    }
)


def hold(name: str, data: bytes) -> None:
    """Run one input; what is not an error of ours comes out."""
    if len(data) > 1:
        with suppress(WracklineError):
            TARGETS[name](data)


def kept(name: str) -> list[bytes]:
    """Return the inputs that are kept for a target."""
    return [file.read_bytes() for file in sorted((CORPUS / name).glob("*"))]
