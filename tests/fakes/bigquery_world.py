"""The target suite's world over an emulator of BigQuery, which is reached by Google's own client."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.bigquery import Client, QueryJob
from google.cloud.bigquery.retry import DEFAULT_RETRY

from tests.fakes.duck_world import Frame, ModelCarrier
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.contract.target import Target
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import StateNames, read_state
from wrackline.consumers.staged.target import StagedTarget
from wrackline.consumers.targets.bigquery.dialect import DIALECT
from wrackline.consumers.targets.bigquery.partitions import KeyPartitions
from wrackline.consumers.targets.bigquery.service import BigQueryService
from wrackline.consumers.targets.bigquery.session import JobPolicy
from wrackline.consumers.targets.bigquery.types import RELATIONS
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

RETRY = DEFAULT_RETRY.with_timeout(10)  # so that a fault ends soon
_NUMBERS = itertools.count()
_SCRIPT = "BEGIN TRANSACTION"


class WatchedClient(Client):
    """Google's client, which can end the process around a query."""

    before: Callable[[str], None] = staticmethod(lambda _: None)
    behind: Callable[[str], None] = staticmethod(lambda _: None)

    def query(self, query: str, *more: Any, **named: Any) -> QueryJob:
        self.before(query)
        job = super().query(query, *more, **named)
        job.result(retry=RETRY, timeout=10, job_retry=None)
        self.behind(query)
        return job


def connect(address: str) -> WatchedClient:
    return WatchedClient(
        project="shop",
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options=ClientOptions(api_endpoint=address),
        location="US",
    )


class BigQueryWorld:
    """A target in datasets of its own."""

    crash_points: tuple[str, ...] = ("before the script", "behind the script", "before the stage goes")

    def __init__(self, address: str, folder: Path) -> None:
        self.client = connect(address)
        self.service = BigQueryService(self.client, KeyPartitions(1000), JobPolicy(10, {"wrackline": "test"}))
        number = next(_NUMBERS)
        self.layout = StagedLayout(f"w{number}_{{schema}}", f"w{number}_wrackline", RELATIONS)
        self.carrier = ModelCarrier(folder)
        self.texts: list[str] = []
        self.client.before = self.texts.append
        self.target: Target[Any, Any] = self.open()

    def open(self) -> StagedTarget[Frame]:
        """Another consumer of the same tables."""
        return StagedTarget(self.service, self.layout, self.carrier)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        return latest(changes, plan.floor)

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        shape = self.shape(table)
        if shape is None:
            return {}
        ours, names = shape.ours, {one.column.identity: one.column.target for one in shape.columns}
        path = DIALECT.path(self.layout.place(table).table)
        rows = self.sql(f"SELECT *, UNIX_MILLIS(`{ours.commit_ts}`) AS committed FROM {path}")
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
        beginning = "DROP TABLE" if point == "before the stage goes" else _SCRIPT

        def crash(text: str) -> None:
            if text.startswith(beginning):
                self._quiet()
                raise Crash

        self._quiet()
        if point == "behind the script":
            self.client.behind = crash
        else:
            self.client.before = crash

    def restart(self) -> None:
        self._quiet()
        self.target = self.open()  # the other one ends as a process does: nothing of it is closed

    def _quiet(self) -> None:
        self.client.before = self.texts.append
        self.client.behind = lambda _: None

    def shape(self, table: TableId) -> StagedShape | None:
        place = self.layout.place(table)
        session = self.service.session()
        row = self.service.state_row(session, place.state)
        if row is None or self.service.made(session, place.table) is None:
            return None
        return read_state(row, StateNames("the table", "the state", "", "")).shape

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Run a statement as another user."""
        job = Client.query(self.client, text, retry=RETRY, timeout=10, job_retry=None)
        return [dict(row.items()) for row in job.result(retry=RETRY, timeout=10, job_retry=None)]
