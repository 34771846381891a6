"""What a deletion finds, over a source and a Kafka that are made up: what goes, and what never does."""

import time
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.services import deletion_plan
from wrackline.control.runtime.services.deletion_plan import (
    DeletionPlan,
    DeletionRequest,
    PipelineParts,
    plan_deletion,
)
from wrackline.producers.contract.optional_parts import ServerObject
from wrackline.producers.kafka import topic_deletion
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.kafka.board_records import ALIVE_S, Board, BoardKey, Half, encode
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Offset, PositionKey, canonical_json
from wrackline.schemas.tables.table import SourcePartition, TableId

PARTITION = SourcePartition("s", "db")
ORDERS = TableId("db", "public", "orders")
SLOT = ServerObject("replication slot a", "drop it", 5)
POSITION = {"lsn": "0/1"}
INTERNAL = ["wrackline-shop-requests", "wrackline-shop-offset-history", "wrackline-shop-offsets"]
DATA = ["s.db.public.orders", "s", "s-signal"]


class Source:
    """A source that has this on its server."""

    def __init__(self, *kept: ServerObject) -> None:
        self.has, self.asked = kept, list[Any]()

    def partitions(self) -> list[SourcePartition]:
        return [PARTITION]

    def tables(self, partition: SourcePartition) -> list[TableId]:
        assert partition == PARTITION
        return [ORDERS]

    def kept(self, partition: SourcePartition, saved: object) -> tuple[ServerObject, ...]:
        self.asked.append((partition, saved))
        return self.has

    def remove(self, partition: SourcePartition, saved: object) -> None:
        raise AssertionError((partition, saved))


def state(connector: str = "shop") -> OffsetsState:
    offset = Offset(1, 1, canonical_json(POSITION), None, 0, 0)
    return OffsetsState({PositionKey(connector, "s", "db"): offset}, {}, ())


def found(
    monkeypatch: pytest.MonkeyPatch,
    source: object,
    there: list[str],
    *,
    stored: OffsetsState | None = None,
    target: object = None,
    written: int | None = 1,
    wanted: DeletionRequest | None = None,
    naming: str = "wrackline",
    board: Board | None = None,
) -> DeletionPlan:

    def asked(*, over_broken: bool) -> OffsetsState:
        assert over_broken, "records that can't be read must stop no deletion"
        return stored or state()

    monkeypatch.setattr(topic_deletion, "list_topics", lambda _: frozenset(there))

    def read_board(_: object) -> Board:  # each time anew, as from Kafka
        read = Board()
        known = (board or read).half("shop", Half.TARGET)
        if known.report:
            read.apply(BoardKey("shop", Half.TARGET).encode(), orjson.dumps(known.report), known.heard_ms)
        return read

    monkeypatch.setattr(deletion_plan, "read_board", read_board)
    texts = {
        "name": "shop",
        "topic.prefix": "s",
        "topic.naming": naming,
        "topic.heartbeat.prefix": "__debezium-heartbeat",
    }
    values = SimpleNamespace(text=texts.__getitem__, integer=lambda _: 0)
    ownership = SimpleNamespace(state=asked, last_written_ms=lambda: written)
    at = cast(
        "PipelineParts",
        SimpleNamespace(values=values, name="shop", source=source, ownership=ownership, admin=0),
    )
    at = cast("PipelineParts", SimpleNamespace(**{**vars(at), "target": target}))
    pipeline = cast("Any", SimpleNamespace(target=None if target is None else "made-up"))
    return plan_deletion(at, pipeline, wanted or DeletionRequest(topics=True, tables=True))


def test_what_grows_goes_first_and_the_positions_last(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(SLOT)
    goes = found(monkeypatch, source, ["x", *DATA, *INTERNAL]).goes
    assert goes[0] == "replication slot a"
    assert goes[-1] == "topic wrackline-shop-offsets"
    assert sorted(goes[1:-3]) == sorted(f"topic {topic}" for topic in DATA)
    assert source.asked == [(PARTITION, POSITION)]


def test_a_pipeline_that_left_nothing_has_nothing_to_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        found(monkeypatch, Source(), ["x", "wrackline-shop-2-offsets"], stored=OffsetsState({}, {}, ())).goes
        == []
    )


@pytest.mark.parametrize("stored", [OffsetsState({}, {}, ()), state("another")])
def test_without_a_position_of_the_pipeline_no_data_goes(
    monkeypatch: pytest.MonkeyPatch, stored: OffsetsState
) -> None:
    seen = found(monkeypatch, Source(), [*DATA, *INTERNAL], stored=stored)
    assert seen.topics == ()
    assert any("s.db.public.orders" in left.name for left in seen.left)


def test_where_others_share_the_prefix_the_control_topics_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = found(monkeypatch, Source(), [*DATA, "s.other.public.t", *INTERNAL])
    assert seen.topics == ("s.db.public.orders",)
    assert {"topics s.other.public.t", "topics s, s-signal"} <= {left.name for left in seen.left}


def test_a_pipeline_object_that_is_in_use_stops_the_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    held = ServerObject("replication slot a", "drop it", held_by="somebody")
    with pytest.raises(OperatorNeeded, match="shop runs"):
        found(monkeypatch, Source(held), INTERNAL)
    unknown = ServerObject("replication slot a", "drop it", held_by="somebody", left="no position")
    with pytest.raises(OperatorNeeded, match="shop runs"):  # it may have just begun
        found(monkeypatch, Source(unknown), INTERNAL, stored=OffsetsState({}, {}, ()))
    seen = found(monkeypatch, Source(unknown), [], stored=OffsetsState({}, {}, ()), written=None)
    assert (seen.goes, seen.left[0].why, seen.left[0].drop) == ([], "no position", "drop it")


def test_a_source_that_cannot_list_its_objects_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SimpleNamespace(partitions=lambda: [PARTITION], tables=lambda _: [])
    assert "can't list" in found(monkeypatch, plain, INTERNAL).left[0].why
    monkeypatch.setattr(time, "time", lambda: 20.0)
    with pytest.raises(Transient, match="may run"):
        found(monkeypatch, None, INTERNAL, written=1000)
    monkeypatch.setattr(time, "time", lambda: 31.1)
    assert "not asked" in found(monkeypatch, None, INTERNAL, written=1000).left[0].why


def test_a_target_that_drops_none_and_a_table_that_is_anothers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    class Target:
        def held(self, _: TableId) -> tuple[()]:
            return ()

    assert found(monkeypatch, Source(), INTERNAL, target=Target()).tables == ()

    class Dropping(Target):
        def drop(self, table: TableId) -> bool:
            raise AssertionError(table)

        def set_aside(self, table: TableId, suffix: str) -> str | None:
            raise AssertionError(table, suffix)

    assert found(monkeypatch, Source(), INTERNAL, target=Dropping()).tables == (ORDERS,)
    assert found(monkeypatch, Source(), INTERNAL, target=Dropping(), stored=state("b")).tables == ()

    class Anothers(Dropping):
        def held(self, _: TableId) -> tuple[()]:
            raise OperatorNeeded("x.y", "it is another's", "none")

    seen = found(monkeypatch, Source(), INTERNAL, target=Anothers())
    assert seen.tables == ()
    assert "it is another's" in [left.why for left in seen.left]


def test_a_table_of_the_target_is_named_after_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debezium's form has no database, so the merge knew the table by its schema alone."""
    merged = TableId("public", "public", "orders")

    class Target:
        def held(self, table: TableId) -> tuple[()] | None:
            return () if table == merged else None

        def drop(self, table: TableId) -> bool:
            raise AssertionError(table)

        def set_aside(self, table: TableId, suffix: str) -> str | None:
            raise AssertionError(table, suffix)

    topic = "s.public.orders"
    seen = found(monkeypatch, Source(), [topic], target=Target(), naming="debezium")
    assert (seen.tables, seen.topics) == ((merged,), (topic,))


def test_nothing_of_a_pipeline_goes_while_its_consumer_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board()
    key = BoardKey("shop", Half.TARGET).encode()
    now = now_ms()
    board.apply(key, encode({"state": "running"}, now), now)
    with pytest.raises(OperatorNeeded, match=r"delete\.consumer_runs"):
        found(monkeypatch, Source(), INTERNAL, target=SimpleNamespace(held=lambda _: None), board=board)
    board.apply(key, encode({"state": "stopped"}, now), now)
    assert found(monkeypatch, Source(), INTERNAL, target=SimpleNamespace(held=lambda _: None), board=board)


@pytest.mark.parametrize("reports", [True, False])
def test_a_consumer_whose_clock_is_behind_ours_is_found_to_run(
    monkeypatch: pytest.MonkeyPatch, *, reports: bool
) -> None:
    board, waited = Board(), list[float]()
    key, now = BoardKey("shop", Half.TARGET).encode(), now_ms()
    board.apply(key, encode({"state": "running"}, now - 60_000), now - 60_000)

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if reports:
            board.apply(key, encode({"state": "running"}, now - 54_000), now - 54_000)

    monkeypatch.setattr(time, "sleep", wait)
    target = SimpleNamespace(held=lambda _: None)
    if reports:
        with pytest.raises(OperatorNeeded, match=r"delete\.consumer_runs"):
            found(monkeypatch, Source(), INTERNAL, target=target, board=board)
    else:
        assert found(monkeypatch, Source(), INTERNAL, target=target, board=board)
    assert waited == [ALIVE_S + 1], "as long as it takes a half that runs to report"
