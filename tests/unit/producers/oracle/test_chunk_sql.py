"""Statements of chunks: values are literals of their column's type, and a range is what ORDER BY says.

sqlglot parses each statement, and duckdb runs the ranges; neither knows `AS OF SCN`.
"""

from collections.abc import Sequence
from itertools import product

import duckdb
import pytest
import sqlglot

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.contract.steps import Commit, Progress
from wrackline.producers.kit.reads.dialect import KeyValueError
from wrackline.producers.sources.oracle.chunks import chunk_sql
from wrackline.producers.sources.oracle.chunks.fence import OracleFence
from wrackline.producers.sources.oracle.chunks.key_order import where
from wrackline.producers.sources.oracle.chunks.key_values import OracleKeyColumn, text_of
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.mining.position import (
    FIRST_ROW,
    CommitPlace,
    CutTransaction,
    OraclePosition,
    last_at,
)
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = TableId("DB", "SHOP", "Order Details")
NAME = '"SHOP"."Order Details"'
NUMBER = OracleType("NUMBER", None, 10, 0)


def column(name: str, length: int | None = None) -> OracleKeyColumn:
    return OracleKeyColumn("K", OracleType(name, length), nullable=False)


LITERALS = [
    (column("NUMBER"), "-12.50", "TO_NUMBER('-12.50')"),
    (column("NUMBER"), ".5", "TO_NUMBER('.5')"),
    (column("NUMBER"), "1.5E+100", "TO_NUMBER('1.5E+100')"),
    (column("FLOAT"), "7", "TO_NUMBER('7')"),
    (column("BINARY_DOUBLE"), "1e+300", "TO_BINARY_DOUBLE('1e+300')"),
    (column("BINARY_FLOAT"), "nan", "TO_BINARY_FLOAT('nan')"),
    (column("VARCHAR2", 20), "it's é", "'it''s é'"),
    (column("CHAR", 3), "a  ", "'a  '"),
    (column("NVARCHAR2", 20), "it's", "N'it''s'"),
    (column("NVARCHAR2", 20), "é\U0001f600", r"UNISTR('\00E9\D83D\DE00')"),
    (column("NCHAR", 4), "é", r"CAST(UNISTR('\00E9') AS NCHAR(4))"),
    (column("RAW", 16), "00FF", "HEXTORAW('00FF')"),
    (column("RAW", 16), "0x00ff", "HEXTORAW('00ff')"),
    (column("BOOLEAN"), "1", "TRUE"),
    (column("DATE"), " 2026-01-02 03:04:05", "TO_DATE('2026-01-02 03:04:05', 'SYYYY-MM-DD HH24:MI:SS')"),
    (column("DATE"), "-0044-03-15", "TO_DATE('-0044-03-15 00:00:00', 'SYYYY-MM-DD HH24:MI:SS')"),
    (column("DATE"), "1500-02-29", "TO_DATE('1500-02-29 00:00:00', 'SYYYY-MM-DD HH24:MI:SS')"),
    (
        column("TIMESTAMP(6)"),
        " 2026-01-02 03:04:05.006",
        "TO_TIMESTAMP('2026-01-02 03:04:05.006000000', 'SYYYY-MM-DD HH24:MI:SS.FF9')",
    ),
    (
        column("TIMESTAMP(9) WITH TIME ZONE"),
        " 2026-01-02 03:04:05.000000001 -01:30",
        "TO_TIMESTAMP_TZ('2026-01-02 03:04:05.000000001 -01:30', 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')",
    ),
    (
        column("TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        "2026-01-02T03:04:05",
        (
            "CAST(TO_TIMESTAMP_TZ('2026-01-02 03:04:05.000000000 +00:00',"
            " 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM') AS TIMESTAMP(9) WITH LOCAL TIME ZONE)"
        ),
    ),
    (
        column("INTERVAL DAY(2) TO SECOND(6)"),
        "+01 02:03:04.500000",
        "TO_DSINTERVAL('+01 02:03:04.500000')",
    ),
    (column("INTERVAL YEAR(2) TO MONTH"), "-01-11", "TO_YMINTERVAL('-01-11')"),
]


OTHER_TEXTS = [
    (column("NUMBER"), "1" + "0" * 125, "TO_NUMBER('1E125')"),
    (column("NUMBER"), "-0." + "0" * 100 + "120", "TO_NUMBER('-12E-102')"),
    (column("NUMBER"), "0." + "0" * 70, "TO_NUMBER('0E-70')"),
    (column("NUMBER"), "0E-10", "TO_NUMBER('0E-10')"),
    (column("BOOLEAN"), "false", "FALSE"),
    (
        column("TIMESTAMP(6) WITH TIME ZONE"),
        "2026-01-02T03:04:05.1Z",
        "TO_TIMESTAMP_TZ('2026-01-02 03:04:05.100000000 +00:00', 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')",
    ),
    (
        column("TIMESTAMP(6) WITH TIME ZONE"),
        "2026-01-02 03:04:05+00",
        "TO_TIMESTAMP_TZ('2026-01-02 03:04:05.000000000 +00:00', 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')",
    ),
    (column("INTERVAL DAY(2) TO SECOND(6)"), "P1DT2H3M4.5S", "TO_DSINTERVAL('+1 02:03:04.5')"),
    (column("INTERVAL DAY(2) TO SECOND(6)"), "P-1DT-2H", "TO_DSINTERVAL('-1 02:00:00')"),
    (column("INTERVAL DAY(2) TO SECOND(6)"), "PT-4.5S", "TO_DSINTERVAL('-0 00:00:04.5')"),
    (column("INTERVAL DAY(2) TO SECOND(6)"), "PT0S", "TO_DSINTERVAL('+0 00:00:00')"),
    (column("INTERVAL YEAR(2) TO MONTH"), "P1Y11M", "TO_YMINTERVAL('+1-11')"),
    (column("INTERVAL YEAR(2) TO MONTH"), "P-2M", "TO_YMINTERVAL('-0-2')"),
    (column("INTERVAL YEAR(2) TO MONTH"), "PT0S", "TO_YMINTERVAL('+0-0')"),
]


@pytest.mark.parametrize(("key", "text", "literal"), [*LITERALS, *OTHER_TEXTS])
def test_a_value_is_a_literal_of_its_column_s_type(key: OracleKeyColumn, text: str, literal: str) -> None:
    made = key.compare(">=", text)
    assert made == f't."K" >= {literal}'
    assert sqlglot.parse_one(f"SELECT 1 FROM T t WHERE {made}", read="oracle")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (column("NUMBER"), "1; DROP TABLE t"),
        (column("NUMBER"), "nan"),
        (column("NUMBER"), "1" * 261),
        (column("NUMBER"), ""),
        (column("BINARY_DOUBLE"), "one"),
        (column("VARCHAR2", 20), ""),
        (column("VARCHAR2", 20), "a\0"),
        (column("VARCHAR2", 20), "é" * 2001),
        (column("NVARCHAR2", 20), ""),
        (column("NCHAR", 4), "éééée"),
        (column("RAW", 16), "0"),
        (column("RAW", 16), ""),
        (column("BOOLEAN"), "TRUE"),
        (column("DATE"), "2026-02-30"),
        (column("DATE"), "1501-02-29"),
        (column("DATE"), "0000-01-01"),
        (column("DATE"), "2026-01-02 24:00:00"),
        (column("DATE"), "2026-01-02 03:04:05.5"),
        (column("DATE"), "2026-01-02'"),
        (column("TIMESTAMP(6)"), "2026-01-02 03:04:05 +01:00"),
        (column("INTERVAL DAY(2) TO SECOND(6)"), "1"),
        (column("INTERVAL DAY(2) TO SECOND(6)"), "P"),
        (column("INTERVAL DAY(2) TO SECOND(6)"), "P1DT"),
        (column("INTERVAL YEAR(2) TO MONTH"), "1"),
        (column("INTERVAL YEAR(2) TO MONTH"), "P"),
        (column("CLOB"), "a"),
        (column("ROWID"), "AAA"),
    ],
)
def test_what_is_no_value_of_the_column_never_reaches_the_server(key: OracleKeyColumn, text: str) -> None:
    with pytest.raises(KeyValueError):
        key.literal(text)


def test_a_bound_is_the_text_of_a_cell() -> None:
    row = ("7", b"\x00\xff", 0.1, None, " 2026-01-02 03:04:05")
    assert tuple(map(text_of, row)) == ("7", "00FF", "0.1", None, " 2026-01-02 03:04:05")


def shape(*names: str, hidden: str = "") -> Projection:
    made = tuple(Column(name, place, ColumnType(Kind.INT64, "n")) for place, name in enumerate(names))
    source = TableSchema(TABLE, made, (names[0],))
    actions = tuple(Plain.DROP if name == hidden else Plain.KEEP for name in names)
    return Projection(source, source, actions)


COLUMNS = {name: OracleKeyColumn(name, NUMBER, nullable=name == "B") for name in ("A", "B", "Name")}


def parsed(sql: str) -> str:
    """Return it after a parser that is not ours has read it."""
    assert sqlglot.parse_one(sql.replace(" AS OF SCN :s", ""), read="oracle")
    return sql


def test_a_chunk_is_read_as_of_an_scn_in_the_order_of_its_key() -> None:
    request = ChunkRequest(TABLE, ("A", "B"), after=("1", None), upto=("2", "3"), most_rows=5)
    made = parsed(chunk_sql.rows(request, shape("A", "B", "C", hidden="C"), [NUMBER] * 3, COLUMNS))
    a, b, one, two, three = 't."A"', 't."B"', "TO_NUMBER('1')", "TO_NUMBER('2')", "TO_NUMBER('3')"
    after = f"({a} >= {one} AND {a} > {one})"
    upto = f"({a} <= {two} AND ({a} < {two} OR ({a} = {two} AND {b} <= {three})))"
    assert made == (
        f"SELECT TO_CHAR({a}, 'TM9'), TO_CHAR({b}, 'TM9') FROM {NAME} AS OF SCN :s t"
        f" WHERE ({after} AND {upto}) ORDER BY {a}, {b} FETCH FIRST 5 ROWS ONLY"
    )


def test_the_last_key_of_a_range_and_rows_of_one_key() -> None:
    request = ChunkRequest(TABLE, ("A",))
    assert parsed(chunk_sql.one_key(request, shape("A"), COLUMNS, descending=True)) == (
        f"SELECT TO_CHAR(t.\"A\", 'TM9') FROM {NAME} t WHERE 1 = 1"
        ' ORDER BY t."A" DESC FETCH FIRST 1 ROWS ONLY'
    )
    assert parsed(chunk_sql.one_of(request, COLUMNS, ("7",), most=2)) == (
        f"SELECT 1 FROM {NAME} t WHERE t.\"A\" = TO_NUMBER('7') FETCH FIRST 2 ROWS ONLY"
    )
    assert parsed(chunk_sql.all_rows(shape("A"), [NUMBER])) == (
        f"SELECT TO_CHAR(t.\"A\", 'TM9') FROM {NAME} AS OF SCN :s t"
    )


@pytest.mark.parametrize(
    ("percent", "sampled"), [(40.0, "40.000000"), (400.0, "99.000000"), (1e-9, "0.000001")]
)
def test_keys_are_sampled_in_their_order(percent: float, sampled: str) -> None:
    made = chunk_sql.sampled_keys(ChunkRequest(TABLE, ("A",)), shape("A"), COLUMNS, percent)
    assert made == (
        f'SELECT TO_CHAR(t."A", \'TM9\') FROM {NAME} SAMPLE BLOCK ({sampled}) t WHERE 1 = 1 ORDER BY t."A"'
    )


VALUES = (1, 2, None)
ROWS = [(a, b, place) for place, (a, b) in enumerate(product(VALUES, VALUES))]


def found(request: ChunkRequest, columns: dict[str, OracleKeyColumn]) -> list[tuple[int | None, int | None]]:
    """Run a chunk's statement over all pairs of values."""
    sql = chunk_sql.rows(request, shape("A", "B"), [NUMBER] * 2, columns)
    plain = sql.replace(" AS OF SCN :s", "").replace(NAME, "PAIRS")
    for name in ("A", "B"):
        plain = plain.replace(f"TO_CHAR(t.\"{name}\", 'TM9')", f't."{name}"')
    base = duckdb.connect()
    base.execute("CREATE MACRO TO_NUMBER(text) AS CAST(text AS BIGINT)")
    base.execute("CREATE TABLE PAIRS (A BIGINT, B BIGINT, PLACE BIGINT)")
    base.executemany("INSERT INTO PAIRS VALUES (?, ?, ?)", ROWS)
    text = sqlglot.parse_one(plain, read="oracle").sql("duckdb")
    return base.execute(text).fetchall()


def in_order(rows: Sequence[tuple[int | None, ...]]) -> list[tuple[int | None, int | None]]:
    """Sort pairs as Oracle does: what is null comes last."""
    pairs = [(row[0], row[1]) for row in rows]
    return sorted(pairs, key=lambda pair: [(value is None, value or 0) for value in pair])


def test_a_range_of_a_composite_key_with_nulls_is_what_order_by_says() -> None:
    columns = {name: OracleKeyColumn(name, NUMBER, nullable=True) for name in ("A", "B")}
    every = in_order(ROWS)
    bounds: list[Bound] = [tuple(None if value is None else str(value) for value in pair) for pair in every]
    assert found(ChunkRequest(TABLE, ("A", "B")), columns) == every
    for place, bound in enumerate(bounds):
        assert found(ChunkRequest(TABLE, ("A", "B"), after=bound), columns) == every[place + 1 :]
        assert found(ChunkRequest(TABLE, ("A", "B"), upto=bound), columns) == every[: place + 1]
        assert found(ChunkRequest(TABLE, ("A", "B"), only=(bound,)), columns) == [every[place]]


def test_a_key_that_does_not_fit_is_refused_and_one_that_is_gone_passes() -> None:
    with pytest.raises(OperatorNeeded) as caught:
        chunk_sql.rows(ChunkRequest(TABLE, ("A",), after=("x",)), shape("A"), [NUMBER], COLUMNS)
    assert caught.value.code == "oracle.key_unfit"
    with pytest.raises(Transient) as passing:
        chunk_sql.rows(ChunkRequest(TABLE, ("GONE",)), shape("A"), [NUMBER], COLUMNS)
    assert passing.value.code == "snapshot.key_gone"
    columns = COLUMNS | {"A": OracleKeyColumn("A", OracleType("CLOB"), nullable=False)}
    with pytest.raises(OperatorNeeded) as unordered:
        chunk_sql.rows(ChunkRequest(TABLE, ("A",)), shape("A"), [NUMBER], columns)
    assert unordered.value.code == "oracle.key_unordered"


def test_a_condition_names_columns_as_the_server_would() -> None:
    columns = COLUMNS | {"name": COLUMNS["A"], "NAME": COLUMNS["B"]}
    published = ("A", "name", "NAME")
    assert where(TABLE, "a = 1", columns, published) == "t.\"A\" = TO_NUMBER('1')"
    assert where(TABLE, "name IS NULL", columns, published) == 't."B" IS NULL'
    assert where(TABLE, '"name" IS NULL', columns, published) == 't."A" IS NULL'
    assert where(TABLE, "Name <> 1", COLUMNS, ("Name",)) == "(NOT t.\"Name\" = TO_NUMBER('1'))"
    for text, code in (("b = 1", "column"), ('"a" = 1', "column"), ("a = 'x'", "value"), ("a = ''", "value")):
        with pytest.raises(OperatorNeeded) as caught:
            where(TABLE, text, columns, published)
        assert caught.value.code == f"oracle.condition_{code}"


def test_a_fence_is_passed_when_every_commit_up_to_it_is_out() -> None:
    def at(place: CommitPlace) -> Progress:
        return Progress(OraclePosition(1, place))

    fence = OracleFence("f", 70)
    assert not fence.passed(at(CommitPlace(70, 1, (1, 2, 3)))), "another commit may have this SCN"
    assert not fence.passed(at(last_at(69)))
    assert fence.passed(at(last_at(70)))
    commit = CommitPlace(71, 1, (1, 2, 3))
    cut = CutTransaction(0, "0" * 16, commit, FIRST_ROW)
    inside = OraclePosition(1, commit, 2, done=last_at(69), cut=cut)
    assert fence.passed(Commit("t", inside, 0)), "what is cut is behind it"
