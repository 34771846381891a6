"""Events that are larger than a pipeline holds, and transactions: what follows, and what does not."""

import struct
from collections.abc import Sequence
from dataclasses import replace

from tests.fixtures.rows_events import WRITE, image, rows_event, sized
from tests.fixtures.written_log import WrittenLog, number_of
from tests.unit.producers.mysql.test_decode import (
    BOTH,
    FewFacts,
    decoder,
    fails,
    ids,
    rows,
    steps,
)
from tests.unit.producers.mysql.test_packets import all_of, packets, wire_of
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.contract.steps import Fault, Signal, Step
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import CUT_SIZE
from wrackline.producers.sources.mysql.follow.table_resolver import MySqlTableResolver
from wrackline.producers.sources.mysql.log.stream_options import most_event_bytes
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId

LEAST, MOST = 1024, 1_000_000_000  # of max.row.bytes
SIGNALS = TableId("d", "d", "signals")


def received(log: WrittenLog, most_row_bytes: int) -> list[Step]:
    """What comes out of a log's packets for a pipeline that holds such rows."""
    most = most_event_bytes(most_row_bytes, 8192)
    made = decoder(log)
    made._reading = replace(made._reading, most_event_bytes=most)
    return steps(made, list(all_of(packets(wire_of(log.sent()), most=most))))


@BOTH
def test_inv_2_what_a_pipeline_holds_changes_no_ordinal(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.map("x")
    row = image((struct.pack("<i", 1), sized(b"x")))
    body = rows_event(WRITE, 2, *[row] * 1000, present=b"\x03")
    log.event(WRITE, number_of("x") + body[6:])
    log.insert("t", 1, 2)
    log.commit()
    for most in (LEAST, MOST):
        assert rows(received(log, most)) == [(1, 1000), (2, 1001)]


def test_an_event_of_many_rows_is_held_however_large_the_server_makes_them() -> None:
    assert most_event_bytes(LEAST, 0) > 1 << 20  # some servers do not say
    assert most_event_bytes(LEAST, 50 << 20) > 50 << 20


@BOTH
def test_an_event_whose_rows_cannot_be_counted_has_one_whether_it_is_held_or_not(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.map("x")
    body = rows_event(WRITE, 2, bytes(5 << 20), present=b"\x01")  # not all columns are there
    log.event(WRITE, number_of("x") + body[6:])
    log.rows("x", 2, present=b"\x01")
    log.insert("t", 1)
    log.map("u")
    log.rows("u", 2, present=b"\x01")
    log.insert("t", 3)
    log.commit()
    for most in (LEAST, MOST):
        assert rows(received(log, most)) == [(1, 2), (3, 4)]


def signal_map(log: WrittenLog) -> None:
    names = sized(b"d") + b"\0" + sized(b"signals") + b"\0"
    columns = b"\x03\x0f\x0f\x0f" + sized(b"\x50\x00" * 3) + b"\x06"
    fields = {2: b"\x2d", 4: sized(b"id") + sized(b"type") + sized(b"data"), 8: b"\x00"}
    told = b"".join(bytes([number]) + sized(value) for number, value in fields.items())
    log.event(event_kinds.TABLE_MAP, number_of("signals") + b"\x01\x00" + names + columns + told)


def signal(log: WrittenLog, kind: int, *cells: bytes) -> None:
    signal_map(log)
    images = [image([sized(cell) for cell in cells])] * (2 if kind == 31 else 1)
    log.event(kind, number_of("signals") + rows_event(kind, 3, *images, present=b"\x07")[6:])


@BOTH
def test_a_signal_that_is_too_large_is_passed_over_and_those_behind_it_are_heard(kind: str) -> None:
    log, told = WrittenLog(kind), list[WracklineError]()
    log.begin(1)
    large = []
    for event in (WRITE, WRITE, 31):
        signal(log, event, b"1", b"log", b"x" * 40)
        large.append(log.events[-1])
    signal(log, WRITE, b"2", b"log", b"heard")
    log.insert("t", 1)
    log.commit()
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: WriterIds(1, 2), tell=told.append)
    made = decoder(log)
    made._explained = MySqlTableResolver(FewFacts().asking, MySqlShapes(ColumnRules()), around, {}, 1 << 20)
    made._reading = replace(made._reading, signal_table=SIGNALS)
    found = steps(made, [event[:CUT_SIZE] if event in large else event for event in log.sent()])
    assert not [step for step in found if isinstance(step, Fault)]
    assert [(step.id, step.data) for step in found if isinstance(step, Signal)] == [("2", "heard")]
    assert rows(found) == [(1, 4)]
    assert [error.code for error in told] == ["mysql.signal_too_large"]  # once a minute
    assert "d.signals" in told[0].sentence


def packed_behind(plain: Sequence[int], packed: Sequence[int]) -> WrittenLog:
    """A log of a plain transaction, and then one that MySQL compressed; an event has one row."""
    log = WrittenLog("mysql")
    log.inserted(1, "t", *plain)
    log.begin(2)
    for number in packed:
        log.insert("t", number)
    log.commit()
    log.packed()
    return log


def test_what_was_there_before_a_compressed_transaction_does_not_count_in_it() -> None:
    log = packed_behind(range(40), range(40, 50))
    all_at_once = decoder(log)
    for event in log.sent():
        all_at_once.feed(event, 0, len(event))
    batch = all_at_once.take()
    assert batch is not None
    for most in (1, batch.size - 1):  # the last packed row fills the second one's first batch
        made, found = decoder(log), list[Step]()
        made._reading = replace(made._reading, most_batch_bytes=most, most_event_bytes=batch.size // 3)
        for event in log.sent():
            made.feed(event, 0, len(event))
        while (taken := made.take()) is not None:
            found += taken.steps
        assert ids(found) == list(range(50))


def test_more_than_is_held_of_a_compressed_transaction_stops_and_says_so() -> None:
    log = packed_behind([1], range(50))
    made = decoder(log)
    made._reading = replace(made._reading, most_batch_bytes=1000, most_event_bytes=4000)
    fails(OperatorNeeded, "mysql.event_too_large", made, log.sent())
    made = decoder(log)
    made._reading = replace(made._reading, most_batch_bytes=1 << 20, most_event_bytes=4000)
    assert len(ids(steps(made, log.sent()))) == 51
