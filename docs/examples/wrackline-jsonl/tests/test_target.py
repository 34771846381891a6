"""Files of JSON lines keep the target contract."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from wrackline_jsonl.files import Folder
from wrackline_jsonl.target import JsonLines

from wrackline.consumers.contract.plan import MergePlan
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.merge_model import Change, Key, Stored, Values, latest
from wrackline.testing.targets.target_suite import Crash, TargetSuite


class FrameOfChanges:
    """The newest changes, as a DataFrame of Spark shows them to the target."""

    def __init__(self, changes: Sequence[Change], plan: MergePlan) -> None:
        self._changes, self._plan = latest(changes, plan.floor), plan

    def selectExpr(self, *_: str) -> "FrameOfChanges":  # noqa: N802 - Spark's name
        return self

    def toLocalIterator(self) -> Iterator[Mapping[str, Any]]:  # noqa: N802 - Spark's name
        for one in self._changes.values():
            yield {
                "row": {**dict.fromkeys(column.target for column in self._plan.columns), **one.values},
                "seq": one.seq,
                "op": one.op,
                "deleted": one.deleted,
                "committed_ms": one.commit_ts,
                "unsent": sorted(one.unsent),
                "missing": sorted(one.missing),
            }


class JsonLinesWorld:
    """A folder, which outlives the target."""

    crash_points = ("before the commit", "after the commit")

    def __init__(self, path: Path) -> None:
        self._path, self._crash = path, ""
        self.restart()

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        return FrameOfChanges(changes, plan)

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        found = Folder(self._path).read(table)
        rows = {} if found is None else found.rows
        return {
            key: Stored(row.values, row.seq, row.op, row.deleted, row.missing, row.committed_ms)
            for key, row in rows.items()
        }

    def visible(self, table: TableId) -> Mapping[Key, Values]:
        rows = self.stored(table).items()
        return {key: row.values for key, row in rows if not row.deleted and not row.missing}

    def crash_next_apply(self, point: str) -> None:
        self._crash = point

    def restart(self) -> None:
        self.target = JsonLines(Folder(self._path, self._reach))

    def _reach(self, point: str) -> None:
        if point == self._crash:
            self._crash = ""
            raise Crash


class TestJsonLines(TargetSuite):
    @pytest.fixture
    def world(self, tmp_path: Path) -> JsonLinesWorld:
        return JsonLinesWorld(tmp_path / "copy")
