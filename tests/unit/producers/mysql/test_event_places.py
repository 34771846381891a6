"""Where an event of MySQL or MariaDB says that it is: in its binlog, and in its transaction."""

import io
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import fastavro

from tests.fixtures.rows_events import UPDATE, image, rows_event, sized
from tests.fixtures.written_log import WrittenLog, number_of
from tests.unit.producers.mysql.test_decode import BOTH, T, decoder, steps
from wrackline.producers.contract.steps import Rows, Shape, Step
from wrackline.producers.sources.mysql.rows.source_record import FIELDS
from wrackline.schemas.events import envelope


def events(found: Sequence[Step]) -> list[dict[str, Any]]:
    shapes = {step.ref: step.table for step in found if isinstance(step, Shape)}
    made = []
    for ref, _, _, value, _ in (row for step in found if isinstance(step, Rows) for row in step.rows):
        schema = envelope.value_schema(shapes[ref], topic="s.d.d.t", connector="mysql", source_fields=FIELDS)
        made.append(fastavro.schemaless_reader(io.BytesIO(value[5:]), fastavro.parse_schema(schema), None))
    return made  # type: ignore[return-value]  # records


@BOTH
def test_an_event_says_where_its_rows_begin_and_which_of_them_it_is(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    places = []
    for some in ((1, 2), (3,)):
        log.map("t")
        places += [log.offset] * len(some)
        log.rows("t", *some)
    log.commit()
    sources = [event["source"] for event in events(steps(decoder(log), log.sent()))]
    assert [source["pos"] for source in sources] == places
    assert [source["row"] for source in sources] == [0, 1, 0]
    assert {source["sequence"] for source in sources} == {None}


@BOTH
def test_an_events_order_is_that_of_what_its_transactions_end_counts(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    for table, some in (("x", (1, 2)), ("t", (3, 4)), ("u", (5,)), ("t", (6,))):
        log.insert(table, *some)
    log.commit()
    made = decoder(log)
    made._labels = replace(made._labels, counted=True)
    found = steps(made, log.sent())
    orders = [event["transaction"] for event in events(found)]
    assert [order["total_order"] for order in orders] == [1, 2, 3, 4]
    assert [order["data_collection_order"] for order in orders] == [1, 2, 1, 3]
    inside: Any = next(step.upto for step in found if isinstance(step, Rows))
    rest = decoder(log, replace(inside, done=3))
    rest._labels = replace(rest._labels, counted=True)
    assert events(steps(rest, log.sent(inside.offset))) == events(found)[1:]
    assert T.name == "t"


@BOTH
def test_a_batch_that_ends_behind_updates_without_a_change_is_resumed_behind_them(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.map("t")
    images = ((1, b"x"), (1, b"x"), (2, b"x"), (2, b"y"), (3, b"x"), (3, b"y"))
    rows = (image((struct.pack("<i", number), sized(value))) for number, value in images)
    log.event(UPDATE, number_of("t") + rows_event(UPDATE, 2, *rows, present=b"\x03")[6:])
    log.commit()
    made = decoder(log, most=1)
    made._explained._changed_only = True  # type: ignore[attr-defined]  # a setting's
    found = [step for step in steps(made, log.sent()) if isinstance(step, Rows)]
    assert [(step.upto.done, len(step.rows)) for step in found] == [(2, 1), (3, 1)]  # type: ignore[attr-defined]
