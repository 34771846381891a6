"""A database of the model: its tables, its log, and what an administrator does with it.

Each public method is one thing that a test, or a statement, does; nothing happens by itself.  Times are the
server's.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Condition
from types import MappingProxyType
from typing import Protocol

from wrackline.control.local.sqlserver_standin.model.capture import (
    QUIET,
    CaptureInstance,
    CaptureJob,
    LoggedDdl,
    LoggedEnabling,
    LoggedTransaction,
)
from wrackline.control.local.sqlserver_standin.model.log_numbers import LogNumbers
from wrackline.control.local.sqlserver_standin.model.tables import ModelTable, declared
from wrackline.control.local.sqlserver_standin.model.transactions import LockWait, ModelTransaction
from wrackline.control.local.sqlserver_standin.wire.collations import DEFAULT, Collation
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_MOST_INSTANCES = 2
_IDENTITIES = uuid.UUID("5d1f8a52-60f5-4f6b-9f2c-0d6f5c1b7a10")


class ServerTime(Protocol):
    """Where a database has its time from."""

    @property
    def now(self) -> dt.datetime:
        """The moment, in UTC."""
        ...


RIGHTS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE"})
"""What a user may have on a table, or on all of a schema's."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a user may do in a database."""

    owner: bool = False
    roles: frozenset[str] = frozenset()
    schemas: frozenset[str] = frozenset({"dbo", "cdc"})
    """Schemas with SELECT, INSERT, UPDATE and DELETE."""
    views_state: bool = True
    single: frozenset[tuple[str, str]] = frozenset()
    """Rights that were granted one by one: `("INSERT", "dbo.signals")`, or of a whole schema."""

    def may(self, right: str, schema: str, name: str | None = None) -> bool:
        """Say whether a table may be read or written, or all of a schema's."""
        schema = schema.lower()
        alone = name is not None and (right, f"{schema}.{name.lower()}") in self.single
        return self.owner or schema in self.schemas or (right, schema) in self.single or alone


@dataclass(slots=True, eq=False)
class ModelDatabase:
    """A database."""

    name: str
    number: int
    time: ServerTime
    lock: Condition
    created: dt.datetime
    collation: Collation = DEFAULT
    read_committed_snapshot: bool = False
    allows_snapshots: bool = False
    state: str = "ONLINE"
    read_only: bool = False
    """As a readable secondary is: its writers are refused."""
    max_text_repl_size: int = 65_536
    cdc: CaptureJob | None = None
    cdc_enabled_at: dt.datetime | None = None
    group: uuid.UUID | None = None
    """The availability group that the database is in."""
    schemas: dict[str, int] = field(default_factory=lambda: {"dbo": 1, "cdc": 5})
    roles: set[str] = field(default_factory=set)
    grants: dict[str, Grant] = field(default_factory=dict)
    tables: dict[str, ModelTable] = field(default_factory=dict)
    numbers: LogNumbers = field(default_factory=LogNumbers)
    fork: int = 0
    commits: int = 0
    snapshots: list[ModelTransaction] = field(default_factory=list)
    running: list[ModelTransaction] = field(default_factory=list)
    _next_object: int = 1_000_001
    _next_transaction: int = 1000
    _rowversion: int = 2000

    def identity(self, what: str) -> uuid.UUID:
        """Return a GUID of this database: `family` and `group` stay, `fork` changes with a restore."""
        suffix = "" if what in {"family", "group"} else f"/{self.fork}"
        return uuid.uuid5(_IDENTITIES, f"{self.name}/{what}{suffix}")

    def object_id(self) -> int:
        """Give out the number of a new object."""
        self._next_object += 16
        return self._next_object

    def next_rowversion(self) -> bytes:
        """Give out the next value of a `rowversion` column."""
        self._rowversion += 1
        return self._rowversion.to_bytes(8, "big")

    def create_table(
        self,
        name: str,
        columns: Mapping[str, str],
        key: Sequence[str] = (),
        unique: Sequence[str] = (),
        *,
        defers: bool = True,
        defaults: Mapping[str, Cell] = MappingProxyType({}),
    ) -> ModelTable:
        """Make a table of columns with their declarations, as `tables.declared` reads them."""
        with self.lock:
            schema, _, short = name.rpartition(".")
            table = ModelTable(
                self.object_id(), schema or "dbo", short, (), tuple(key), tuple(unique), defers
            )
            made = [
                declared(column, text, self.collation, is_key=column in key, default=defaults.get(column))
                for column, text in columns.items()
            ]
            table.columns = tuple(table.numbered(made))
            if table.full_name.lower() in self.tables:
                raise ServerError(2714, f"There is already an object named '{short}' in the database.")
            self.tables[table.full_name.lower()] = table
            self.schemas.setdefault(table.schema, len(self.schemas) + 4)
            return table

    def table(self, name: str) -> ModelTable:
        """Return a table by `schema.name`, or by the name of one in dbo."""
        full = name if "." in name else f"dbo.{name}"
        if found := self.tables.get(full.lower()):
            return found
        raise ServerError(208, f"Invalid object name '{name}'.")

    def begin(self) -> ModelTransaction:
        """Begin a transaction."""
        with self.lock:
            self._next_transaction += 1
            number = self.numbers.next()
            one = ModelTransaction(self, self._next_transaction, self.time.now, number, number)
            self.running.append(one)
            return one

    @contextmanager
    def transaction(self) -> Iterator[ModelTransaction]:
        """Run a transaction: committed at the end, rolled back by an error."""
        one = self.begin()
        try:
            yield one
        except BaseException:
            one.rollback()
            raise
        one.commit()

    def end(self, one: ModelTransaction, *, commits: bool) -> bytes:
        """End a transaction: its rows are seen, its locks are free, its records are in the log."""
        number = self.numbers.next()
        self.numbers.close_block()
        self.running.remove(one)
        if one in self.snapshots:
            self.snapshots.remove(one)
        if commits and one.records:
            self.commits += 1
            for table, changes in one.rows.items():
                table.store(self.commits, changes, keep=bool(self.snapshots))
            if self.cdc is not None:
                item = LoggedTransaction(one.number, one.began_at, self.time.now, number, tuple(one.records))
                self.cdc.log.append(item)
        for table in self.tables.values():
            table.lockers.discard(one)
            if one in table.writers.values():
                table.writers = {key: writer for key, writer in table.writers.items() if writer is not one}
        self.lock.notify_all()
        return number

    def snapshot(self, one: ModelTransaction) -> int:
        """Give a transaction its snapshot, at its first read."""
        if one.snapshot is None:
            one.snapshot = self.commits
            self.snapshots.append(one)
        return one.snapshot

    def captures(self, table: ModelTable) -> bool:
        """Say whether a table has a capture instance."""
        return self.cdc is not None and any(one.table is table for one in self.cdc.instances.values())

    def job(self) -> CaptureJob:
        """Return the capture job; a database without one is an error."""
        if self.cdc is None:
            text = f"The database '{self.name}' is not enabled for Change Data Capture."
            raise ServerError(22901, text)
        return self.cdc

    def enable_cdc(self) -> None:
        """Do what `sys.sp_cdc_enable_db` does."""
        with self.lock:
            if self.cdc is None:
                self.cdc, self.cdc_enabled_at = CaptureJob(), self.time.now

    def disable_cdc(self) -> None:
        """Do what `sys.sp_cdc_disable_db` does: everything captured is gone."""
        with self.lock:
            self.cdc = self.cdc_enabled_at = None

    def enable_table(
        self,
        name: str,
        instance: str | None = None,
        role: str | None = None,
        columns: Collection[str] | None = None,
        filegroup: str | None = None,
        *,
        net_changes: bool | None = None,
        has_command: bool = True,
    ) -> CaptureInstance:
        """Do what `sys.sp_cdc_enable_table` does; the job hears of the instance by the log."""
        with self.lock:
            job, table = self.job(), self._locked(name)
            called = instance or f"{table.schema}_{table.name}"
            if called.lower() in {one.lower() for one in job.instances}:
                raise ServerError(
                    22926, f"Could not create a capture instance because the name '{called}' exists."
                )
            if sum(one.table is table for one in job.instances.values()) >= _MOST_INSTANCES:
                raise ServerError(
                    22962, f"Two capture instances already exist for source table '{table.full_name}'."
                )
            names = None if columns is None else {one.lower() for one in columns}
            if names is not None and not {one.lower() for one in table.key} <= names:
                raise ServerError(22938, "The columns of the index must be in the captured column list.")
            made = CaptureInstance(
                name=called,
                object_id=self.object_id(),
                table=table,
                columns=[one for one in table.columns if names is None or one.name.lower() in names],
                role=role,
                net_changes=bool(table.key) if net_changes is None else net_changes,
                index_name=f"PK_{table.name}" if table.key else None,
                filegroup=filegroup,
                created=self.time.now,
                has_command=has_command,
            )
            job.instances[called] = made
            if role is not None:
                self.roles.add(role)
            job.log.append(LoggedEnabling(self._log_record(), made))
            return made

    def disable_table(self, instance: str) -> None:
        """Do what `sys.sp_cdc_disable_table` does; the change table is gone, the DDL history stays."""
        with self.lock:
            if self.job().instances.pop(instance, None) is None:
                raise ServerError(22960, f"Capture instance '{instance}' has not been found.")

    def scan(self, most: int | None = None, late: Collection[str] = ()) -> int:
        """Let the capture job read the log once; return how many transactions had rows."""
        with self.lock:
            job = self.job()
            captured = job.scan(most, late)
            if job.runs and not job.log:
                job.scanned = self.numbers.last
            self.lock.notify_all()
            return captured

    def write_dummy(self) -> None:
        """Let the capture job say that a quiet log was read."""
        with self.lock:
            self.job().write_dummy(self._log_record(), self.time.now)

    def run_jobs(self) -> None:
        """Scan, and write the row of a quiet log when none was written for five minutes."""
        with self.lock:
            job = self.job()
            self.scan()
            last = max((row.ended for row in job.mapping), default=self.cdc_enabled_at or self.created)
            if self.time.now - last >= QUIET:
                self.write_dummy()

    def clean_up(self, retention: dt.timedelta | None = None) -> int:
        """Do what the clean-up job does; return how many rows it deleted."""
        with self.lock:
            mark = self.job().low_water(retention)
            if mark is None:
                return 0
            self.job().raise_low_water(mark)
            return self.job().delete_expired()

    def add_column(
        self, table: str, name: str, declaration: str, fill: Cell = None, default: Cell = None
    ) -> None:
        """ALTER TABLE … ADD; rows that are there get `fill`, later ones `default`; change tables stay."""
        with self.lock:
            found = self._locked(table)
            (column,) = found.numbered([declared(name, declaration, self.collation, default=default)])
            if not column.nullable and fill is None and found.keys:
                text = "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT"
                raise ServerError(4901, f"{text}: column '{name}', table '{found.name}'.")
            found.reshape((*found.columns, column), {column.number: fill})
            self._ddl(found, f"ALTER TABLE {found.full_name} ADD [{name}] {declaration}")

    def drop_column(self, table: str, name: str) -> None:
        """ALTER TABLE … DROP COLUMN; a change table has NULL there from now on."""
        with self.lock:
            found = self._locked(table)
            gone = found.columns[found.place(name)]
            found.reshape([column for column in found.columns if column is not gone], {})
            self._ddl(found, f"ALTER TABLE {found.full_name} DROP COLUMN [{name}]")

    def alter_column(self, table: str, name: str, declaration: str) -> None:
        """ALTER TABLE … ALTER COLUMN; the change table's column follows when the job reads of it."""
        with self.lock:
            found = self._locked(table)
            old = found.columns[found.place(name)]
            new = replace(declared(name, declaration, self.collation), number=old.number)
            found.reshape([new if column is old else column for column in found.columns], {})
            retyped = (old.number, new.of)
            self._ddl(found, f"ALTER TABLE {found.full_name} ALTER COLUMN [{name}] {declaration}", retyped)

    def rename_table(self, table: str, name: str) -> None:
        """Do what `sp_rename` does."""
        with self.lock:
            found = self.table(table)
            del self.tables[found.full_name.lower()]
            found.name = name
            self.tables[found.full_name.lower()] = found

    def drop_table(self, table: str) -> None:
        """DROP TABLE; its capture instances have a drop pending when the job reads of it."""
        with self.lock:
            found = self._locked(table)
            del self.tables[found.full_name.lower()]
            self._ddl(found, f"DROP TABLE {found.full_name}", drops=True)

    def truncate(self, table: str) -> None:
        """TRUNCATE TABLE, which a captured table refuses."""
        with self.lock:
            found = self._locked(table)
            if self.captures(found):
                why = "it is published for replication or enabled for Change Data Capture"
                text = f"Cannot truncate table '{found.name}' because {why}."
                raise ServerError(4711, text)
            found.store(self.commits, dict.fromkeys(found.keys), keep=bool(self.snapshots))

    def restore(self) -> None:
        """Pretend that a backup was restored over the database: the log forks."""
        self.fork += 1

    def _locked(self, name: str) -> ModelTable:
        """Return a table that nobody is writing: a change of a table waits for those."""
        found = self.table(name)
        if found.writers or found.lockers:
            raise LockWait
        return found

    def _log_record(self) -> bytes:
        number = self.numbers.next()
        self.numbers.close_block()
        return number

    def _ddl(
        self, table: ModelTable, text: str, retyped: tuple[int, SqlType] | None = None, *, drops: bool = False
    ) -> None:
        number = self._log_record()
        if self.captures(table):
            self.job().log.append(LoggedDdl(number, self.time.now, table, text, retyped, drops))
