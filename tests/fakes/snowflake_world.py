"""The target suite's world over an emulator of Snowflake, which is reached by Snowflake's own driver."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from snowflake.connector import SnowflakeConnection
from snowflake.connector.cursor import SnowflakeCursor

from tests.fakes.duck_world import Frame, ModelCarrier
from wrackline.consumers.contract.identifiers import Case
from wrackline.consumers.contract.plan import END, START, MergePlan
from wrackline.consumers.contract.target import Target
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import StateNames, read_state
from wrackline.consumers.staged.target import StagedTarget
from wrackline.consumers.targets.snowflake.check import SnowflakeFacts
from wrackline.consumers.targets.snowflake.connect import SnowflakeAccount
from wrackline.consumers.targets.snowflake.dialect import DIALECT, IDENTIFIERS
from wrackline.consumers.targets.snowflake.service import SnowflakeService
from wrackline.consumers.targets.snowflake.session import SnowflakeSession
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.merge_model import Change, Content, Key, Stored, Values, content, latest
from wrackline.testing.targets.target_suite import Crash

_NUMBERS = itertools.count()
_AS_THE_SUITE_HAS_IT = {name.lower(): name for name in (START, END)}  # every other name of it is lower case
_BEGINNINGS = {
    "before the transaction": "BEGIN",
    "before the merge": "MERGE INTO",
    "before the commit": "COMMIT",
    "behind the commit": "DROP TABLE IF EXISTS",
}


class StatementWatch:
    """Sees each statement before it is sent, and can end the process there."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.beginning: str | None = None

    def see(self, text: str) -> None:
        self.texts.append(text)
        if self.beginning is not None and text.startswith(self.beginning):
            self.beginning = None
            raise Crash


class NamesAsTheyCome(SnowflakeService):
    """The service with the suite's names in the plan; quotes make them upper case in every statement."""

    @property
    def dialect(self) -> StagedDialect:
        return replace(DIALECT, identifiers=replace(IDENTIFIERS, case=Case.KEEP))


class SnowflakeWorld:
    """A target in schemas of its own."""

    crash_points: tuple[str, ...] = tuple(_BEGINNINGS)

    def __init__(self, account: SnowflakeAccount, folder: Path) -> None:
        self.account, self.watch = account, StatementWatch()
        self.service = NamesAsTheyCome(self.connect, SnowflakeFacts("FAKESNOW_WAREHOUSE", "SHOP", 1_000_000))
        number = next(_NUMBERS)
        self.layout = StagedLayout(f"w{number}_{{schema}}", f"w{number}_wrackline", DIALECT.identifiers)
        self.carrier = ModelCarrier(folder)
        self.target: Target[Any, Any] = self.open()
        self.user = account.connect()  # who reads what there is

    def connect(self) -> SnowflakeConnection:
        """Connect as the target does, and watch."""
        connection = self.account.connect()
        watch = self.watch

        class WatchedCursor(SnowflakeCursor):
            def execute(self, command: str, *more: Any, **named: Any) -> Any:
                watch.see(command)
                return super().execute(command, *more, **named)

        connection.cursor = partial(connection.cursor, WatchedCursor)  # type: ignore[assignment, method-assign]
        return connection

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
        path, quoted = DIALECT.path(self.layout.place(table).table), DIALECT.quoted
        committed = f"DATE_PART(EPOCH_MILLISECOND, {quoted(ours.commit_ts)})"
        rows = self.sql(f'SELECT *, {committed} AS "committed" FROM {path}')
        found = {}
        for row in rows:
            values = {one.column.target: row[one.place.lower()] for one in shape.columns}
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
        rows = self.sql(f"SELECT * FROM {DIALECT.path(self.layout.place(table).view)}")
        return [{_AS_THE_SUITE_HAS_IT.get(name, name): value for name, value in row.items()} for row in rows]

    def copies(self, table: TableId, columns: tuple[str, ...]) -> Mapping[Content, int]:
        return Counter(content(row, columns) for row in self.seen(table))

    def crash_next_apply(self, point: str) -> None:
        self.watch.beginning = _BEGINNINGS[point]

    def restart(self) -> None:
        self.watch.beginning = None
        self.target = self.open()  # the other one ends as a process does: nothing of it is closed

    def shape(self, table: TableId) -> StagedShape | None:
        place = self.layout.place(table)
        session = SnowflakeSession(lambda: self.user)
        row = self.service.state_row(session, place.state)
        if row is None or self.service.made(session, place.table) is None:
            return None
        return read_state(row, StateNames("the table", "the state", "", "")).shape

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Run a statement as another user."""
        cursor = self.user.cursor()
        cursor.execute(text)
        names = [column[0].lower() for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def close(self) -> None:
        self.target.close()
        self.user.close()
