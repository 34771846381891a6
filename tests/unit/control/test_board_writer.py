"""What a half's writer looks at: figures when they are due, states in between."""

import time
from typing import cast

import pytest
from confluent_kafka import Producer

from tests.unit.control.test_lineage import values
from wrackline.control.runtime.board import board_writer
from wrackline.control.runtime.board.board_changes import HalfLook, LookScope
from wrackline.control.runtime.board.board_writer import _Writer
from wrackline.schemas.kafka.board_records import Half, parse_key

MOMENT = {"state": "running", "through_ms": 1}


def test_after_a_loss_no_moment_is_written_before_the_tables_that_it_counts_on() -> None:
    looks: list[LookScope] = []

    def look(scope: LookScope) -> HalfLook:
        looks.append(scope)
        return HalfLook(MOMENT, {} if scope is LookScope.STATES else {"orders": {"state": "failed"}})

    writer = _Writer(values(), Half.SOURCE, look, print, lambda _: None)

    def tables(*, ended: bool = False) -> list[str | None]:
        return [parse_key(key).table for key, _ in writer._look_now(ended=ended)]

    assert tables() == ["orders", None]
    assert tables() == []
    assert looks == [LookScope.ALL, LookScope.STATES]
    writer._lost()
    assert tables() == [], "the half alone would say that all before its moment is known"
    assert tables(ended=True) == ["orders", None]
    assert looks[2:] == [LookScope.ALL]


def test_records_that_were_due_when_something_failed_are_due_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(board_writer, "FIGURES_S", 0.01)
    look = HalfLook(MOMENT, {"orders": {"state": "failed"}})
    writer = _Writer(values(), Half.SOURCE, lambda _: look, print, lambda _: None)
    records: list[bytes] = []

    class Fails:
        def produce(self, topic: str, value: bytes | None, key: bytes, *_: object) -> None:
            del topic, value
            records.append(key)
            if len(records) == 1:
                raise ValueError
            writer.ending.set()

        def poll(self, seconds: float) -> None:
            pass

        def flush(self, seconds: float) -> None:
            pass

    writer._prepared = lambda: cast("Producer", Fails())  # type: ignore[method-assign]
    writer.run()
    assert [parse_key(key).table for key in records[:2]] == ["orders", "orders"]


def test_figures_are_due_when_those_of_all_halves_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [100.0]
    monkeypatch.setattr(time, "time", lambda: seconds[0])
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0] - 57.3)
    looks: list[LookScope] = []

    def look(scope: LookScope) -> HalfLook:
        looks.append(scope)
        return HalfLook(MOMENT, {})

    writer = _Writer(values(), Half.SOURCE, look, print, lambda _: None)
    for seconds[0] in (100.7, 101.2, 101.9, 102.0, 102.4, 103.9, 105.1, 105.9, 106.0):
        writer._look_now(ended=False)
    figures, states = LookScope.FIGURES, LookScope.STATES
    first, all_, late = LookScope.ALL, [figures, states, states], [figures, states, figures]
    assert looks == [first, states, states, *all_, *late], "a late report does not move the next one"
