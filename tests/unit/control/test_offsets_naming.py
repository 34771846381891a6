"""An edit of positions does not change how topics are named, unless the pipeline starts over."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wrackline.control.runtime.services.offsets import OffsetsService
from wrackline.producers.contract.steps import Saved
from wrackline.producers.kafka.offsets_topic import OverBroken
from wrackline.producers.kafka.takeover import Change
from wrackline.producers.reading.resume_state import ResumeState, saved_companion
from wrackline.producers.sources.postgres.log import slot_health
from wrackline.schemas.errors import Definite, OperatorNeeded
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import (
    Offset,
    OffsetsRecord,
    PositionKey,
    RecordPlace,
    SavedTableState,
    TableKey,
    canonical_json,
    parse,
)
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition, TableId

Edit = Callable[[OffsetsState, int], Sequence[Change]]

PARTITION = SourcePartition("s", "db")
KEY = PositionKey("shop", "s", "db")


class Kafka:
    """The offsets topic of a pipeline that has written under one naming."""

    def __init__(self, *written: Offset) -> None:
        self.positions = dict.fromkeys([KEY], written[0]) if written else {}

    def state(self, *, over_broken: bool = False) -> OffsetsState:
        assert not over_broken
        return OffsetsState(self.positions, {}, ())

    def prepare(self) -> None:
        pass

    def history(self) -> list[tuple[int, OffsetsRecord]]:
        return [
            (1000, OffsetsRecord(RecordPlace("history", 0, 0), KEY, offset))
            for offset in self.positions.values()
        ]

    def claim(self, _clock: object, edit: Edit, *, over_broken: OverBroken) -> None:
        assert isinstance(over_broken, bool)
        for key, value in edit(OffsetsState(self.positions, {}, ()), 2):
            offset = parse(RecordPlace("offsets", 0, 0), key, value).value
            assert isinstance(offset, Offset)
            self.positions = {KEY: offset}


def desk(
    kafka: Kafka, naming: Naming, anew: Callable[..., Saved] = lambda _, saved, newest: saved or newest
) -> OffsetsService:
    source = SimpleNamespace(
        partitions=lambda: [PARTITION],
        log_state=lambda *_: None,
        place=lambda _, saved: str(saved),
        resumable=lambda *_: None,
        anew=anew,
    )
    return OffsetsService("shop", "postgres", cast("Any", source), cast("Any", kafka), naming)


def start(kafka: Kafka, naming: Naming) -> None:
    ResumeState.of(kafka.state(), "shop", PARTITION, ()).named(naming)


EDITS: dict[str, Callable[[OffsetsService], None]] = {
    "set": lambda opened: opened.set({None: {"lsn": 7}}, force=True),
    "rewind": lambda opened: opened.rewind(datetime.now(UTC), as_new=False, force=True),
}


def _reset(opened: OffsetsService) -> None:
    opened.reset(force=True)


@pytest.mark.parametrize("edit", EDITS)
def test_after_an_edit_the_other_naming_is_still_refused(edit: str) -> None:
    kafka = Kafka(Offset(1, 1, canonical_json({"lsn": 5}), None, 0, 0, saved_companion(Naming.DEBEZIUM)))
    EDITS[edit](desk(kafka, Naming.WRACKLINE))
    start(kafka, Naming.DEBEZIUM)
    with pytest.raises(OperatorNeeded, match=r"topic.naming_changed"):
        start(kafka, Naming.WRACKLINE)


def test_a_reset_and_a_first_position_take_the_naming_of_now() -> None:
    was = Offset(1, 1, canonical_json({"lsn": 5}), None, 0, 0, saved_companion(Naming.WRACKLINE))
    for kafka, edit in [(Kafka(was), _reset), (Kafka(), EDITS["set"])]:
        edit(desk(kafka, Naming.DEBEZIUM))
        start(kafka, Naming.DEBEZIUM)


class Remembering(Kafka):
    """A topic whose position is broken, and a history of its own."""

    def __init__(self, *kept: Offset) -> None:
        super().__init__(
            Offset(1, 1, canonical_json({"epoch": "broken"}), None, 0, 0, saved_companion(Naming.WRACKLINE))
        )
        self._kept = kept

    def history(self) -> list[tuple[int, OffsetsRecord]]:
        return [(1000, OffsetsRecord(RecordPlace("history", 0, 0), KEY, offset)) for offset in self._kept]


def test_a_broken_position_is_reset_into_the_epoch_after_the_newest_kept_one() -> None:
    def anew(_: SourcePartition, saved: Saved | None, newest: Saved | None) -> Saved:
        return slot_health.anew(saved, newest, "slot")

    with pytest.raises(Definite, match=r"pg.position_unreadable"):
        desk(Remembering(), Naming.WRACKLINE, anew).reset(force=True)
    kafka = Remembering(
        Offset(1, 1, canonical_json({"epoch": 4}), None, 0, 0, saved_companion(Naming.WRACKLINE))
    )
    desk(kafka, Naming.WRACKLINE, anew).reset(force=True)
    assert kafka.positions[KEY].position == canonical_json({"epoch": 5})


def test_a_reset_of_one_database_takes_nothing_of_others_that_is_broken_and_hides_no_loss() -> None:
    """Else those would begin as if for the first time, in an epoch that the targets have behind them."""
    crm, shop = (SourcePartition("s", name) for name in ("crm", "shop"))
    offset = Offset(1, 1, canonical_json({"lsn": 5}), None, 0, 0, saved_companion(Naming.WRACKLINE))
    asked: list[object] = []

    def state(*, over_broken: object = False) -> OffsetsState:
        asked.append(over_broken)
        return OffsetsState(there, {}, ())

    def claim(_clock: object, edit: Edit, *, over_broken: object) -> None:
        edit(state(over_broken=over_broken), 2)

    history = [
        (1000, OffsetsRecord(RecordPlace("history", 0, 0), PositionKey("shop", *one), offset))
        for one in (crm, shop)
    ]
    kafka = SimpleNamespace(state=state, prepare=lambda: None, history=lambda: history, claim=claim)
    source = SimpleNamespace(partitions=lambda: [crm, shop], log_state=lambda *_: None, place=str,
                             resumable=lambda *_: None, anew=lambda *_: {"lsn": 1})  # fmt: skip
    desk = OffsetsService("shop", "postgres", cast("Any", source), cast("Any", kafka), Naming.WRACKLINE)
    there = {PositionKey("shop", *shop): offset}
    desk.reset(["crm"], force=False)
    assert asked == [{crm}] * 2
    there = {}
    with pytest.raises(Definite, match=r"offsets.lost"):
        desk.reset(["crm"], force=True)
    desk.reset(force=True)
    assert asked[-1] is True


def test_a_reset_of_one_database_leaves_the_positions_and_tables_of_the_others() -> None:
    partitions = [SourcePartition("s", name) for name in ("db", "crm", "hr")]
    written = Offset(1, 1, canonical_json({"lsn": 5}), None, 0, 0, saved_companion(Naming.WRACKLINE))
    state = OffsetsState(
        {PositionKey("shop", "s", one.database): written for one in partitions},
        {
            TableKey("shop", one, TableId(one.database, "public", "t")): SavedTableState(
                1, canonical_json({})
            )
            for one in partitions
        },
        (),
    )
    changed: list[str] = []

    def claim(_clock: object, edit: Edit, **_: object) -> None:
        changed.extend(key.decode() for key, _ in edit(state, 2))

    kafka = SimpleNamespace(state=lambda **_: state, prepare=lambda: None, history=list, claim=claim)
    source = SimpleNamespace(partitions=lambda: partitions, log_state=lambda *_: None, place=str,
                             resumable=lambda *_: None, anew=lambda *_: {"lsn": 1})  # fmt: skip
    desk = OffsetsService("shop", "postgres", cast("Any", source), cast("Any", kafka), Naming.WRACKLINE)
    desk.reset(["crm"], force=False)
    assert len(changed) == 2
    assert all("crm" in key for key in changed), changed
    with pytest.raises(OperatorNeeded, match=r"offsets.no_database"):
        desk.reset(["nosuch"], force=False)
    del changed[:]
    desk.reset(force=False)
    assert len(changed) == 6
