"""Events into steps: their order, their ordinals, where a reader continues, and what is refused."""

import contextlib
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.fixtures.written_log import BEGUN, FIRST, WrittenLog
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Fault,
    Progress,
    Reshaped,
    Rows,
    Shape,
    Step,
    UnfitRow,
)
from wrackline.producers.kit.step_log import AT_ONCE
from wrackline.producers.sources.mysql.decode import MySqlDecoder
from wrackline.producers.sources.mysql.discover.facts import MySqlTableFacts
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.events.gtids import MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.follow.table_resolver import MySqlTableResolver
from wrackline.producers.sources.mysql.follow.table_tracker import MySqlCatalogueSnapshot, MySqlTableTracker
from wrackline.producers.sources.mysql.log.log_cursor import position_elsewhere
from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition, position_of
from wrackline.producers.sources.mysql.log.stream_options import MySqlStreamOptions
from wrackline.producers.sources.mysql.rows.source_record import MySqlSourceLabels
from wrackline.producers.sources.mysql.transactions.discarded import DiscardedTransactions
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.settings.filters import ColumnRules, OnUnfit
from wrackline.schemas.tables.table import TableId

SEQ = re.compile(rb"[0-9a-f]{30}")
BOTH = pytest.mark.parametrize("kind", ["mysql", "mariadb"])
T = TableId("d", "d", "t")


class FewFacts:
    """A catalogue in which only these tables are."""

    def __init__(self, *facts: MySqlTableFacts) -> None:
        self._facts = {one.table: one for one in facts}

    def facts_of(self, tables: Sequence[TableId]) -> Mapping[TableId, MySqlTableFacts]:
        return {table: self._facts[table] for table in tables if table in self._facts}

    @contextlib.contextmanager
    def asking(self) -> Iterator[Any]:
        yield self


def start_of(log: WrittenLog, *, server: str = "here") -> MySqlPosition:
    """The beginning of a log's first file."""
    gtids = MariaDbGtids() if log.mariadb else MySqlGtids()
    return MySqlPosition(1, 1, FIRST, history=MySqlHistory(server, "binlog.000001", BEGUN), gtids=gtids)


def decoder(
    log: WrittenLog,
    start: MySqlPosition | None = None,
    most: int = 1 << 20,
    *facts: MySqlTableFacts,
    cut_off: DiscardedTransactions | None = None,
    rules: ColumnRules | None = None,
) -> MySqlDecoder:
    """One that captures d.t and d.u."""
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: WriterIds(1, 2), most)
    listed = [T, T._replace(name="u")]
    explained = MySqlTableResolver(
        FewFacts(*facts).asking, MySqlShapes(rules or ColumnRules()), around, {}, 1 << 20
    )
    reading = MySqlStreamOptions("here", log.mariadb, most, 1 << 20)
    return MySqlDecoder(
        start or start_of(log),
        MySqlSourceLabels("1", "mysql", "server"),
        MySqlTableTracker(lambda table: table in listed, listed),
        explained,
        reading,
        cut_off or DiscardedTransactions(),
    )


def batches(made: MySqlDecoder, events: Sequence[bytes]) -> list[Batch]:
    """Feed events, and take what they became."""
    found = []
    for event in events:
        made.feed(event, 0, len(event))
        while (batch := made.take()) is not None:
            found.append(batch)
    return found


def steps(made: MySqlDecoder, events: Sequence[bytes]) -> list[Step]:
    return [step for batch in batches(made, events) for step in batch.steps]


def fed(log: WrittenLog, start: MySqlPosition | None = None) -> list[Step]:
    """The steps behind a place; all of the log, where that is another server's."""
    offset = FIRST if start is None or start.history is None else start.offset
    return steps(decoder(log, start), log.sent(offset))


def rows(found: Sequence[Step]) -> list[tuple[int, int]]:
    """Id and ordinal of each row."""
    made = []
    for step in found:
        for row in step.rows if isinstance(step, Rows) else ():
            assert row[2] is not None
            [seq] = SEQ.findall(row[3])
            made.append((row[2][5] >> 1, int(seq[-8:], 16)))
    return made


def ids(found: Sequence[Step]) -> list[int]:
    return [each for each, _ in rows(found)]


def places(found: Sequence[Step]) -> list[MySqlPosition]:
    made = []
    for step in found:
        if isinstance(step, Rows):
            made.append(step.upto)
        elif isinstance(step, Commit | Progress):
            made.append(step.position)
    return made  # type: ignore[return-value]  # ours


def fails(
    kind: type[WracklineError], code: str, made: MySqlDecoder, events: Sequence[bytes]
) -> WracklineError:
    with pytest.raises(kind) as raised:
        steps(made, events)
    assert raised.value.code == code
    return raised.value


@BOTH
def test_a_transaction_s_steps_come_in_this_order(kind: str) -> None:
    log = WrittenLog(kind)
    first, second = log.inserted(1, "t", 1, 2), log.inserted(2, "t", 3)
    found = fed(log)
    assert [type(step) for step in found if not isinstance(step, Progress)] == [
        Begin,
        Shape,
        Rows,
        Commit,
        Begin,
        Rows,
        Commit,
    ]
    assert [step.transaction for step in found if isinstance(step, Begin | Commit)] == [
        first,
        first,
        second,
        second,
    ]
    assert ids(found) == [1, 2, 3]
    assert places(found) == sorted(places(found))


@BOTH
def test_what_is_not_captured_costs_a_place_and_no_transaction(kind: str) -> None:
    log = WrittenLog(kind)
    log.inserted(1, "x", 1, 2)
    found = fed(log)
    assert {type(step) for step in found} == {Progress}
    assert places(found)[-1].offset == log.offset


@BOTH
def test_ordinals_count_what_is_not_captured(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    for table, each in (("x", 1), ("t", 2), ("x", 3), ("u", 4), ("t", 5)):
        log.insert(table, each, each + 10)
    log.commit()
    assert rows(fed(log)) == [(2, 2), (12, 3), (4, 6), (14, 7), (5, 8), (15, 9)]


@BOTH
def test_inside_a_transaction_what_is_out_is_passed_over(kind: str) -> None:
    log = WrittenLog(kind)
    log.inserted(1, "t", 1)
    log.begin(2)
    for table, some in (("x", (9,)), ("t", (2, 3)), ("u", (4, 5))):
        log.insert(table, *some)
    log.commit()
    log.inserted(3, "t", 6)
    whole = rows(fed(log))
    tried = 0
    for place in places(fed(log)):
        later = fed(log, position_of(place.saved()))
        assert rows(later) == whole[len(whole) - len(rows(later)) :]
        assert all(each not in ids(later) for each, ordinal in whole if place.done > ordinal > 0)
        if place.done:
            tried += 1
            assert next(step for step in later if isinstance(step, Begin)).first == place.done
    assert tried >= 2


def test_a_transaction_is_named_by_its_gtid_where_it_is_cut() -> None:
    log = WrittenLog("mysql")
    gtid = log.begin(1)
    log.insert("t", 1)
    log.insert("x", 1)
    log.insert("u", 2)
    log.commit()
    inside = [place.saved() for place in places(fed(log)) if place.done]
    assert [(place["done"], place["gtid"]) for place in inside] == [(1, gtid), (3, gtid)]


@BOTH
def test_another_server_may_send_another_transaction_first(kind: str) -> None:
    log = WrittenLog(kind)
    gtid = log.begin(1)
    log.insert("t", 1, 2)
    log.insert("u", 3)
    log.commit()
    place = next(place for place in places(fed(log)) if place.done == 2)
    there = position_elsewhere(position_of(place.saved()))
    assert there is not None

    other = WrittenLog(kind)
    other.inserted(1, "t", 7, 8, 9, domain=1 if other.mariadb else 0, by=uuid.UUID(int=7))
    other.begin(1)
    other.insert("t", 1, 2)
    other.insert("u", 3)
    other.commit()
    found = fed(other, there)
    assert ids(found) == [7, 8, 9, 3]
    begun = [(step.transaction, step.first) for step in found if isinstance(step, Begin)]
    assert begun[1] == (gtid, 2)
    assert begun[0][1] == 0

    between = next(step.position for step in found if isinstance(step, Commit))
    assert between.saved()["cut"] == {gtid: 2}
    again = fed(other, position_of(between.saved()))
    assert ids(again) == [3], "and a restart in between knows it too"
    assert "cut" not in places(found)[-1].saved()


@BOTH
def test_where_no_transaction_begins_the_log_is_another(kind: str) -> None:
    log = WrittenLog(kind)
    log.inserted(1, "t", 1)
    log.inserted(2, "t", 2)
    place = MySqlPosition(1, 1, FIRST + 1, 1, start_of(log).history, start_of(log).gtids)
    fails(Definite, "mysql.log_another", decoder(log, place), log.sent())


@BOTH
def test_a_batch_ends_with_the_row_that_fills_it(kind: str) -> None:
    log = WrittenLog(kind)
    log.inserted(1, "t", *range(50))
    made = decoder(log, most=1000)
    found = batches(made, log.sent())
    full = [batch for batch in found if batch.size >= 1000]
    assert len(full) >= 4
    largest = max(
        len(row[2] or b"") + len(row[3])
        for batch in found
        for step in batch.steps
        if isinstance(step, Rows)
        for row in step.rows
    )
    assert all(batch.size < 1000 + largest for batch in found)
    told = [step for batch in found for step in batch.steps]
    assert ids(told) == [*range(50)]
    for step in told:
        if isinstance(step, Rows):
            later = fed(log, position_of(step.upto.saved()))
            assert ids(later) == [*range(step.upto.done, 50)]  # type: ignore[attr-defined]  # ours


def test_a_payload_is_one_transaction_with_all_that_is_in_it() -> None:
    log = WrittenLog("mysql")
    log.begin(1)
    log.insert("t", 1, 2)
    log.insert("u", 3)
    log.commit()
    log.packed()
    log.inserted(2, "t", 4)
    found = fed(log)
    assert ids(found) == [1, 2, 3, 4]
    assert [type(step) for step in found if isinstance(step, Begin | Commit)] == [Begin, Commit] * 2


@BOTH
def test_an_event_that_is_not_known_is_refused_unless_it_may_be_passed_by(kind: str) -> None:
    log = WrittenLog(kind)
    log.event(150, b"something", flags=0x80)
    log.inserted(1, "t", 1)
    assert ids(fed(log)) == [1]
    log.event(150, b"something")
    fails(Definite, "mysql.event_unknown", decoder(log), log.sent())


@BOTH
def test_a_damaged_event_is_asked_for_again(kind: str) -> None:
    log = WrittenLog(kind)
    log.inserted(1, "t", 1)
    log.begin(2)
    log.insert("t", 2)
    log.damage()
    made = decoder(log)
    fails(Transient, "mysql.event_damaged", made, log.sent())
    assert made._log.at.done == 0
    assert made._log.at.offset > FIRST


@BOTH
def test_the_log_continues_in_the_next_file(kind: str) -> None:
    log = WrittenLog(kind)
    log.inserted(1, "t", 1)
    log.rotate()
    log.inserted(2, "t", 2)
    found = fed(log)
    assert ids(found) == [1, 2]
    last = places(found)[-1]
    assert (last.file, last.offset, last.history) == (
        2,
        log.offset,
        MySqlHistory("here", "binlog.000002", BEGUN + 1),
    )
    assert places(found) == sorted(places(found))


@BOTH
def test_a_file_of_another_beginning_is_another_log(kind: str) -> None:
    log = WrittenLog(kind, begun=BEGUN + 5)
    log.inserted(1, "t", 1)
    error = fails(Definite, "mysql.log_another", decoder(log), log.sent())
    assert "was created at" in error.sentence


@BOTH
def test_a_map_without_names_leaves_its_table_out_and_no_other(kind: str) -> None:
    log = WrittenLog(kind)
    log.inserted(1, "t", 1)
    log.begin(2)
    log.map("t", metadata=b"")
    log.rows("t", 2)
    log.insert("u", 3)
    log.commit()
    log.inserted(3, "t", 4)
    found = fed(log)
    [fault] = [step for step in found if isinstance(step, Fault)]
    assert (fault.table, fault.error.code) == (T, "mysql.metadata_minimal")
    assert "binlog_row_metadata = FULL" in fault.error.hint
    assert ids(found) == [1, 3]


@BOTH
def test_an_image_that_is_not_full_leaves_its_table_out_and_no_other(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.insert("t", 1)
    log.map("t")
    log.rows("t", 2, present=b"\x01")
    log.insert("u", 3)
    log.insert("t", 4)
    log.commit()
    found = fed(log)
    [fault] = [step for step in found if isinstance(step, Fault)]
    assert (fault.table, fault.error.code) == (T, "mysql.row_image")
    assert "binlog_row_image = FULL" in fault.error.hint
    assert ids(found) == [1, 3]


@BOTH
def test_inv_4_rows_before_an_event_at_fault_end_before_it_so_that_a_resume_finds_it_again(
    kind: str,
) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    good, zero = b"\x21\xd4\x0f", bytes(3)  # there is no day 0000-00-00
    log.dates("t", [good, good], [good, zero])
    log.commit()
    made = decoder(log)
    for event in log.sent():
        made.feed(event, 0, len(event))
    batch = made.take()
    assert batch is not None
    found = batch.steps
    assert [type(step) for step in found if isinstance(step, Rows | Fault)] == [Rows, Fault]
    [cut] = [step.upto for step in found if isinstance(step, Rows)]
    assert isinstance(cut, MySqlPosition)
    assert cut.done == 2
    again = steps(decoder(log, cut), log.sent())
    assert [step.table for step in again if isinstance(step, Fault)] == [T]
    assert ids(again) == []


@BOTH
def test_inv_4_a_row_that_is_set_aside_lies_between_the_rows_before_it_and_those_behind_it(kind: str) -> None:
    """A reader that resumes before it comes to it again; one that resumes behind it does not."""
    log = WrittenLog(kind)
    log.begin(1)
    good, zero = b"\x21\xd4\x0f", bytes(3)
    log.dates("t", [good], [good, zero, good])
    log.commit()
    rules = ColumnRules(unfit=OnUnfit.LETTER)
    made = decoder(log, rules=rules)
    for event in log.sent():
        made.feed(event, 0, len(event))
    batch = made.take()
    assert batch is not None
    told = [step for step in batch.steps if isinstance(step, Rows | UnfitRow)]
    assert [type(step) for step in told] == [Rows, Rows, UnfitRow, Rows, Rows]
    done = [step.upto.done for step in told if isinstance(step.upto, MySqlPosition)]
    assert done == [1, 2, 3, 3, 4]
    for step, letters in ((told[1], 1), (told[2], 0)):
        assert isinstance(step.upto, MySqlPosition)
        again = steps(decoder(log, step.upto, rules=rules), log.sent())
        assert sum(isinstance(one, UnfitRow) for one in again) == letters
        assert rows(again) == rows(told)[2:]


@BOTH
def test_a_truncated_table_that_cannot_be_published_is_set_aside_and_no_other(kind: str) -> None:
    log = WrittenLog(kind)
    log.alone(1, "TRUNCATE TABLE t")
    log.inserted(2, "u", 3)
    log.alone(3, "TRUNCATE TABLE t")
    log.inserted(4, "t", 4)
    untold = MySqlTableFacts(T, (), versioned=True)
    found = steps(decoder(log, None, 1 << 20, untold), log.sent())
    [fault] = [step for step in found if isinstance(step, Fault)]
    assert (fault.table, fault.error.code) == (T, "mysql.system_versioned")
    assert ids(found) == [3]


@BOTH
def test_a_logged_statement_stops_the_stream(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.query("UPDATE mysql.user SET x = 1")
    log.query("DELETE FROM t WHERE secret = 'word'")
    error = fails(OperatorNeeded, "mysql.statement_logged", decoder(log), log.sent())
    assert "binlog_format" in error.hint
    assert "word" not in str(error)


@BOTH
def test_rows_without_a_map_or_a_transaction_are_out_of_order(kind: str) -> None:
    """T-M02."""
    log = WrittenLog(kind)
    log.begin(1)
    log.rows("t", 1)
    fails(Definite, "mysql.log_out_of_order", decoder(log), log.sent())
    log = WrittenLog(kind)
    log.insert("t", 1)
    fails(Definite, "mysql.log_out_of_order", decoder(log), log.sent())
    log = WrittenLog(kind)
    log.begin(1)
    log.begin(2)
    fails(Definite, "mysql.log_out_of_order", decoder(log), log.sent())


def test_an_alter_of_two_phases_counts_once_where_it_is_committed() -> None:
    log = WrittenLog("mariadb")
    log.inserted(1, "t", 1)
    log.alone(2, "ALTER TABLE t MODIFY v int", extra=2)
    started = log.offset
    log.inserted(3, "u", 2)
    log.alone(4, "ALTER TABLE t MODIFY v int", extra=4)
    log.alone(5, "ALTER TABLE t ADD UNIQUE (v)", extra=2)
    log.alone(6, "ALTER TABLE t ADD UNIQUE (v)", extra=8)
    log.alone(7, "ALTER TABLE u MODIFY v int", extra=2)
    found = fed(log)
    at = [nth for nth, step in enumerate(found) if isinstance(step, Reshaped)]
    assert [found[nth].table for nth in at] == [T]  # type: ignore[union-attr]  # filtered above
    assert sum(isinstance(step, Commit) for step in found[: at[0]]) == 2, f"not at {started}"
    assert places(found)[-1].offset == log.offset


def test_a_picture_of_many_tables_is_handed_out_in_parts() -> None:
    made = decoder(WrittenLog("mysql"))
    made._roll.tables._captures = lambda _: True
    made.look(MySqlCatalogueSnapshot(0, {T._replace(name=f"n{number}"): None for number in range(AT_ONCE)}))
    found: list[Batch] = []
    while (batch := made.take()) is not None:
        found.append(batch)
    assert [len(batch.steps) for batch in found] == [AT_ONCE, 3], "two are gone, and the place follows"
