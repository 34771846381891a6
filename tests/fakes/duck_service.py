"""DuckDB, in the test's process, as a service: it executes the texts that a warehouse is given.

It runs MERGE with conditions, UPDATE … FROM, transactions and Parquet, so every promise of a staged target
can be tried over it, in each form of the merge.  What is a warehouse's own (its client, its load, its
dialect) is tried on that warehouse's emulator.

What it does otherwise: an UPDATE that assigns 0.0 leaves a stored -0.0, which is equal to it.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb

from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.limits import TIME_OF_DAY, Limit
from wrackline.consumers.staged.dialect import Primitive, StagedDialect
from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.service import CarriedFiles, StagedSession, StageTable
from wrackline.consumers.staged.shape import StagedShape, columns_text
from wrackline.consumers.staged.state import StateMove, state_query
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.types import MOST_DIGITS, ColumnType, Kind

REFUSED = define(
    "test.duck_refused", OperatorNeeded, "{doing} of {place} was refused", hint="look at the text"
)
CONFLICT = define("test.duck_conflict", Transient, "{doing} of {place} met another transaction", hint="wait")

Reach = Callable[[str], str]  # is given each text, and COMMITTED behind a COMMIT; returns what runs

_PHYSICAL = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.UINT64: "DECIMAL(20,0)",
    Kind.DECIMAL: "DECIMAL({precision},{scale})",
    Kind.FLOAT32: "DOUBLE",
    Kind.FLOAT64: "DOUBLE",
    Kind.BYTES: "BLOB",
    Kind.BITS: "BLOB",
    Kind.DATE: "DATE",
    Kind.TIME_MICROS: "TIME",
    Kind.TIMESTAMP_MICROS: "TIMESTAMP",
    Kind.ZONED_TIMESTAMP: "TIMESTAMPTZ",
    Kind.INSTANT_MICROS: "TIMESTAMPTZ",
    **dict.fromkeys((Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.DURATION_MICROS), "BIGINT"),
}
_RESTORED = {
    Kind.UINT64: "CAST({x} AS DECIMAL(20,0))",
    Kind.DECIMAL: "CAST({x} AS DECIMAL({precision},{scale}))",
    Kind.DATE: "DATE '1970-01-01' + CAST({x} AS INTEGER)",
    Kind.TIME_MICROS: "TIME '00:00:00' + to_microseconds({x})",
    Kind.TIMESTAMP_MICROS: "make_timestamp({x})",
    Kind.ZONED_TIMESTAMP: "CAST(make_timestamp({x}) AS TIMESTAMPTZ)",
    Kind.INSTANT_MICROS: "CAST(make_timestamp({x}) AS TIMESTAMPTZ)",
}


def physical(of: ColumnType) -> str:
    return _PHYSICAL.get(of.kind, "VARCHAR").format(precision=of.precision, scale=of.scale)


def restored(value: str, of: ColumnType) -> str:
    return _RESTORED.get(of.kind, "{x}").format(x=value, precision=of.precision, scale=of.scale)


DIALECT = StagedDialect(
    identifiers=Identifiers(most_characters=120, case_sensitive=False),
    native=frozenset(_PHYSICAL),
    most_decimal_digits=MOST_DIGITS,
    widens=frozenset(
        {
            (Kind.INT16, Kind.INT32),
            (Kind.INT32, Kind.INT64),
            (Kind.INT32, Kind.DECIMAL),
            (Kind.DECIMAL, Kind.DECIMAL),
        }
    ),
    conditional_merge=True,
    types={
        Primitive.BOOLEAN: "BOOLEAN",
        Primitive.BIGINT: "BIGINT",
        Primitive.DOUBLE: "DOUBLE",
        Primitive.BYTES: "BLOB",
        Primitive.TEXT: "VARCHAR",
    },
    moment_type="TIMESTAMPTZ",
    quoted=lambda name: '"' + name.replace('"', '""') + '"',
    literal=lambda text: "'" + text.replace("'", "''") + "'",
    physical=physical,
    restored=restored,
    converted=lambda value, _, new: f"CAST({value} AS {physical(new)})",
    image=lambda value, of: f"CAST({value} AS VARCHAR)" if physical(of) == "DOUBLE" else value,
    moment=lambda micros: f"CAST(make_timestamp({micros}) AS TIMESTAMPTZ)",
    unheld="\x02",
    limits={
        Kind.STRING: Limit(most_bytes=70_001),
        Kind.ARRAY: Limit(most_bytes=70_001),
        Kind.BYTES: Limit(most_bytes=70_001),
        Kind.DATE: Limit(least=-719_162, greatest=2_932_896),
        Kind.TIME_MICROS: TIME_OF_DAY,
        Kind.TIMESTAMP_MICROS: Limit(greatest=253_402_300_799_999_999),
    },
)
IN_PARTS = replace(DIALECT, conditional_merge=False, transactional_ddl=True)


_NUMBERS = itertools.count()


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect(config={"threads": 1})  # tables are small, so another thread only costs
    engine.execute("SET GLOBAL TimeZone = 'UTC'")
    return engine


class DuckSession:
    """A connection of its own to the same database."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, reach: Reach) -> None:
        self._connection, self._reach = connection, reach

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(self._reach(text)).fetchall()

    def run(self, text: str) -> None:
        self.rows(text)

    def commit(self, move: StateMove, steps: Sequence[str], name: str) -> bool:
        assert name
        self._connection.begin()
        ((moved,),) = self.rows(move.text)
        if moved != 1:
            self._connection.rollback()
            return False
        for step in steps:
            self.run(step)
        self._reach("COMMIT")
        self._connection.commit()
        self._reach("COMMITTED")
        return True

    def load(self, stage: StageTable, files: CarriedFiles, name: str) -> int:
        assert name
        names = ", ".join(column.name for column in stage.columns)
        source = f"read_parquet({list(files.addresses)})"
        ((rows,),) = self.rows(f"INSERT INTO {DIALECT.path(stage.relation)} SELECT {names} FROM {source}")
        return int(rows)

    def close(self) -> None:
        self._connection.close()


class DuckService:
    """One database of the engine, which takes longer to start than most tests run."""

    def __init__(self, dialect: StagedDialect = DIALECT) -> None:
        self.dialect = dialect
        self._name = f"world{next(_NUMBERS)}"
        _engine().execute(f"ATTACH ':memory:' AS {self._name}")
        self.reach: Reach = lambda text: text
        self.a_day_later = False

    def session(self) -> StagedSession:
        return DuckSession(self.connect(), self._pass_on)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Connect as any user of the database."""
        connection = _engine().cursor()
        connection.execute(f"USE {self._name}")
        return connection

    def _pass_on(self, text: str) -> str:
        return self.reach(text)

    def has_schema(self, session: StagedSession, name: str) -> bool:
        where = f"database_name = '{self._name}' AND schema_name = {self.dialect.literal(name)}"
        return bool(session.rows(f"SELECT 1 FROM duckdb_schemas() WHERE {where}"))

    def state_row(self, session: StagedSession, table: StagedRelation) -> tuple[Any, ...] | None:
        if self.made(session, table) is None:
            return None
        rows = session.rows(state_query(self.dialect.path(table)))
        return rows[0] if len(rows) == 1 else ()

    def made(self, session: StagedSession, relation: StagedRelation) -> str | None:
        schema, name = map(self.dialect.literal, relation)
        here = f"database_name = '{self._name}' AND schema_name = {schema}"
        rows = session.rows(
            f"SELECT table_oid FROM duckdb_tables() WHERE {here} AND table_name = {name}"
            f" UNION ALL SELECT view_oid FROM duckdb_views() WHERE {here} AND view_name = {name}"
        )
        return str(rows[0][0]) if rows else None

    def create(self, place: StagedPlace, shape: StagedShape) -> Sequence[str]:
        columns = columns_text(shape, self.dialect)
        return [f"CREATE TABLE IF NOT EXISTS {self.dialect.path(place.table)} ({columns})"]

    def create_stage(self, stage: StageTable) -> str:
        return f"CREATE TABLE {self.dialect.path(stage.relation)} ({stage.columns_text(self.dialect)})"

    def old_tables(self, session: StagedSession, beginning: StagedRelation) -> Sequence[str]:
        if not self.a_day_later:
            return []
        schema, name = map(self.dialect.literal, beginning)
        rows = session.rows(
            f"SELECT table_name FROM duckdb_tables() WHERE database_name = '{self._name}'"
            f" AND schema_name = {schema} AND starts_with(table_name, {name})"
        )
        return [found for (found,) in rows]

    def refusal(self, error: Exception, doing: str, place: str) -> WracklineError | None:
        if isinstance(error, duckdb.TransactionException):
            return CONFLICT(doing=doing, place=place)
        return REFUSED(doing=doing, place=place) if isinstance(error, duckdb.Error) else None

    def check(self, session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
        del session, places
        return iter(())
