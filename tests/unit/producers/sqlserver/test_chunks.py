"""Statements of chunks and marks: each value is a literal of its column's type, and no text is a user's."""

import re

import pytest

from tests.unit.producers.sqlserver.change_model import lsn
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.steps import Commit, Progress, Signal
from wrackline.producers.kit.reads.dialect import KeyValueError
from wrackline.producers.sources.sqlserver.chunks import chunk_sql, marks
from wrackline.producers.sources.sqlserver.chunks.key_order import where
from wrackline.producers.sources.sqlserver.chunks.key_values import SqlServerKeyColumn
from wrackline.producers.sources.sqlserver.discover.types import SqlServerType, of_catalogue
from wrackline.producers.sources.sqlserver.log.change_rows import RowPlace
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.kafka.signals import SignalRow
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = TableId("shop", "dbo", "Order Details")
NAME = "[shop].[dbo].[Order Details]"


def column(name: str, *catalogue: int, collation: str | None = None) -> SqlServerKeyColumn:
    return SqlServerKeyColumn("k]", of_catalogue(name, *catalogue), nullable=False, collation=collation)


LITERALS = [
    (column("tinyint", 1, 3, 0), "255", "CAST(255 AS tinyint)"),
    (column("bigint", 8, 19, 0), str(-(2**63)), f"CAST(-{2**63} AS bigint)"),
    (column("int", 4, 10, 0), "-7", "CAST(-7 AS int)"),
    (column("bit", 1, 1, 0), "1", "CAST(1 AS bit)"),
    (column("decimal", 9, 10, 2), "-1.10", "CAST(-1.10 AS decimal(10,2))"),
    (column("money", 8, 19, 4), "1.0001", "CAST(1.0001 AS money)"),
    (column("real", 4, 24, 0), "0.1", "CAST(0.1e0 AS real)"),
    (column("float", 8, 53, 0), "1e+300", "CAST(1e+300 AS float)"),
    (column("date", 3, 10, 0), "2026-01-02", "CAST('2026-01-02' AS date)"),
    (column("time", 5, 16, 7), "23:59:59.9999999", "CAST('23:59:59.9999999' AS time(7))"),
    (
        column("datetime2", 7, 22, 3),
        "2026-01-02 03:04:05.006",
        "CAST('2026-01-02 03:04:05.006' AS datetime2(3))",
    ),
    (
        column("datetime", 8, 23, 3),
        "2026-01-02 03:04:05.997",
        "CAST('2026-01-02T03:04:05.997' AS datetime)",
    ),
    (
        column("smalldatetime", 4, 16, 0),
        "2026-01-02 03:04:00",
        "CAST('2026-01-02T03:04:00' AS smalldatetime)",
    ),
    (
        column("datetimeoffset", 10, 34, 7),
        "2026-01-02 03:04:05.0000000 -01:30",
        "CAST('2026-01-02 03:04:05.0000000 -01:30' AS datetimeoffset(7))",
    ),
    (column("uniqueidentifier", 16, 0, 0), "a" * 8 + "-bbbb-cccc-dddd-" + "e" * 12, None),
    (column("binary", 4, 0, 0), "0x00ff", "CAST(0x00ff AS binary(4))"),
    (column("varbinary", 4, 0, 0), "0x", "CAST(0x AS varbinary(4))"),
    (column("timestamp", 8, 0, 0), "0x0000000000000001", "CAST(0x0000000000000001 AS timestamp)"),
    (column("hierarchyid", 892, 0, 0), "0x5ac0" + "ff" * 9, f"CAST(0x5ac0{'ff' * 9} AS hierarchyid)"),
    (column("nvarchar", 20, 0, 0), "it's é", "CAST(0x69007400270073002000e900 AS nvarchar(4000))"),
    (column("nchar", 4, 0, 0), "\ud83d", "CAST(0x3dd8 AS nvarchar(4000))"),
    (
        column("varchar", 20, 0, 0, collation="Cyrillic_General_CS_AS"),
        "ж",
        "CAST(CAST(0x3604 AS nvarchar(4000)) COLLATE Cyrillic_General_CS_AS AS varchar(8000))",
    ),
]


@pytest.mark.parametrize(("key", "text", "literal"), LITERALS)
def test_a_value_is_a_literal_of_its_column_s_type(
    key: SqlServerKeyColumn, text: str, literal: str | None
) -> None:
    made = literal or f"CAST('{text}' AS uniqueidentifier)"
    assert key.compare(">=", text) == f"[k]]] >= {made}"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (column("tinyint", 1, 3, 0), "256"),
        (column("tinyint", 1, 3, 0), "-1"),
        (column("int", 4, 10, 0), str(2**31)),
        (column("int", 4, 10, 0), "1.0"),
        (column("int", 4, 10, 0), "1; DROP TABLE t"),
        (column("bit", 1, 1, 0), "2"),
        (column("decimal", 9, 10, 2), "1.001"),
        (column("decimal", 9, 10, 2), "1e3"),
        (column("float", 8, 53, 0), "nan"),
        (column("date", 3, 10, 0), "2026-01-02'"),
        (column("datetime", 8, 23, 3), "now"),
        (column("uniqueidentifier", 16, 0, 0), "{0}"),
        (column("binary", 1, 0, 0), "0x0000"),
        (column("binary", 1, 0, 0), "00"),
        (column("timestamp", 8, 0, 0), "0x000000000000000001"),
        (column("nvarchar", 20, 0, 0), "x" * 4001),
        (column("varchar", 20, 0, 0), "its collation is not known"),
        (SqlServerKeyColumn("k", SqlServerType("sql_variant"), nullable=False), "1"),
    ],
)
def test_what_is_no_value_of_the_column_never_reaches_the_server(key: SqlServerKeyColumn, text: str) -> None:
    with pytest.raises(KeyValueError):
        key.literal(text)


def shape(*names: str, hidden: str = "") -> Projection:
    made = tuple(Column(name, place, ColumnType(Kind.INT32, "int")) for place, name in enumerate(names))
    source = TableSchema(TABLE, made, (names[0],))
    actions = tuple(Plain.DROP if name == hidden else Plain.KEEP for name in names)
    return Projection(source, source, actions)


INT = of_catalogue("int", 4, 10, 0)
COLUMNS = {name: SqlServerKeyColumn(name, INT, nullable=name == "b") for name in ("a", "b", "Name")}


def test_a_chunk_is_read_under_locks_in_the_order_of_its_key() -> None:
    request = ChunkRequest(TABLE, ("a", "b"), after=("1", None), upto=("2", "3"), most_rows=5)
    made = chunk_sql.rows(request, shape("a", "b", "c", hidden="c"), COLUMNS)
    after = "[a] >= CAST(1 AS int) AND ([a] > CAST(1 AS int) OR ([a] = CAST(1 AS int) AND [b] IS NOT NULL))"
    last = "([a] = CAST(2 AS int) AND ([b] <= CAST(3 AS int) OR [b] IS NULL))"
    upto = f"[a] <= CAST(2 AS int) AND ([a] < CAST(2 AS int) OR {last})"
    assert made == (
        f"SELECT TOP (5) [a], [b], NULL FROM {NAME} WITH (READCOMMITTEDLOCK)"
        f" WHERE (({after}) AND ({upto})) ORDER BY [a], [b]"
    )
    assert "LOCK" not in chunk_sql.rows(request, shape("a", "b"), COLUMNS, versions=True)


def test_the_last_key_of_a_range_and_rows_of_one_key() -> None:
    request = ChunkRequest(TABLE, ("a",))
    assert chunk_sql.one_key(request, shape("a"), COLUMNS, descending=True) == (
        f"SELECT TOP (1) [a] FROM {NAME} WITH (READCOMMITTEDLOCK) WHERE 1 = 1 ORDER BY [a] DESC"
    )
    assert chunk_sql.one_of(request, COLUMNS, ("7",), most=2) == (
        f"SELECT TOP (2) 1 FROM {NAME} WITH (READCOMMITTEDLOCK) WHERE [a] = CAST(7 AS int)"
    )
    assert chunk_sql.all_rows(shape("a", "b")) == f"SELECT [a], [b] FROM {NAME}"


def test_a_key_that_does_not_fit_is_refused_and_one_that_is_gone_passes() -> None:
    with pytest.raises(OperatorNeeded) as caught:
        chunk_sql.rows(ChunkRequest(TABLE, ("a",), after=("x",)), shape("a"), COLUMNS)
    assert caught.value.code == "sqlserver.key_unfit"
    with pytest.raises(Transient) as passing:
        chunk_sql.rows(ChunkRequest(TABLE, ("gone",)), shape("a"), COLUMNS)
    assert passing.value.code == "snapshot.key_gone"


def test_a_condition_names_columns_in_any_capitals_that_only_one_has() -> None:
    published = ("a", "Name", "x", "X")
    columns = COLUMNS | {name: SqlServerKeyColumn(name, INT, nullable=True) for name in ("x", "X")}
    assert where(TABLE, "name = 1", columns, published) == "[Name] = CAST(1 AS int)"
    assert (
        where(TABLE, "X = 1 AND x = 2", columns, published)
        == "([X] = CAST(1 AS int) AND [x] = CAST(2 AS int))"
    )
    alike = {"Xx", "xX"}
    for text, code in (("b = 1", "column"), ("xx = 1", "column"), ("a = 'x'", "value")):
        with pytest.raises(OperatorNeeded) as caught:
            where(TABLE, text, columns, (*published, *alike))
        assert caught.value.code == f"sqlserver.condition_{code}"


def test_a_bracket_in_a_condition_s_pattern_means_itself() -> None:
    assert where(TABLE, "a LIKE '[x]%'", COLUMNS, ("a",)) == "[a] LIKE REPLACE(N'[x]%', N'[', N'[[]')"


def test_a_fence_is_passed_when_every_commit_up_to_it_is_out() -> None:
    fence = marks.SqlServerFence("f", lsn(7))
    assert not fence.passed(Progress(SqlServerPosition(1, lsn(6))))
    assert fence.passed(Progress(SqlServerPosition(1, lsn(7))))
    inside = SqlServerPosition(1, lsn(7), 2, RowPlace(1, lsn(1), 9, 2))
    assert not fence.passed(Signal("x", "y", "z", inside)), "the commit at the fence is not out yet"
    assert fence.passed(Commit("t", SqlServerPosition(1, lsn(8)), 0))


def test_a_signal_mark_is_its_row() -> None:
    at = SqlServerPosition(1, lsn(6))
    mark = marks.SqlServerSignalMark("w", "w-close")
    assert mark.passed(Signal("w-close", "snapshot-window-close", "", at))
    assert not mark.passed(Signal("w-open", "snapshot-window-open", "", at))
    assert not mark.passed(Progress(at))


def test_a_mark_s_row_is_literals() -> None:
    row = SignalRow("it's", "snapshot-window-close", '{"a": "é"}')
    table = TableId("shop", "dbo", "signals")
    assert marks.signal_sql(table, row, delete=True) == (
        "INSERT INTO [shop].[dbo].[signals] (id, type, data) VALUES (N'it''s', N'snapshot-window-close',"
        " N'{\"a\": \"é\"}'); DELETE FROM [shop].[dbo].[signals] WHERE id = N'it''s';"
    )
    assert "DELETE" not in marks.signal_sql(table, row, delete=False)


def test_the_fence_s_transaction_writes_nothing_and_ends() -> None:
    assert re.findall(r"(?:BEGIN|SAVE|ROLLBACK) TRANSACTION", marks.FENCE_SQL) == [
        "BEGIN TRANSACTION",
        "SAVE TRANSACTION",
        "ROLLBACK TRANSACTION",
    ]
