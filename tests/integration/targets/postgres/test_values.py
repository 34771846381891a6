"""Each kind of value, from a Spark frame through COPY into its column, exactly."""

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import LAYOUT, PostgresWorld
from wrackline.consumers.contract.plan import Applied, MergePlan, plan_merge
from wrackline.consumers.targets.postgres.copy_lines import copy_lines
from wrackline.consumers.targets.postgres.sql.place import IDENTIFIERS
from wrackline.consumers.targets.postgres.sql.types import column_type
from wrackline.consumers.targets.postgres.target import PgTarget
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind, spark_type

ID = Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False)
TABLE = TableId("db", "public", "values")
NUMBER = ColumnType(Kind.DECIMAL, "numeric(38,4)", precision=38, scale=4)
TEXTS = ColumnType(Kind.ARRAY, "text[]", element=ColumnType(Kind.STRING, "text"))
BLOBS = ColumnType(Kind.ARRAY, "bytea[]", element=ColumnType(Kind.BYTES, "bytea"))
TIMES = ColumnType(
    Kind.ARRAY, "timestamptz[]", element=ColumnType(Kind.ZONED_TIMESTAMP, "timestamp with time zone")
)
FLOATS = ColumnType(Kind.ARRAY, "float8[]", element=ColumnType(Kind.FLOAT64, "double precision"))


def kind(of: Kind, source: str = "") -> ColumnType:
    return ColumnType(of, source or of.value)


# the type, an expression of Spark's, and what PostgreSQL says of the column as text
CASES: Sequence[tuple[ColumnType, str, str]] = (
    (kind(Kind.BOOLEAN), "true", "true"),
    (kind(Kind.INT16), "-32768", "-32768"),
    (kind(Kind.INT32), "2147483647", "2147483647"),
    (kind(Kind.INT64), "-9223372036854775808L", "-9223372036854775808"),
    (kind(Kind.UINT64), "18446744073709551615", "18446744073709551615"),
    (kind(Kind.FLOAT32), "float('1.1')", "1.1"),
    (kind(Kind.FLOAT32), "float('NaN')", "NaN"),
    (kind(Kind.FLOAT64), "double('-0.0')", "-0"),
    (kind(Kind.FLOAT64), "double('4.9E-324')", "5e-324"),
    (kind(Kind.FLOAT64), "double('-Infinity')", "-Infinity"),
    (kind(Kind.FLOAT64), "double('0.30000000000000004')", "0.30000000000000004"),
    (NUMBER, "-1234567890123456789012345678901234.5670", "-1234567890123456789012345678901234.5670"),
    (NUMBER, "0.0001", "0.0001"),
    (kind(Kind.NUMERIC_TEXT), f"'{'9' * 60}.100'", f"{'9' * 60}.100"),
    (kind(Kind.NUMERIC_TEXT), "'-Infinity'", "-Infinity"),
    (kind(Kind.STRING), r"'tab\there\nline\r\\N \\. é 😀 \\'", "tab\there\nline\r\\N \\. é 😀 \\"),
    (kind(Kind.STRING), "''", ""),
    (kind(Kind.STRING), r"'\\N'", "\\N"),
    (kind(Kind.BYTES), "X'00FF5C0A'", "\\x00ff5c0a"),
    (kind(Kind.BYTES), "X''", "\\x"),
    (kind(Kind.BITS), "X'05'", "\\x05"),
    (kind(Kind.DATE), "date'2024-02-29'", "2024-02-29"),
    (kind(Kind.DATE), "date_from_unix_date(-2440588)", "4714-11-24 BC"),
    (kind(Kind.DATE), "date'+294247-01-01'", "294247-01-01"),
    (kind(Kind.DATE), "date_from_unix_date(2147483647)", "infinity"),
    (kind(Kind.DATE), "date_from_unix_date(-2147483648)", "-infinity"),
    (kind(Kind.TIME_MICROS), "86400000000L", "24:00:00"),
    (kind(Kind.TIME_MICROS), "11045000006L", "03:04:05.000006"),
    (kind(Kind.TIMESTAMP_MICROS), "timestamp_ntz'2026-03-29 02:30:00.000001'", "2026-03-29 02:30:00.000001"),
    (kind(Kind.TIMESTAMP_MICROS), "timestamp_ntz'0001-01-01 00:00:00'", "0001-01-01 00:00:00"),
    (kind(Kind.ZONED_TIMESTAMP), "timestamp'1969-12-31 23:59:59.999999Z'", "1969-12-31 23:59:59.999999+00"),
    (kind(Kind.ZONED_TIMESTAMP), "timestamp'-0043-03-15 12:00:00Z'", "0044-03-15 12:00:00+00 BC"),
    (kind(Kind.INSTANT_MICROS), "timestamp'+12026-01-02 03:04:05Z'", "12026-01-02 03:04:05+00"),
    *(
        (kind(of), f"{how}'{moment}{'Z' if how == 'timestamp' else ''}'", text)
        for of, how in ((Kind.TIMESTAMP_MICROS, "timestamp_ntz"), (Kind.INSTANT_MICROS, "timestamp"))
        for moment, text in (
            ("+294247-01-10 04:00:25.2", "infinity"),
            ("-290308-12-21 19:59:27.6", "-infinity"),
        )
    ),
    (kind(Kind.ZONED_TIME), "'03:04:05.123456+02:00'", "03:04:05.123456+02"),
    (kind(Kind.DURATION_MICROS), "-3020399000001L", "-838:59:59.000001"),
    (kind(Kind.INTERVAL), "'P1Y-2M3DT-4H5M6.7S'", "10 mons 3 days -03:54:53.3"),
    (kind(Kind.YEAR), "1901", "1901"),
    (kind(Kind.UUID), "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    (kind(Kind.JSON), """'{"b": 1, "a":  [1.0, "\\\\n"], "a": 2}'""", '{"b": 1, "a":  [1.0, "\\n"], "a": 2}'),
    (kind(Kind.JSON, "jsonb"), """'{"a": [1.0]}'""", '{"a": [1.0]}'),
    (kind(Kind.XML), "'<a>&amp;</a>'", "<a>&amp;</a>"),
    (kind(Kind.ENUM), "'it''s'", "its"),
    (kind(Kind.ENUM_SET), "'a,b'", "a,b"),
    (kind(Kind.TEXT_OF), "'[1,2)'", "[1,2)"),
    (TEXTS, r"""array('a,"b"', null, 'NULL', '{\\}', 'x\ty')""", '{"a,\\"b\\"",NULL,"NULL","{\\\\}","x\ty"}'),
    (TEXTS, "array()", "{}"),
    (BLOBS, "array(X'5C22', null)", '{"\\\\x5c22",NULL}'),
    (TIMES, "array(timestamp'2026-01-02 03:04:05Z')", '{"2026-01-02 03:04:05+00"}'),
    (FLOATS, "array(double('NaN'), double('-0.0'))", "{NaN,-0}"),
)  # fmt: skip


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database.dsn, lambda world: PgTarget(world.connect, LAYOUT, copy_lines))
    yield world
    world.target.close()


def planned(types: Sequence[ColumnType]) -> MergePlan:
    columns = (ID, *(Column(f"v{at}", at + 2, of) for at, of in enumerate(types)))
    table = TableSchema(TABLE, columns, ("id",), KeyKind.PRIMARY)
    return plan_merge(table, IDENTIFIERS, Applied())


def frame(rows: DataFrame, plan: MergePlan) -> DataFrame:
    """Put the rest of dedupe.py's frame around rows."""
    names = ", ".join(f"`{column.target}`" for column in plan.columns)
    return rows.selectExpr(
        f"struct({names}) AS row", "'01' AS seq", "'c' AS op", "timestamp'2026-01-01 00:00:00Z' AS commit_ts",
        "false AS deleted", "cast(array() AS array<string>) AS unsent",
        "cast(array() AS array<string>) AS missing",
    )  # fmt: skip


def merge(world: PostgresWorld, plan: MergePlan, rows: DataFrame) -> None:
    world.target.ensure_table(plan)
    world.target.apply(world.target.stage(frame(rows, plan), plan), plan)


def test_every_kind_is_carried_exactly(world: PostgresWorld, spark: SparkSession) -> None:
    assert {of.kind for of, _, _ in CASES} == set(Kind)
    plan = planned([of for of, _, _ in CASES])
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")  # nothing may depend on it
    try:
        values = [f"CAST({said} AS {spark_type(of)}) AS v{at}" for at, (of, said, _) in enumerate(CASES)]
        nulls = [f"CAST(null AS {spark_type(of)}) AS v{at}" for at, (of, _, _) in enumerate(CASES)]
        rows = spark.sql(f"SELECT 1L AS id, {', '.join(values)} UNION ALL SELECT 2L, {', '.join(nulls)}")
        merge(world, plan, rows)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    texts = ", ".join(f"v{at}::text" for at in range(len(CASES)))
    world.sql("ALTER DATABASE " + world.settings.text("target.dbname") + " SET timezone = 'UTC'")
    full, empty = world.sql(f"SELECT {texts} FROM public.values ORDER BY id")
    assert [full[f"v{at}"] for at in range(len(CASES))] == [said for _, _, said in CASES]
    assert set(empty.values()) == {None}
    kept = world.sql(
        "SELECT format_type(atttypid, atttypmod) AS of FROM pg_attribute"
        " WHERE attrelid = 'public.values'::regclass AND attnum > 1 ORDER BY attnum"
    )
    assert [row["of"] for row in kept] == [column_type(of) for of, _, _ in CASES]


def test_moments_are_exact_to_the_microsecond(world: PostgresWorld, spark: SparkSession) -> None:
    """From 4713 BC to the year 294246, which is what 64 bits of microseconds hold of PostgreSQL's years.

    T-T06.
    """
    chance = random.Random(20)
    first, last = -210_866_803_200_000_000, 9_223_371_331_200_000_000 - 1
    micros = [first, last, 0, -1, *(chance.randint(first, last) for _ in range(200))]
    plan = planned([kind(Kind.TIMESTAMP_MICROS), kind(Kind.INSTANT_MICROS), kind(Kind.DURATION_MICROS)])
    given = spark.createDataFrame(list(enumerate(micros)), "id bigint, m bigint").selectExpr(
        "id", "CAST(timestamp_micros(m) AS timestamp_ntz) AS v0", "timestamp_micros(m) AS v1",
        "m % 3020400000000 AS v2",
    )  # fmt: skip
    merge(world, plan, given)
    found = world.sql(
        "SELECT extract(epoch FROM v0) * 1000000 AS a, extract(epoch FROM v1) * 1000000 AS b,"
        " extract(epoch FROM v2) * 1000000 AS c FROM public.values ORDER BY id"
    )
    assert [row["a"] for row in found] == [row["b"] for row in found] == [Decimal(m) for m in micros]
    spans = [int(abs(m) % 3_020_400_000_000) * (1 if m >= 0 else -1) for m in micros]
    assert [row["c"] for row in found] == spans
