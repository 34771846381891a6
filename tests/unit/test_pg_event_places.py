"""Where an event of PostgreSQL says that it is: its own place in the log, its order in its transaction."""

import io
import struct
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from tests.fixtures.pgoutput import update
from tests.unit.test_pgoutput_log import (
    OID,
    RELATION,
    START,
    TABLE,
    TRUNCATE,
    at,
    begin,
    commit,
    decoder,
    row,
)
from wrackline.producers.contract.steps import Commit, Rows, Saved, Step, Truncate
from wrackline.producers.sources.postgres.decode import PgDecoder
from wrackline.producers.sources.postgres.log.position import PgPosition, position_of
from wrackline.producers.sources.postgres.rows.source_record import CONNECTOR, FIELDS
from wrackline.schemas.events import envelope

SCHEMA = fastavro.parse_schema(
    envelope.value_schema(TABLE, topic="s.d.public.t", connector=CONNECTOR, source_fields=FIELDS)
)
HISTORY: Saved = {"system": "1", "timeline": 1, "slot": "s"}


def sent(place: int, message: bytes) -> bytes:
    """As the server sends it: behind a header that begins with the record's place."""
    return b"w" + struct.pack(">QQQ", place, place, 0) + message


def steps(made: PgDecoder, log: list[bytes]) -> list[Step]:
    for one in log:
        made.feed(one)
    batch = made.take()
    return [] if batch is None else list(batch.steps)


def events(found: list[Step]) -> list[dict[str, Any]]:
    values = [row[3] for step in found if isinstance(step, Rows) for row in step.rows]
    values += [step.value for step in found if isinstance(step, Truncate)]
    return [fastavro.schemaless_reader(io.BytesIO(value[5:]), SCHEMA, None) for value in values]  # type: ignore[misc]


def new_key(old: int, new: int) -> bytes:
    return update([b"%d" % new], [b"%d" % old], relation=OID)


@pytest.mark.parametrize("counted", [False, True])
def test_an_event_says_its_own_place_and_where_the_transaction_before_ended(*, counted: bool) -> None:
    log = [
        *(
            sent(10**place, message)
            for place, message in enumerate([begin(200), RELATION, row(1), row(2)], 5)
        ),
        sent(10**9 + 7, new_key(2, 3)),
        sent(10**9 + 99, row(4)),
        sent(0, commit(200)),
        *(sent(2**40, message) for message in (begin(300), row(5), TRUNCATE, commit(300))),
    ]
    found = events(steps(decoder(START, counted=counted), log))
    lsns = [10**7, 10**8, 10**9 + 7, 10**9 + 7, 10**9 + 99, 2**40, 2**40]
    assert [event["source"]["lsn"] for event in found] == lsns
    assert [event["source"]["sequence"] for event in found] == [
        *(f'[null,"{lsn}"]' for lsn in lsns[:5]),
        *(f'["210","{lsn}"]' for lsn in lsns[5:]),
    ]


def test_a_resume_says_the_same_of_the_transaction_before() -> None:
    log = [sent(150, message) for message in (begin(200), RELATION, row(1), commit(200))]
    log += [sent(250, message) for message in (begin(300), row(2), row(3), commit(300))]
    whole = steps(decoder(START), log)
    ends = [at(step.position) for step in whole if isinstance(step, Commit)]
    for place in (ends[0], replace(ends[0], lsn=300, done=1)):
        saved: Saved = {**place.saved(), **HISTORY}
        resumed = decoder(position_of(saved, "s"))
        assert events(steps(resumed, [RELATION_SENT, *log[4:]])) == events(whole)[1 + place.done :]


RELATION_SENT = sent(0, RELATION)


def test_a_position_of_an_older_version_can_be_read() -> None:
    saved: Saved = {**PgPosition(1, 5).saved(), **HISTORY}
    assert "committed" not in saved
    assert position_of(saved, "s").committed == 0


def test_an_events_order_is_that_of_what_its_transactions_end_counts() -> None:
    log = [sent(9, one) for one in (begin(200), RELATION, row(1), new_key(1, 2), row(3), TRUNCATE)]
    orders = [event["transaction"] for event in events(steps(decoder(START, counted=True), log))]
    assert [order["total_order"] for order in orders] == [1, 2, 3, 4, 5]
    assert [order["data_collection_order"] for order in orders] == [1, 2, 3, 4, 5]
    made = decoder(START, counted=True)
    made._labels = replace(made._labels, skipped=b"dt")
    orders = [event["transaction"] for event in events(steps(made, log)) if event["op"] not in "dt"]
    assert [order["total_order"] for order in orders] == [1, 2, 3]
    rest = decoder(PgPosition(1, 200, 2, 100), counted=True)
    orders = [event["transaction"] for event in events(steps(rest, log))]
    assert [order["total_order"] for order in orders] == [4, 5]


def test_a_tables_count_continues_when_the_server_describes_the_table_again() -> None:
    log = [begin(200), RELATION, row(1), row(2), RELATION, row(3), new_key(3, 4), TRUNCATE]
    oid, other = struct.pack(">I", OID), struct.pack(">I", OID + 1)
    made_again = [one.replace(oid, other) for one in (RELATION, row(5))]
    log = [sent(9, one) for one in (*log, *made_again, commit(200), begin(300), made_again[1])]
    orders = [event["transaction"] for event in events(steps(decoder(START, counted=True), log))]
    assert [order["data_collection_order"] for order in orders] == [1, 2, 3, 4, 5, 7, 1, 6]
    assert [order["total_order"] for order in orders] == [1, 2, 3, 4, 5, 7, 1, 6]
