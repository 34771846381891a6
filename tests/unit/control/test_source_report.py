"""What the source half reports of tables whose rows are read: their ranges, as long as they are under way."""

from collections import Counter
from dataclasses import replace
from typing import Any

from tests.fakes.place import Place
from tests.unit.control.test_lineage import values
from wrackline.control.runtime.board.board_changes import LookScope
from wrackline.control.runtime.board.source_report import SourceReport
from wrackline.producers.cutting.cutter import Publication, PublicationTally
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.snapshot.window import WindowStage
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.producers.snapshot.work_items import Ticket
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.kafka.offsets_records import Json, canonical_json
from wrackline.schemas.kafka.topic_names import COLLISION
from wrackline.schemas.tables.table import SourcePartition, TableId

PARTITION = SourcePartition("srv", "shop")
ORDERS = TableId("shop", "public", "orders")


def saved(*ranges: tuple[int, str | None, str]) -> Json:
    """Return the state of a table whose rows are read in these ranges; none: it is read."""
    job = {"id": "initial", "rows": 7, "expected": 70,
           "ranges": [[number, after and [after], [upto], []] for number, after, upto in ranges]}  # fmt: skip
    status = "snapshotting" if ranges else "streaming"
    return canonical_json({"version": 2, "status": status, "jobs": [job] if ranges else []})


def test_a_table_has_ranges_while_it_is_read_and_is_reported_while_a_chunk_is_under_way() -> None:
    measures = TaskMeasures(0, "postgres", [PARTITION], 1, monotonic=lambda: 1.0, now_ms=lambda: 1)
    report = SourceReport(values(), "postgres", measures, lambda _, saved: str(saved))
    publication = Publication(PARTITION, [], 0, 0, (), Place(0, 1), None, {}, None, PublicationTally())
    reads: list[ReadUnderWay] = []
    measures.reads(lambda: reads)

    def look(state: Json | None = None) -> dict[str, Any]:
        if state is not None:
            measures.published([replace(publication, states={ORDERS: state})], 0.0)
        return {name: table for name, table in report.look(LookScope.FIGURES).tables.items() if table}

    [table] = look(saved((0, None, "10"), (1, "10", "20"))).values()
    assert [one["percent"] for one in table["ranges"]] == [0, 0]
    reads.append(ReadUnderWay(ORDERS, 1, Ticket("t/1"), WindowStage.WAITING, 5))
    [table] = look().values()
    assert (table["ranges"][1]["held"], table["waits_since_ms"] is not None) == (5, True), (
        "no commit was needed"
    )
    reads.clear()
    [table] = look(saved((1, "15", "20"))).values()
    assert [one["percent"] for one in table["ranges"]] == [100, 50]
    [table] = look(saved()).values()
    assert (table["state"], "ranges" in table) == ("streaming", False)
    assert look() == {}, "and nothing of it is looked at again"


def test_tables_that_would_share_a_topic_are_both_reported() -> None:
    """One of them may have no topic, and a name that topics write alike must not hide the other."""
    measures = TaskMeasures(0, "postgres", [PARTITION], 1, monotonic=lambda: 1.0, now_ms=lambda: 1)
    report = SourceReport(values(), "postgres", measures, lambda _, saved: str(saved))
    publication = Publication(PARTITION, [], 0, 0, (), Place(0, 1), None, {}, None, PublicationTally())
    reason = {"code": COLLISION.code, "sentence": "", "hint": ""}
    aside = canonical_json({"version": 2, "status": "failed", "set_aside": reason, "jobs": []})
    goods, sold = (ORDERS._replace(name=name) for name in ("товары", "заказы"))
    measures.published([replace(publication, states={goods: saved(), sold: aside})], 0.0)
    found = report.look(LookScope.ALL).tables
    assert {name: table and table["table"] for name, table in found.items()} == {
        "shop.public.______": str(goods),
        str(sold): str(sold),
    }
    measures.published([replace(publication, states={goods: aside})], 0.0)
    assert set(report.look(LookScope.ALL).tables) == {str(goods), str(sold)}


def test_a_look_at_states_is_at_few_tables_and_leaves_the_figures_of_the_half() -> None:
    measures = TaskMeasures(0, "postgres", [PARTITION], 1, monotonic=lambda: 1.0, now_ms=lambda: 1)
    report = SourceReport(values(), "postgres", measures, lambda _, saved: str(saved))
    publication = Publication(PARTITION, [], 0, 0, (), Place(0, 1), None, {}, None, PublicationTally())
    rows = PublicationTally(events=Counter({(ORDERS, "c"): 5}))

    def publish(rows: PublicationTally = publication.tally, /, **states: Json) -> None:
        named = {ORDERS._replace(name=name): state for name, state in states.items()}
        measures.published([replace(publication, states=named, tally=rows)], 0.0)

    def look(scope: LookScope) -> tuple[int, set[str]]:
        found = report.look(scope)
        return found.half["events"], set(found.tables)

    publish(rows, orders=saved((0, None, "10")))
    assert look(LookScope.FIGURES) == (5, {"shop.public.orders"})
    assert look(LookScope.STATES) == (5, {"shop.public.orders"}), "it has come"
    publish(rows, orders=saved((0, "5", "10")))
    assert look(LookScope.STATES) == (5, set()), "how far a read is can wait"
    publish(rows, orders=saved(), items=saved())
    report.health(Health.RECOVERING, None)
    found = report.look(LookScope.STATES)
    assert (found.half["state"], found.half["events"]) == ("recovering", 5)
    assert found.tables["shop.public.orders"]["state"] == "streaming"  # type: ignore[index]
    assert look(LookScope.STATES) == (5, set())
    assert look(LookScope.FIGURES) == (15, {"shop.public.orders", "shop.public.items"}), "with all figures"
    publish(**{f"t{number}": saved() for number in range(201)})
    assert look(LookScope.STATES) == (15, set()), "a storm waits for the next look at all"
    assert len(look(LookScope.FIGURES)[1]) == 201
