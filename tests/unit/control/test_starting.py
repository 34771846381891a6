"""The first lines of a run: what has no effect is named, and too many tables are a warning or the end."""

import io
from threading import Event
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from tests.unit.settings.shop import GOOD, checked
from wrackline.control.runtime.logs.lines import log_to
from wrackline.control.runtime.running import run as running
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.pipelines.deal import Deal, TaskShare
from wrackline.schemas.tables.table import SourcePartition, TableId

SHOP = SourcePartition("shop1", "shop")


class Stopped(Exception):  # noqa: N818 - it ends a run where a server would be asked
    """The source would be opened."""


def test_a_run_first_names_the_settings_that_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object) -> None:
        raise Stopped

    monkeypatch.setattr(running, "load", lambda _: SimpleNamespace(open=opened))
    pipeline = checked({**GOOD, "poll.interval.ms": "250", "tasks.max": "4"})
    for for_programs in (True, False):
        out = io.StringIO()
        with pytest.raises(Stopped):
            running.run(pipeline, log_to(out, for_programs=for_programs))
        if for_programs:
            told = [orjson.loads(line) for line in out.getvalue().splitlines()]
            assert [(line["level"], line["setting"], line["error"]["code"]) for line in told] == [
                ("warning", "poll.interval.ms", "settings.not_honoured"),
                ("warning", "tasks.max", "settings.not_yet"),
            ]
        else:
            assert out.getvalue().startswith("warning: [settings.not_honoured] poll.interval.ms has no")


@pytest.mark.parametrize(
    ("most", "action", "count", "outcome"),
    [("0", "fail", 99, None), ("3", "fail", 3, None), ("3", "warn", 4, "told"), ("3", "fail", 4, "raised")],
)
def test_more_tables_than_the_guardrail_are_a_warning_or_the_end(
    most: str, action: str, count: int, outcome: str | None
) -> None:
    given = {"guardrail.collections.max": most, "guardrail.collections.limit.action": action}
    values = checked({**GOOD, **given}).good()
    if outcome == "raised":
        with pytest.raises(OperatorNeeded, match="4 tables of database shop pass the filters"):
            running.check_table_count(values, SHOP, count)
    else:
        assert (running.check_table_count(values, SHOP, count) is not None) is (outcome == "told")


@pytest.mark.parametrize(("names", "lead"), [(["shop"], ""), (["shop", "crm"], "crm: ")])
def test_of_several_databases_each_line_says_whose_tables_it_counts(
    monkeypatch: pytest.MonkeyPatch, names: list[str], lead: str
) -> None:
    source = SimpleNamespace(
        partitions=lambda: [SourcePartition("shop1", name) for name in names],
        tables=lambda partition: [TableId(partition.database, "public", "orders")],
    )
    quiet = SimpleNamespace(sees=lambda *_: None)

    def stop(*_: object) -> None:
        raise Stopped

    monkeypatch.setattr(running, "ownership_of", stop)
    out, plugin = io.StringIO(), SimpleNamespace(kind="postgres")
    begin: Any = running._begin
    with pytest.raises(Stopped):
        begin(plugin, checked(GOOD).good(), source, TaskShare(Deal(0, (tuple(names),))), quiet,
              log_to(out, for_programs=False), Event())  # fmt: skip
    assert f"{lead}tables: 1 (public.orders)\n" in out.getvalue().splitlines(keepends=True)
