"""Signals that can't be read: their table is not captured, so it is never set aside; the others continue."""

import itertools
from dataclasses import replace

import pytest

from tests.fixtures.rows_events import WRITE
from tests.fixtures.written_log import WrittenLog
from tests.unit.producers.mysql.test_decode import BOTH, FewFacts, decoder, rows, steps
from tests.unit.producers.mysql.test_large_events import SIGNALS, signal
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.contract.steps import Fault, Signal, Step
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.follow.table_resolver import MySqlTableResolver
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.filters import ColumnRules


def read(log: WrittenLog, step_ms: int = 0) -> tuple[list[Step], list[WracklineError]]:
    """The steps of a log with signals, and what is reported beside them; the clock moves when it is asked."""
    told, clock = list[WracklineError](), itertools.count(0, step_ms)
    around = Surroundings(lambda: 0.0, lambda: next(clock), lambda _: WriterIds(1, 2), tell=told.append)
    made = decoder(log)
    made._explained = MySqlTableResolver(FewFacts().asking, MySqlShapes(ColumnRules()), around, {}, 1 << 20)
    made._reading = replace(made._reading, signal_table=SIGNALS)
    found = steps(made, log.sent())
    assert SIGNALS not in made._roll.tables.aside
    assert not [step for step in found if isinstance(step, Fault)]
    return found, told


@BOTH
@pytest.mark.parametrize("metadata", [b"", b"\x04\x09"])
def test_a_signal_table_with_an_unreadable_map_is_reported_and_not_set_aside(
    kind: str, metadata: bytes
) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    for number in range(2):
        log.map("signals", metadata=metadata + bytes(number))
        log.rows("signals", 1)
    log.insert("t", 1)
    signal(log, WRITE, b"2", b"log", b"heard")
    log.commit()
    found, told = read(log)
    assert rows(found) == [(1, 2)]
    assert [(step.id, step.data) for step in found if isinstance(step, Signal)] == [("2", "heard")]
    (error,) = told  # once a minute
    assert error.code == "mysql.signals_unread"
    assert "d.signals" in error.sentence
    assert "CREATE TABLE `d`.`signals` (id varchar(80) PRIMARY KEY" in error.hint
    assert "snapshot start" not in error.hint


@BOTH
def test_every_statement_is_counted_and_reports_come_once_a_minute(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    for _ in range(4):
        log.map("signals", metadata=b"")
        log.rows("signals", 1)
    log.commit()
    _, told = read(log, 40_000)
    assert [error.sentence.rpartition("; ")[2] for error in told] == [
        "1 statements so far",
        "3 statements so far",
    ]


@BOTH
def test_a_signal_whose_text_cant_be_read_is_passed_over_and_those_behind_it_are_heard(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    signal(log, WRITE, b"1", b"log", b"\xed\xa0\x80")  # half of a pair
    signal(log, WRITE, b"2", b"log", b"heard")
    log.insert("t", 1)
    log.commit()
    found, told = read(log)
    assert rows(found) == [(1, 2)]
    assert [(step.id, step.data) for step in found if isinstance(step, Signal)] == [("2", "heard")]
    assert [error.code for error in told] == ["mysql.signals_unread"]
