"""The target suite's world over Google's emulator of Spanner, which is reached by Google's own client.

What it does otherwise than Spanner is described in EMULATORS.md: sp-one, sp-rights, sp-definer, sp-counts.
"""

import itertools
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from google.cloud.spanner_v1 import KeySet
from google.cloud.spanner_v1.client import Client
from google.cloud.spanner_v1.transaction import Transaction

from tests.fakes.duck_world import Frame, ModelCarrier
from wrackline.consumers.contract.plan import END, START, MergePlan
from wrackline.consumers.contract.target import Target
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import StateNames, read_state
from wrackline.consumers.targets.spanner.chunks import ChunkLimits
from wrackline.consumers.targets.spanner.commits import SpannerCommits
from wrackline.consumers.targets.spanner.config import INVOKER
from wrackline.consumers.targets.spanner.session import SpannerSession, full_name
from wrackline.consumers.targets.spanner.target import SpannerTarget
from wrackline.consumers.targets.spanner.types import IDENTIFIERS, legal
from wrackline.control.local.emulators.spanner import make_database
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.merge_model import Change, Content, Key, Stored, Values, content, latest
from wrackline.testing.targets.target_suite import Crash

T = TypeVar("T")

BEFORE, AFTER = "before the commit", "after the commit"
_NUMBERS = itertools.count()


@dataclass
class CommitWatch:
    """Sees each transaction, and can end the process around one."""

    point: str | None = None
    passes: int = 0  # commits before the one at which the process ends
    works: int = 0  # transactions that were begun, also those that began again
    meets: Callable[[Transaction], None] | None = None  # what happens before each commit


@dataclass(frozen=True)
class WatchedSession(SpannerSession):
    """A session that is watched."""

    watch: CommitWatch = field(default_factory=CommitWatch)

    def together(self, work: Callable[[Transaction], T]) -> T:
        watch = self.watch

        def watched(transaction: Transaction) -> T:
            watch.works += 1
            done = work(transaction)
            if watch.meets is not None:
                watch.meets(transaction)
            if watch.passes == 0:
                self._reach(BEFORE)
            return done

        done = super().together(watched)
        if watch.passes == 0:
            self._reach(AFTER)
        watch.passes = max(0, watch.passes - 1)
        return done

    def _reach(self, point: str) -> None:
        if self.watch.point == point:
            self.watch.point = None
            raise Crash


class SpannerWorld:
    """A target in a database of its own."""

    crash_points: tuple[str, ...] = (BEFORE, AFTER)

    def __init__(
        self, client: Client, folder: Path, limits: ChunkLimits | None = None, patience_s: float = 30.0
    ) -> None:
        self.patience_s = patience_s
        self.client, self.database = client, make_database(client, f"world{next(_NUMBERS)}")
        self.layout = StagedLayout("{database}_{schema}", "wrackline", IDENTIFIERS)
        self.carrier = ModelCarrier(folder)
        self.limits, self.watch = limits, CommitWatch()
        self.user = SpannerSession(self.client, self.database, 30.0)  # who reads what there is
        self.target: Target[Any, Any] = self.open()

    def open(self) -> SpannerTarget[Frame]:
        """Another consumer of the same tables."""
        session = WatchedSession(self.client, self.database, self.patience_s, watch=self.watch)
        return SpannerTarget(session, self.layout, self.carrier, INVOKER, self.limits)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        return latest(changes, plan.floor)

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        shape = self.shape(table)
        if shape is None:
            return {}
        ours, names = shape.ours, {one.column.identity: one.column.target for one in shape.columns}
        marks = [legal(one) for one in (ours.seq, ours.op, ours.deleted, ours.missing, ours.commit_ts)]
        places = [legal(one.place) for one in shape.columns]
        place = self.layout.place(table).table
        rows = self.user.read(place, [*places, *marks], KeySet(all_=True))
        found = {}
        for row in rows:
            values = dict(zip(names.values(), row, strict=False))
            seq, op, deleted, missing, committed = row[len(places) :]
            without = frozenset(names[int(one)] for one in (missing or "").split(",") if one)
            stored = Stored(values, seq, op, deleted, without, round(committed.timestamp() * 1000))
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
        """Return what the view shows; the suite names our columns with an underscore in front."""
        rows = self.sql(f"SELECT * FROM {full_name(self.layout.place(table).view)}")
        return [{_named(name): one for name, one in row.items()} for row in rows]

    def copies(self, table: TableId, columns: tuple[str, ...]) -> Mapping[Content, int]:
        return Counter(content(row, columns) for row in self.seen(table))

    def crash_next_apply(self, point: str) -> None:
        target: Any = self.target
        apply = target.apply

        def armed(*batch: object) -> None:
            self.watch.point = point
            apply(*batch)

        target.apply = armed

    def restart(self) -> None:
        self.watch.point = None
        self.target = self.open()  # the other one ends as a process does: nothing of it is closed

    def shape(self, table: TableId) -> StagedShape | None:
        place = self.layout.place(table)
        row = SpannerCommits(self.user, self.layout.letters.schema, ChunkLimits()).read(place)
        if row is None or self.user.made(place.table) is None:
            return None
        return read_state(row, StateNames("the table", "the state", "", "")).shape

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Ask as another user."""
        with self.database.snapshot() as snapshot:
            found = snapshot.execute_sql(text)
            rows = list(found)
            names = [one.name for one in found.fields]
        return [{n: plain(v) for n, v in zip(names, row, strict=True)} for row in rows]


def _named(name: str) -> str:
    """Name a view's column as the suite does, because Spanner lets no name begin with an underscore."""
    return {"wl_start_at": START, "wl_end_at": END}.get(name, f"_{name}" if name.startswith("wl_") else name)


def plain(value: object) -> object:
    """A value as the suite has it: the client shows bytes as base64."""
    return b64decode(value) if isinstance(value, bytes) else value
