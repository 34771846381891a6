"""The readers that meet a database's log first, each called with bytes of a case."""

from tests.unit.corpus.cases import Case
from tests.unit.producers.mysql.recorded import MARIADB, MYSQL
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.mysql.events import table_map
from wrackline.producers.sources.mysql.events.events import small_event
from wrackline.producers.sources.postgres.rows import messages
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

MAPS = {False: MYSQL, True: MARIADB}
_PGOUTPUT = {
    "begin": messages.begin,
    "commit": messages.commit,
    "relation": messages.relation,
    "truncate": messages.truncate,
    "message": messages.message,
}
_COLUMNS = (
    Column("id", 1, ColumnType(Kind.INT32, "integer")),
    Column("v", 2, ColumnType(Kind.STRING, "text")),
)
_TABLE = TableSchema(TableId("d", "p", "t"), _COLUMNS, ("id",), KeyKind.PRIMARY)


def read(case: Case) -> object:
    """Read a case's bytes; what a reader raises comes out."""
    data = bytes.fromhex(case["data"])
    match case["read"]:
        case "pgoutput":
            return _PGOUTPUT[case["parse"]](data, 1)
        case "rows":
            made: list[RowChange] = []
            decoder = PgRowDecoder(1, project_all(_TABLE), 1, 2)
            decoder.decode(data, 0, Frame(b"\0" * 9, b"00" * 11), 9, made)
            return made
        case "binlog":
            return small_event(data, 0, len(data))
        case _:
            return table_map.parse(data, mariadb=False)


def answer(case: Case) -> str | None:
    """Return the code of the refusal; None: something was read."""
    try:
        read(case)
    except WracklineError as refused:
        return refused.code
    return None
