"""The way of a batch that may hold anything: which reader it gets, and whether truncates are looked for."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from wrackline.consumers.contract.batch_scope import Outline, SchemaPair
from wrackline.consumers.contract.plan import MergePlan, TableMode
from wrackline.consumers.records import slow_path
from wrackline.consumers.records.slow_path import slow_newest_changes

PLAIN, EMPTIED, UNKNOWN = SchemaPair(1, 2), SchemaPair(1, 3), SchemaPair(1, 4)
OUTLINES = [
    Outline(PLAIN, "05", None, 1),
    Outline(EMPTIED, "07", "06", 2),
    Outline(UNKNOWN, "08", None, 1),
]


def plan(mode: TableMode) -> MergePlan:
    return cast("MergePlan", SimpleNamespace(mode=mode, columns=(), key=("id",), lacking=None))


@pytest.mark.parametrize(("pairs", "truncated"), [((PLAIN, EMPTIED), True), ((PLAIN,), False)])
def test_truncates_are_looked_for_where_a_schema_that_is_read_has_one(
    monkeypatch: pytest.MonkeyPatch, pairs: tuple[SchemaPair, ...], *, truncated: bool
) -> None:
    asked: dict[str, object] = {}
    monkeypatch.setattr(slow_path, "decode", lambda *_, **given: asked.update(given))
    monkeypatch.setattr(slow_path, "dedupe", lambda *_: "deduplicated")
    writers: Any = dict.fromkeys(pairs)
    found: Any = slow_newest_changes(cast("Any", None), OUTLINES, writers, plan(TableMode.UPSERT))
    assert (found, asked) == ("deduplicated", {"truncated": truncated})


@pytest.mark.parametrize("mode", [TableMode.HISTORY, TableMode.APPEND])
def test_tables_that_keep_events_get_each_of_them(monkeypatch: pytest.MonkeyPatch, mode: TableMode) -> None:
    monkeypatch.setattr(slow_path, "event_rows", lambda *_: "events")
    found: Any = slow_newest_changes(cast("Any", None), OUTLINES, cast("Any", {}), plan(mode))
    assert found == "events"
