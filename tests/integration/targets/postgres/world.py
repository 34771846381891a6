"""The target suite's world on a real PostgreSQL.

A crash is a real one: between two statements of `apply` the server ends its backend, and the target's
process is left where it stands.  Rows are read by connections of the world's own, as any reader's.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import psycopg
from psycopg import conninfo, sql

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.contract.target import Target
from wrackline.consumers.targets.postgres import PLUGIN
from wrackline.consumers.targets.postgres.applied import PgTargetStateTable
from wrackline.consumers.targets.postgres.connect import Connection, PgTargetServer
from wrackline.consumers.targets.postgres.sql.place import PgTargetLayout
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.target import PgTarget
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry
from wrackline.schemas.settings.settings_registry import Values as SettingValues
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.merge_model import (
    Change,
    Content,
    Key,
    Latest,
    Stored,
    Values,
    content,
    latest,
)
from wrackline.testing.targets.target_suite import Crash

POINTS = {  # where a crash comes: right before this statement
    "before the lock": "SELECT version",
    "before what is void goes": 'DELETE FROM "wrackline"."',
    "before the void changes go": 'DELETE FROM "pg_temp"',
    "before the update": 'UPDATE "wrackline"."public.',
    "before the insert": 'INSERT INTO "wrackline"."public.',
    "before the offsets": 'UPDATE "wrackline"."_wl_applied"',
    "before the commit": "COMMIT\n",
    "after the commit": "COMMITTED",
}
LAYOUT = PgTargetLayout("{schema}", "wrackline")
Frame = Mapping[Key, Latest]
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def settings_of(dsn: str, **more: str) -> SettingValues:
    """Settings whose target is a database of the local stack."""
    parts = conninfo.conninfo_to_dict(dsn)
    given = {
        "name": "test",
        "connector.class": "postgres",
        "topic.prefix": "server",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "target.kind": "postgres",
        "target.hostname": str(parts["host"]),
        "target.port": str(parts["port"]),
        "target.user": str(parts["user"]),
        "target.dbname": str(parts["dbname"]),
        "target.sslmode": "disable",
    }
    reading = SettingsRegistry(CORE, PLUGIN.settings).read({**given, **more}, Resolver(Allowed(), {}))
    assert reading.values is not None, reading.problems
    return reading.values


class Trap:
    """Waits for a statement of the next apply, and then ends the backend, or the whole process."""

    def __init__(self, dsn: str) -> None:
        self.point: str | None = None
        self.ends_process = True
        self._dsn = dsn
        self._applying = False

    def arm(self, point: str) -> None:
        self.point, self._applying = point, False

    def reach(self, connection: Connection, text: str) -> None:
        self._applying = self._applying or "FOR UPDATE" in text
        here = self._applying and self.point is not None and text.lstrip().startswith(POINTS[self.point])
        self._applying = self._applying and text != "COMMITTED"
        if not here:
            return
        self.point = None
        end_backend(self._dsn, connection.info.backend_pid)
        if self.ends_process:
            raise Crash


class Trapped:
    """A connection that passes each statement to the trap before it is sent."""

    def __init__(self, connection: Connection, trap: Trap) -> None:
        self._connection = connection
        self._trap = trap

    def execute(self, query: Any, *more: Any) -> Any:
        text = query.as_string(self._connection) if isinstance(query, sql.Composable) else query
        self._trap.reach(self._connection, text)
        return self._connection.execute(query, *more)

    def commit(self) -> None:
        self._trap.reach(self._connection, "COMMIT\n")
        self._connection.commit()
        self._trap.reach(self._connection, "COMMITTED")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class PostgresWorld:
    """A target in a database of its own."""

    crash_points: tuple[str, ...] = tuple(POINTS)

    def __init__(self, dsn: str, make: "Callable[[PostgresWorld], PgTarget[Any]] | None" = None) -> None:
        self.dsn = dsn
        self.trap = Trap(dsn)
        self.settings = settings_of(dsn)
        self._make = make or plain_target
        self.target: Target[Any, Any] = self._make(self)

    def connect(self) -> Connection:
        return cast("Connection", Trapped(PgTargetServer(self.settings).connect(), self.trap))

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        return latest(changes, plan.floor)

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        shape = self.shape(table)
        if shape is None:
            return {}
        ours = shape.ours
        found = self.rows(LAYOUT.place(table).table)
        return {
            self._key(shape, row): Stored(
                {column.target: row[column.target] for column in shape.columns},
                row[ours.seq],
                row[ours.op],
                row[ours.deleted],
                frozenset(row[ours.missing] or ()),
                round(row[ours.commit_ts].timestamp() * 1000),
            )
            for row in found
        }

    def visible(self, table: TableId) -> Mapping[Key, Values]:
        shape = self.shape(table)
        if shape is None:
            return {}
        return {self._key(shape, row): row for row in self.rows(LAYOUT.place(table).view)}

    def labels_at(self, name: str) -> Sequence[object]:
        schema, table = (part.strip('"') for part in name.split(".", 1))
        return [row["label"] for row in self.rows(sql.Identifier(schema, table))]

    def seen(self, table: TableId) -> Sequence[Mapping[str, object]]:
        return self.rows(LAYOUT.place(table).view)

    def copies(self, table: TableId, columns: tuple[str, ...]) -> Mapping[Content, int]:
        return Counter(content(row, columns) for row in self.rows(LAYOUT.place(table).view))

    def crash_next_apply(self, point: str) -> None:
        self.trap.arm(point)

    def restart(self) -> None:
        self.target.close()  # what a process that ended leaves is what its connections leave
        self.trap.point = None
        self.target = self._make(self)

    def rows(self, relation: sql.Identifier) -> list[dict[str, Any]]:
        with self.reader() as reader:
            return reader.execute(sql.SQL("SELECT * FROM {}").format(relation)).fetchall()

    def sql(self, statement: str) -> list[dict[str, Any]]:
        """Run a statement as another user."""
        with self.reader() as reader:
            found = reader.execute(statement.encode())
            return found.fetchall() if found.description else []

    def reader(self) -> "psycopg.Connection[dict[str, Any]]":
        return psycopg.connect(self.dsn, autocommit=True, row_factory=psycopg.rows.dict_row)

    def shape(self, table: TableId) -> PgTargetShape | None:
        with psycopg.connect(self.dsn) as connection:
            kept = PgTargetStateTable(LAYOUT).read(connection, LAYOUT.place(table))
        return None if kept is None else kept.shape

    def _key(self, shape: PgTargetShape, row: Mapping[str, Any]) -> Key:
        names = {column.identity: column.target for column in shape.columns}
        return tuple(row[names[identity]] for identity in shape.key)


def plain_target(world: PostgresWorld) -> PgTarget[Frame]:
    """A target whose frames are those of the merge model."""
    return PgTarget(world.connect, LAYOUT, plain_lines)


def plain_lines(frame: Frame, plan: MergePlan) -> Iterator[str]:
    """Write the model's frame as copy_lines.py writes Spark's."""
    for change in frame.values():
        cells = [change.values.get(column.target) for column in plan.columns]
        at = datetime.fromtimestamp(change.commit_ts / 1000, UTC).isoformat()
        cells += [change.seq, change.op, at, change.deleted, _names(change.unsent), _names(change.missing)]
        texts = ("\\N" if cell is None else str(cell).translate(_ESCAPES) for cell in cells)
        yield "\t".join(texts) + "\n"


def end_backend(dsn: str, pid: int) -> None:
    """Let the server end a session, and wait until it is gone."""
    deadline = time.monotonic() + 10
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s)", [pid])
        while admin.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
            assert time.monotonic() < deadline, "the backend lives on"


def _names(names: frozenset[str]) -> str | None:
    return "{" + ",".join(f'"{name}"' for name in sorted(names)) + "}" if names else None
