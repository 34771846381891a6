"""A task's figures: added up, and written as Prometheus reads them."""

import re
from dataclasses import replace
from math import inf

import pytest

from tests.fakes.place import Place
from tests.fakes.source import FenceMark
from wrackline.producers.contract.optional_parts import LogRecount, LogState, OpenTransactions
from wrackline.producers.contract.steps import Fault
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.cutter import Publication, PublicationTally
from wrackline.producers.observe.status_document import databases_document
from wrackline.producers.observe.task_metric_names import (
    ACTIVE,
    ALIASES,
    METRICS,
    OLDEST,
    QUEUE_ALIASES,
    SCANNED,
    SNAPSHOT_ALIASES,
)
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Json, SavedTableState, TableKey, canonical_json
from wrackline.schemas.language import exposition
from wrackline.schemas.tables.table import SourcePartition, TableId

PARTITION = SourcePartition("shop1", "shop")
ORDERS = TableId("shop", "public", "orders")
LOST = define("test.metrics_lost", Transient, "a try failed", hint="none")
GONE = define("test.metrics_gone", OperatorNeeded, "a table is at fault", hint="none")


class Clock:
    """Both clocks, moved by hand."""

    seconds = 100.0
    ms = 1_000_000

    def measures(self) -> TaskMeasures:
        return TaskMeasures(
            0, "postgres", [PARTITION], 1000, monotonic=lambda: self.seconds, now_ms=lambda: self.ms
        )


@pytest.fixture
def clock() -> Clock:
    return Clock()


def publication(events: dict[tuple[TableId, str], int], size: int, committed_ms: int | None) -> Publication:
    tally = PublicationTally(events, 1 if events else 0, committed_ms)
    return Publication(PARTITION, [], size, 0, (), Place(0, 1), None, {}, None, tally)


def served(measures: TaskMeasures) -> dict[str, float]:
    """Each line without its labels of task and server."""
    lines = exposition.text(measures.families()).splitlines()
    values = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {re.sub(r'(server|task|database)="[^"]*",?', "", name): float(value) for name, _, value in values}


def test_what_was_published_is_added_up_and_debezium_s_names_say_the_same(clock: Clock) -> None:
    measures = clock.measures()
    measures.queue(lambda: 250)
    measures.health(Health.RUNNING, None)
    measures.published([publication({(ORDERS, "c"): 3, (ORDERS, "u"): 1}, 40, clock.ms - 15)], 0.02)
    clock.ms += 500
    measures.published([publication({(ORDERS, "c"): 2}, 10, clock.ms - 30)], 0.3)
    clock.ms += 700
    found = served(measures)
    assert found['wrackline_events_total{table="public.orders",operation="c"}'] == 5
    assert found["wrackline_event_bytes_total{}"] == 50
    assert found["wrackline_transactions_total{}"] == 2
    assert found["wrackline_lag_milliseconds{}"] == 30
    assert found["wrackline_idle_milliseconds{}"] == 700
    assert found["wrackline_commit_seconds_count{}"] == 2
    assert found["wrackline_queue_bytes{}"] == 250
    theirs = {name.partition("{")[0]: value for name, value in found.items() if name.startswith("debezium")}
    assert theirs == {
        "debezium_metrics_Connected": 1,
        "debezium_metrics_MilliSecondsBehindSource": 30,
        "debezium_metrics_MilliSecondsSinceLastEvent": 700,
        "debezium_metrics_TotalNumberOfEventsSeen": 6,
        "debezium_metrics_TotalNumberOfCreateEventsSeen": 5,
        "debezium_metrics_TotalNumberOfUpdateEventsSeen": 1,
        "debezium_metrics_TotalNumberOfDeleteEventsSeen": 0,
        "debezium_metrics_NumberOfErroneousEvents": 0,
        "debezium_metrics_NumberOfCommittedTransactions": 2,
        "debezium_metrics_QueueTotalCapacity": 1000,
        "debezium_metrics_QueueRemainingCapacity": 750,
        "debezium_metrics_MaxQueueSizeInBytes": 1000,
        "debezium_metrics_CurrentQueueSizeInBytes": 250,
        "debezium_metrics_TotalTableCount": 0,
        "debezium_metrics_RemainingTableCount": 0,
        "debezium_metrics_SnapshotRunning": 0,
        "debezium_metrics_SnapshotPaused": 0,
        "debezium_metrics_SnapshotAborted": 0,
        "debezium_metrics_SnapshotCompleted": 0,
    }


def test_a_position_alone_is_no_event_and_before_the_first_one_nothing_is_claimed(clock: Clock) -> None:
    measures = clock.measures()
    measures.published([publication({}, 0, None)], 0.01)
    found = served(measures)
    assert "wrackline_lag_milliseconds{}" not in found
    assert "wrackline_idle_milliseconds{}" not in found
    assert found["wrackline_transactions_total{}"] == 0
    assert found["wrackline_running{}"] == 0


def test_recoveries_and_faults_are_counted_by_code(clock: Clock) -> None:
    measures = clock.measures()
    measures.health(Health.RUNNING, None)
    measures.health(Health.RECOVERING, LOST())
    measures.fault(PARTITION, Fault(ORDERS, GONE()))
    found = served(measures)
    assert found['wrackline_recoveries_total{code="test.metrics_lost"}'] == 1
    assert found['wrackline_faults_total{table="public.orders",code="test.metrics_gone"}'] == 1
    assert found["wrackline_running{}"] == 0


def test_a_table_is_shown_while_it_is_set_aside_also_over_a_restart(clock: Clock) -> None:
    line = 'wrackline_table_set_aside{table="public.orders",code="test.metrics_gone"}'
    kept = table_fault.fault_state(Fault(ORDERS, GONE()))
    elsewhere = TableKey("c", PARTITION._replace(database="other"), ORDERS)
    restarted = clock.measures()
    restarted.resumed(
        OffsetsState(
            {},
            {TableKey("c", PARTITION, ORDERS): SavedTableState(1, kept), elsewhere: SavedTableState(1, kept)},
            (),
        )
    )
    assert served(restarted)[line] == 1
    again = replace(publication({}, 1, None), states={ORDERS: canonical_json({"version": 1})})
    restarted.published([again], 0.1)
    assert line not in served(restarted)
    restarted.published([replace(again, states={ORDERS: kept})], 0.1)
    assert served(restarted)[line] == 1


def log(end: int, spare: int | None) -> LogState:
    return LogState("replication slot s", None, end, 70, 300, spare, "reserved")


def test_table_statuses_follow_their_committed_states_also_over_a_restart(clock: Clock) -> None:
    def state(status: str, **job: object) -> Json:
        return canonical_json({"status": status, "jobs": [{"id": "one", **job}] if job else []})

    def snapshot(measures: TaskMeasures) -> dict[str, float]:
        lines = {name: value for name, value in served(measures).items() if 'context="snapshot"' in name}
        return {name.partition("{")[0].removeprefix("debezium_metrics_"): v for name, v in lines.items()}

    gifts = ORDERS._replace(name="gifts")
    measures = clock.measures()
    measures.resumed(
        OffsetsState({}, {TableKey("c", PARTITION, gifts): SavedTableState(1, state("paused", rows=3))}, ())
    )
    assert snapshot(measures)["SnapshotPaused"] == 1
    running = state("snapshotting", rows=40, expected=160)
    made = replace(publication({(ORDERS, "r"): 40}, 1, None), states={ORDERS: running})
    measures.published([made], 0.1)
    found = served(measures)
    assert found['wrackline_table_state{table="public.orders",state="snapshotting"}'] == 1
    assert found['wrackline_snapshot_rows{table="public.orders"}'] == 40
    assert found['wrackline_snapshot_expected_rows{table="public.orders"}'] == 160
    assert 'wrackline_snapshot_expected_rows{table="public.gifts"}' not in found
    assert snapshot(measures) == {
        "TotalTableCount": 2,
        "RemainingTableCount": 2,
        "SnapshotRunning": 1,
        "SnapshotPaused": 0,
        "SnapshotAborted": 0,
        "SnapshotCompleted": 0,
        "RowsScanned": 40,
    }
    ended = {ORDERS: state("streaming"), gifts: state("failed")}
    measures.published([replace(made, states=ended)], 0.1)
    assert (snapshot(measures)["SnapshotAborted"], snapshot(measures)["SnapshotCompleted"]) == (1, 0)
    measures.published([replace(made, states={gifts: state("gone")})], 0.1)
    assert (snapshot(measures)["SnapshotCompleted"], snapshot(measures)["TotalTableCount"]) == (1, 1)
    assert 'wrackline_snapshot_rows{table="public.orders"}' not in served(measures)


def test_the_time_until_the_slot_is_lost_follows_the_rate_of_the_log(clock: Clock) -> None:
    measures = clock.measures()
    measures.log_state(PARTITION, log(1000, 5000))
    assert served(measures)["wrackline_slot_seconds_until_lost{}"] == inf  # no rate is known yet
    clock.seconds += 2
    measures.log_state(PARTITION, log(1200, 5000))
    found = served(measures)
    assert found["wrackline_log_bytes_per_second{}"] == 100
    assert found["wrackline_slot_seconds_until_lost{}"] == 50
    assert found["wrackline_lag_bytes{}"] == 70
    assert found["wrackline_position_bytes{}"] == 1130
    assert found["wrackline_slot_retained_bytes{}"] == 300
    measures.log_state(PARTITION, log(1200, None))
    assert served(measures)["wrackline_slot_safe_bytes{}"] == inf
    measures.log_state(PARTITION, replace(log(1200, None), kept_s=3600, expires_s=120.0))
    found = served(measures)
    assert (found["wrackline_slot_seconds_until_lost{}"], found["wrackline_log_kept_seconds{}"]) == (
        120,
        3600,
    )
    measures.log_state(PARTITION, replace(log(1200, 5000), expires_s=120.0))
    assert served(measures)["wrackline_slot_seconds_until_lost{}"] < 120, "whichever comes first"
    measures.log_state(PARTITION, None)  # the server does not answer: nothing old is shown as new
    assert not [name for name in served(measures) if name.startswith("wrackline_slot")]


def test_every_declared_metric_is_served_under_its_name_and_no_other(clock: Clock) -> None:
    measures = clock.measures()
    names = [family.name for family in measures.families()]
    aliases = (*ALIASES, ACTIVE, OLDEST, *QUEUE_ALIASES, *SNAPSHOT_ALIASES, SCANNED)
    assert names == [metric.name for metric in METRICS] + [alias.name for alias in aliases]
    assert len(set(names)) == len(names)


def test_a_loss_that_is_far_away_is_not_predicted(clock: Clock) -> None:
    measures = clock.measures()
    measures.log_state(PARTITION, log(1000, 5000))
    clock.seconds += 2
    measures.log_state(PARTITION, log(1200, 100 * 7 * 7 * 86_400))
    assert _lost_in(measures) == 7 * 7 * 86_400
    measures.log_state(PARTITION, log(1200, 10**18))
    assert _lost_in(measures) is None


def _lost_in(measures: TaskMeasures) -> object:
    return databases_document(measures)[PARTITION.database]["lost_in_s"]


def test_a_database_that_is_opened_again_claims_nothing_of_the_log_before(clock: Clock) -> None:
    measures = clock.measures()
    through = measures.figures()[PARTITION].through

    def publish(lsn: int) -> None:
        made = publication({}, 0, None)
        measures.published([replace(made, position=Place(0, lsn))], 0.0)

    measures.database(PARTITION, Health.RUNNING, None)
    publish(50)
    measures.database(PARTITION, Health.RECOVERING, LOST())
    publish(60)  # the commit that ran
    measures.log_end(PARTITION, 1_000, FenceMark("end", 5))
    assert through.at_ms is None, "another log may be shorter"
    measures.database(PARTITION, Health.RUNNING, None)
    measures.log_end(PARTITION, 2_000, FenceMark("end", 6))
    assert through.at_ms is None
    publish(6)
    assert through.at_ms == 2_000


@pytest.mark.parametrize(("kind", "plugin"), [("postgres", "postgres"), ("sqlserver", "sql_server")])
def test_debezium_s_names_have_the_labels_of_its_beans(kind: str, plugin: str) -> None:
    """As `debezium.sql_server:type=connector-metrics,server=,task=,context=,database=` is exported."""
    measures = TaskMeasures(2, kind, [PARTITION], 1, monotonic=lambda: 0.0, now_ms=lambda: 0)
    lines = exposition.text(measures.families()).splitlines()
    (shown,) = [line for line in lines if line.startswith("debezium_metrics_Connected{")]
    assert dict(re.findall(r'(\w+)="([^"]*)"', shown)) == {
        "plugin": plugin,
        "name": "shop1",
        "task": "2",
        "database": "shop",
        "context": "streaming",
    }


def test_one_of_several_databases_that_is_down_is_not_connected_and_its_errors_are_its_own() -> None:
    """A figure of all of them names none: two hundred names in one label are longer than some stores take."""
    up, down = SourcePartition("shop1", "shop"), SourcePartition("shop1", "crm")
    measures = TaskMeasures(0, "postgres", [up, down], 1, monotonic=lambda: 0.0, now_ms=lambda: 0)
    measures.health(Health.RUNNING, None)
    measures.database(up, Health.RUNNING, None)
    measures.database(down, Health.RECOVERING, LOST())
    measures.published([], 0.01)
    lines = [line for line in exposition.text(measures.families()).splitlines() if not line.startswith("#")]

    def by_database(name: str) -> dict[str | None, float]:
        found = {}
        for line in lines:
            if line.startswith(f"{name}{{"):
                labels, _, value = line.rpartition(" ")
                found[dict(re.findall(r'(\w+)="([^"]*)"', labels)).get("database")] = float(value)
        return found

    assert by_database("debezium_metrics_Connected") == {"shop": 1, "crm": 0}
    assert by_database("wrackline_running") == {"shop": 1, "crm": 0}
    assert by_database("wrackline_recoveries_total") == {"crm": 1}
    assert by_database("wrackline_commit_seconds_count") == {None: 1}


def test_what_a_source_counts_again_is_served_for_each_database_that_it_counts_in() -> None:
    databases = [SourcePartition("shop1", name) for name in ("shop", "crm", "old")]
    measures = TaskMeasures(3, "sqlserver", databases, 1000, monotonic=lambda: 0.0, now_ms=lambda: 0)

    def samples() -> list[tuple[str, dict[str, str], float]]:
        return [
            (family.name, dict(sample.labels), float(sample.value))
            for family in measures.families()
            if "_recount" in family.name
            for sample in family.samples
        ]

    assert samples() == [], "no other source counts"
    counted = {"shop": LogRecount(7, 2.5), "crm": LogRecount(0, None), "old": None}
    measures.recounts(lambda partition: counted[partition.database])
    shop, crm = ({"server": "shop1", "task": "3", "database": name} for name in ("shop", "crm"))
    assert samples() == [
        ("wrackline_recounted_ranges_total", shop, 7),
        ("wrackline_recounted_ranges_total", crm, 0),
        ("wrackline_recount_age_seconds", shop, 2.5),
    ]


def test_the_open_transactions_that_a_source_keeps_are_served_also_by_debezium_s_names() -> None:
    databases = [SourcePartition("shop1", name) for name in ("shop", "crm", "old")]
    measures = TaskMeasures(3, "oracle", databases, 1000, monotonic=lambda: 0.0, now_ms=lambda: 90_000)

    def samples() -> dict[str, dict[str, float]]:
        return {
            family.name: {
                dict(sample.labels).get("database") or sample.labels["name"]: float(sample.value)
                for sample in family.samples
            }
            for family in measures.families()
            if "open_transaction" in family.name or "Active" in family.name or "OldestScn" in family.name
            if family.samples
        }

    assert samples() == {}, "no other source keeps transactions"
    kept = {"shop": OpenTransactions(2, 87_500, 64), "crm": OpenTransactions(0, None, 0), "old": None}
    measures.keeps(lambda partition: kept[partition.database])
    assert samples() == {
        "wrackline_open_transactions": {"shop": 2, "crm": 0},
        "wrackline_oldest_open_transaction_age_seconds": {"shop": 2.5, "crm": 0},
        "wrackline_open_transactions_file_bytes": {"shop": 64, "crm": 0},
        "debezium_metrics_NumberOfActiveTransactions": {"shop": 2, "crm": 0},
        "debezium_metrics_OldestScnAgeInMilliseconds": {"shop": 2500, "crm": 0},
    }


def test_what_the_databases_of_a_task_share_is_served_once_so_that_sums_are_right() -> None:
    databases = [SourcePartition("shop1", name) for name in ("shop", "crm", "old")]
    measures = TaskMeasures(3, "sqlserver", databases, 1000, monotonic=lambda: 0.0, now_ms=lambda: 0)
    measures.queue(lambda: 250)
    shared = {
        "wrackline_queue_bytes": 250,
        "wrackline_queue_most_bytes": 1000,
        "wrackline_task_databases": 3,
        "wrackline_task_connected": 0,
        "debezium_metrics_QueueTotalCapacity": 1000,
        "debezium_metrics_QueueRemainingCapacity": 750,
        "debezium_metrics_MaxQueueSizeInBytes": 1000,
        "debezium_metrics_CurrentQueueSizeInBytes": 250,
    }

    def samples() -> dict[str, list[tuple[dict[str, str], float]]]:
        return {
            family.name: [(dict(sample.labels), float(sample.value)) for sample in family.samples]
            for family in measures.families()
            if family.name in shared
        }

    ours = {"server": "shop1", "task": "3"}
    theirs = {"plugin": "sql_server", "name": "shop1", "task": "3", "context": "streaming"}
    assert samples() == {
        name: [(ours if name.startswith("wrackline") else theirs, value)] for name, value in shared.items()
    }
    measures.health(Health.RUNNING, None)
    for database, health in zip(databases, (Health.RUNNING, Health.RUNNING, Health.RECOVERING), strict=True):
        measures.database(database, health, None)
    assert samples()["wrackline_task_connected"] == [(ours, 2)]
    measures.health(Health.RECOVERING, None)
    assert samples()["wrackline_task_connected"] == [(ours, 0)], "the task itself is down"
