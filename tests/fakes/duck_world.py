"""The target suite's world over DuckDB: frames are the model's, a crash comes between two statements."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fakes.duck_service import DIALECT, DuckService
from wrackline.consumers.contract.limits import LimitBreach, breach_text
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.contract.target import Target
from wrackline.consumers.staged.dialect import Primitive, StagedDialect
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.service import CarriedFiles
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import StateNames, read_state
from wrackline.consumers.staged.target import TRUST_S, StagedTarget
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

Frame = Mapping[Key, Latest]

POINTS = {  # where a crash comes: right before this statement
    "before the state moves": 'UPDATE "wrackline"."_wl_state__',
    "before what is void goes": 'DELETE FROM "wrackline"."public__',
    "before the commit": "COMMIT",
    "after the commit": "COMMITTED",
    "before the stage goes": 'DROP TABLE IF EXISTS "wrackline"."_wl_stage__',
}
OF_ONE_MERGE = {**POINTS, "before the merge": "MERGE INTO"}
OF_PARTS = {
    **POINTS,
    "before the update": 'UPDATE "wrackline"."public__',
    "before the insert": 'INSERT INTO "wrackline"."public__',
}
_ARROW = {
    Primitive.BOOLEAN: pa.bool_(),
    Primitive.BIGINT: pa.int64(),
    Primitive.DOUBLE: pa.float64(),
    Primitive.BYTES: pa.binary(),
    Primitive.TEXT: pa.string(),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ModelCarrier:
    """Writes frames of the merge model as Parquet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.known_at: Mapping[str, str] = {}  # by column, when an older change of the batch said its value

    def carry(self, frame: Frame, plan: MergePlan, columns: Sequence[StageColumn]) -> CarriedFiles:
        identities = {column.target: column.identity for column in plan.columns}
        rows = []
        for change in frame.values():
            row: dict[str, object] = {
                f"c{at}": primitive(change.values.get(column.target))
                for at, column in enumerate(plan.columns)
            }
            row |= {f"w{at}": self.known_at.get(column.target) for at, column in enumerate(plan.columns)}
            row["e"] = change.values.get(plan.ours.row)
            row["k"] = row["e"] if plan.only_adds else key_of(change, plan)
            row |= {"seq": change.seq, "op": change.op, "deleted": change.deleted}
            row["commit_us"] = change.commit_ts * 1000
            for name, listed in (("unsent", change.unsent), ("missing", change.missing)):
                ids = sorted(identities[one] for one in listed if one in identities)
                row[name] = f",{','.join(map(str, ids))}," if ids else None
            for column in columns:
                breach = None if column.limit is None else column.limit.breach(row.get(column.name))
                if breach is not None:
                    raise ValueError(breach_text(column.name, breach))
            texts = [value for column in columns if isinstance(value := row.get(column.name), str | bytes)]
            size = sum(len(one.encode() if isinstance(one, str) else one) for one in texts)
            for column in columns:
                most = None if column.limit is None else column.limit.most_row_bytes
                if most is not None and size > most:
                    raise ValueError(breach_text(column.name, LimitBreach.ROW))
            rows.append([row.get(column.name) for column in columns])
        return self.carry_rows(rows, columns)

    def carry_rows(self, rows: Sequence[Sequence[object]], columns: Sequence[StageColumn]) -> CarriedFiles:
        if not rows:
            return CarriedFiles((), 0)
        arrays = [pa.array([row[at] for row in rows], _ARROW[column.of]) for at, column in enumerate(columns)]
        file = self._folder / f"{uuid4().hex}.parquet"
        pq.write_table(pa.table(arrays, [column.name for column in columns]), file)
        return CarriedFiles((str(file),), len(rows))

    def forget(self, files: CarriedFiles) -> None:
        for address in files.addresses:
            Path(address).unlink()


def key_of(change: Latest, plan: MergePlan) -> str:
    """The hash of the source's key."""
    values = [change.values.get(name) for name in plan.key if name != plan.ours.row]
    texts = [primitive(value + 0.0 if isinstance(value, float) else value) for value in values]
    return hashlib.sha256(json.dumps(texts, default=str).encode()).hexdigest()


def primitive(value: object) -> object:
    """A value as a stage holds it."""
    match value:
        case Decimal():
            return str(value)
        case datetime():
            since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
            return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        case date():
            return (value - _EPOCH.date()).days
        case time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case _:
            return value


class DuckTrap:
    """Waits for a statement of the next apply, and ends the process there."""

    def __init__(self, points: Mapping[str, str]) -> None:
        self.texts: list[str] = []
        self._points = points
        self._point: str | None = None
        self._applying = False

    def arm(self, point: str | None) -> None:
        self._point, self._applying = point, False

    def reach(self, text: str) -> str:
        self.texts.append(text)
        self._applying = self._applying or (
            text.startswith(POINTS["before the state moves"]) and "applied =" in text
        )
        if self._applying and self._point is not None and text.startswith(self._points[self._point]):
            self._point = None
            raise Crash
        return text


class DuckWorld:
    """A target in a database in memory."""

    def __init__(
        self,
        folder: Path,
        dialect: StagedDialect = DIALECT,
        service: Callable[[StagedDialect], DuckService] = DuckService,
    ) -> None:
        self.service = service(dialect)
        points = OF_ONE_MERGE if dialect.conditional_merge else OF_PARTS
        self.crash_points: tuple[str, ...] = tuple(points)
        self.trap = DuckTrap(points)
        self.service.reach = self.trap.reach
        self.layout = StagedLayout("{schema}", "wrackline", dialect.identifiers)
        self.carrier = ModelCarrier(folder)
        self.target: Target[Any, Any] = self.open()

    def open(self, trust_s: float = TRUST_S) -> StagedTarget[Frame]:
        """Another consumer of the same tables."""
        return StagedTarget(self.service, self.layout, self.carrier, trust_s)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        return latest(changes, plan.floor)

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        shape = self.shape(table)
        if shape is None:
            return {}
        ours, names = shape.ours, {one.column.identity: one.column.target for one in shape.columns}
        rows = self.sql(f'SELECT *, epoch_ms("{ours.commit_ts}") AS committed FROM {self.path(table)}')
        found = {}
        for row in rows:
            values = {one.column.target: row[one.place] for one in shape.columns}
            missing = (row[ours.missing] or "").strip(",").split(",")
            stored = Stored(
                values,
                row[ours.seq],
                row[ours.op],
                row[ours.deleted],
                frozenset(names[int(one)] for one in missing if one),
                row["committed"],
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

    def path(self, table: TableId) -> str:
        return DIALECT.path(self.layout.place(table).table)

    def shape(self, table: TableId) -> StagedShape | None:
        place = self.layout.place(table)
        session = self.service.session()
        row = self.service.state_row(session, place.state)
        if row is None or self.service.made(session, place.table) is None:
            return None
        return read_state(row, StateNames("the table", "the state", "", "")).shape

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Run a statement as another user."""
        found = self.service.connect().execute(text)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
