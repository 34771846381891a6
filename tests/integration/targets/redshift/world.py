"""The target suite's world on the stand-in for Redshift: the driver, S3, a PostgreSQL behind a front.

A crash is a real one: between two statements of `apply` the server ends its backend, and the target's
process is left where it stands.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests.fakes.duck_world import ModelCarrier
from tests.fakes.redshift_settings import values
from tests.integration.targets.postgres.world import end_backend
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.contract.target import Target
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import StateNames, read_state
from wrackline.consumers.staged.target import TRUST_S
from wrackline.consumers.targets.redshift import dialect
from wrackline.consumers.targets.redshift.carrier import StoreCarrier
from wrackline.consumers.targets.redshift.connect import read_cluster
from wrackline.consumers.targets.redshift.service import RedshiftService
from wrackline.consumers.targets.redshift.session import CopyRole
from wrackline.consumers.targets.redshift.store import open_store
from wrackline.consumers.targets.redshift.target import RedshiftTarget
from wrackline.control.local.emulators.redshift_front import RedshiftFront
from wrackline.schemas.settings import settings_registry
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.merge_model import (
    Change,
    Content,
    Key,
    Stored,
    Values,
    content,
    latest,
)
from wrackline.testing.targets.target_suite import Crash

POINTS = {  # where a crash comes: right before this statement
    "before the lock": 'LOCK TABLE "wrackline"."_wl_state__',
    "before the state moves": 'UPDATE "wrackline"."_wl_state__',
    "before what is void goes": 'DELETE FROM "wrackline"."public__',
    "before the update": 'UPDATE "wrackline"."public__',
    "before the insert": 'INSERT INTO "wrackline"."public__',
    "before the commit": "COMMIT",
    "after the commit": "COMMITTED",
    "before the stage goes": 'DROP TABLE IF EXISTS "wrackline"."_wl_stage__',
}
# names of 63 bytes at most, because of what is behind it; EMULATORS.md: rs-names
DIALECT = replace(
    dialect.DIALECT, identifiers=replace(dialect.IDENTIFIERS, most_characters=63, most_bytes=63)
)
ROLE = CopyRole("arn:aws:iam::123456789012:role/copies")


class RedshiftTrap:
    """Waits for a statement of the next apply, and then ends the backend."""

    def __init__(self, dsn: str) -> None:
        self.texts: list[str] = []
        self.point: str | None = None
        self.ends_process = True
        self._dsn, self._applying = dsn, False

    def arm(self, point: str | None) -> None:
        self.point, self._applying = point, False

    def reach(self, text: str, pid: int) -> None:
        self.texts.append(text)
        self._applying = self._applying or text.startswith(POINTS["before the lock"])
        if self.point is None or not self._applying or not text.startswith(POINTS[self.point]):
            return
        self.point = None
        end_backend(self._dsn, pid)
        if self.ends_process:
            raise Crash


class TrappedConnection:
    """A connection whose cursors pass each statement to the trap before it is sent."""

    def __init__(self, connection: Any, trap: RedshiftTrap) -> None:
        self._connection, self._trap = connection, trap
        cursor = connection.cursor()
        cursor.execute("SELECT pg_backend_pid()")
        self._pid = int(cursor.fetchone()[0])

    def cursor(self) -> "TrappedCursor":
        return TrappedCursor(self._connection.cursor(), self._trap, self._pid)

    def close(self) -> None:
        self._connection.close()


class TrappedCursor:
    """A cursor of it."""

    def __init__(self, cursor: Any, trap: RedshiftTrap, pid: int) -> None:
        self._cursor, self._trap, self._pid = cursor, trap, pid

    def execute(self, text: str) -> None:
        self._trap.reach(text, self._pid)
        self._cursor.execute(text)
        if text == "COMMIT":
            self._trap.reach("COMMITTED", self._pid)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class FrontService(RedshiftService):
    """Redshift's service with names as short as the server behind wants them.  EMULATORS.md: rs-names."""

    @property
    def dialect(self) -> StagedDialect:
        return DIALECT


class RedshiftWorld:
    """A target in a database of its own."""

    crash_points: tuple[str, ...] = tuple(POINTS)

    def __init__(self, dsn: str, endpoint: str, folder: Path) -> None:
        self.dsn, self.endpoint = dsn, endpoint
        self.bucket = f"b{uuid4().hex}"
        self.store = open_store(values(**self.in_the_store()))
        self.store.client.create_bucket(Bucket=self.bucket)
        self.front = RedshiftFront(dsn, self._object)
        self.trap = RedshiftTrap(dsn)
        self.layout = StagedLayout("{schema}", "wrackline", DIALECT.identifiers)
        self.carrier = StoreCarrier(self.store, ModelCarrier(folder))
        self.connections: list[TrappedConnection] = []
        self.target: Target[Any, Any] = self.open()

    def open(self, trust_s: float = TRUST_S) -> RedshiftTarget[Any]:
        """Another consumer of the same tables."""
        return RedshiftTarget(FrontService(self.connect, ROLE), self.layout, self.carrier, trust_s)

    def settings(self, **more: str) -> settings_registry.Values:
        """What a pipeline's file would say."""
        return values(**{**self.address(), **self.in_the_store(), **more})

    def address(self) -> dict[str, str]:
        fields = psycopg.conninfo.conninfo_to_dict(self.dsn)
        return {
            "hostname": "127.0.0.1",
            "port": str(self.front.port),
            "user": str(fields["user"]),
            "dbname": str(fields["dbname"]),
            "sslmode": "disable",
        }

    def in_the_store(self) -> dict[str, str]:
        return {
            "stage": f"s3://{self.bucket}/batches",
            "storage.fs.s3a.endpoint": self.endpoint,
            "storage.fs.s3a.endpoint.region": "us-east-1",
            "storage.fs.s3a.path.style.access": "true",
            "storage.fs.s3a.access.key": "a",
            "storage.fs.s3a.secret.key": "b",
        }

    def files(self) -> list[str]:
        """What lies in the store."""
        found = self.store.client.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return [one["Key"] for one in found]

    def connect(self, **more: str) -> Any:
        connection = read_cluster(self.settings(**more)).connect()
        self.connections.append(TrappedConnection(connection, self.trap))
        return self.connections[-1]

    def _object(self, bucket: str, key: str) -> bytes:
        found: bytes = self.store.client.get_object(Bucket=bucket, Key=key)["Body"].read()
        return found

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        return latest(changes, plan.floor)

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        shape = self.shape(table)
        if shape is None:
            return {}
        ours, names = shape.ours, {one.column.identity: one.column.target for one in shape.columns}
        found = {}
        rows = self.sql(f"SELECT * FROM {DIALECT.path(self.layout.place(table).table)}")
        for row in rows:
            values = {one.column.target: row[one.place] for one in shape.columns}
            missing = (row[ours.missing] or "").strip(",").split(",")
            stored = Stored(
                values,
                row[ours.seq],
                row[ours.op],
                row[ours.deleted],
                frozenset(names[int(one)] for one in missing if one),
                round(row[ours.commit_ts].timestamp() * 1000),
            )
            found[tuple(values[names[identity]] for identity in shape.key)] = stored
        assert len(found) == len(rows), "a key is there twice"
        return found

    def visible(self, table: TableId) -> Mapping[Key, Values]:
        shape = self.shape(table)
        if shape is None:
            return {}
        names = {one.column.identity: one.column.target for one in shape.columns}
        return {tuple(row[names[identity]] for identity in shape.key): row for row in self.seen(table)}

    def labels_at(self, name: str) -> Sequence[object]:
        raise AssertionError(f"{name}: no table is set aside here")

    def seen(self, table: TableId) -> Sequence[Mapping[str, object]]:
        return self.sql(f"SELECT * FROM {DIALECT.path(self.layout.place(table).view)}")

    def copies(self, table: TableId, columns: tuple[str, ...]) -> Mapping[Content, int]:
        return Counter(content(row, columns) for row in self.seen(table))

    def crash_next_apply(self, point: str) -> None:
        self.trap.arm(point)

    def restart(self) -> None:
        self.trap.arm(None)
        self.target = self.open()  # the other one ends as a process does: nothing of it is closed

    def shape(self, table: TableId) -> StagedShape | None:
        place = self.layout.place(table)
        service = RedshiftService(self.connect, ROLE)
        session = service.session()
        row = service.state_row(session, place.state)
        there = row is not None and service.made(session, place.table) is not None
        session.close()
        names = StateNames("the table", "the state", "", "")
        return read_state(row, names).shape if row is not None and there else None

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Run a statement as another user of the database, past the front."""
        with psycopg.connect(self.dsn, autocommit=True, row_factory=psycopg.rows.dict_row) as reader:
            reader.execute("SET extra_float_digits TO 1")  # all digits of a double; EMULATORS.md: rs-floats
            found = reader.execute(text.encode())
            return found.fetchall() if found.description else []

    def close(self) -> None:
        self.target.close()
        for one in self.connections:
            with suppress(Exception):  # most are closed already
                one.close()
        self.front.close()
        self.store.client.close()
