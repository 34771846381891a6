"""Lineage events: valid as OpenLineage's schemas have it, naming things as its naming rules do."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.fixtures.openlineage import faults
from tests.unit.settings.shop import CANARY, GOOD, checked, codes
from wrackline.consumers.batch.report import BatchReport
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.plan import ROW, Applied, NewestChange, PlannedColumn
from wrackline.consumers.contract.target import load_target
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.lineage.flows import kafka_at, kind_of, merge_flow, publish_flow
from wrackline.control.runtime.lineage.run_events import Dataset, LineageFlow, LineageJob, RunState
from wrackline.control.runtime.lineage.runs import _MOST_FLOWS, LineageRun, report_run
from wrackline.control.runtime.lineage.source_half import SourceHalf
from wrackline.control.runtime.lineage.target_half import report_batches
from wrackline.control.runtime.logs.lines import log_through
from wrackline.producers.contract.source_plugin import load
from wrackline.schemas.errors import Transient
from wrackline.schemas.kafka.column_maps import ColumnMap
from wrackline.schemas.pipelines.lineage_names import Located, Locating, by_address
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import Column, SourcePartition, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

ORDERS = TableId("shop", "public", "orders")
TEXT = ColumnType(Kind.STRING, "text")
PRICE = ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2)
TABLE = TableSchema(
    ORDERS, (Column("id", 1, PRICE), Column("mail", 2, TEXT), Column("note", 3, TEXT)), ("id",)
)
HASH = "column.mask.hash.v2.SHA-256.with.salt.peppercorn"
AT = Located("postgres://db.internal:5432", "shop.public.orders")
TOPIC = Located("kafka://broker1:9092", "shop1.shop.public.orders")
JOB = LineageJob("ns", "shop.run", "0195f1a0-0000-4000-8000-000000000001")
BUSY = Transient("test.busy", "busy", "wait")


def values(**given: str) -> Values:
    found = checked({**GOOD, **{name.replace("__", "."): text for name, text in given.items()}})
    assert found.values is not None, found.problems
    return found.values


@pytest.fixture
def events() -> Iterator[list[Any]]:
    """What was said, as it goes out; all of it is valid."""
    said: list[Any] = []
    yield said
    assert said
    assert [fault for event in said for fault in faults(event)] == []


def run_into(said: list[Any]) -> LineageRun:
    return LineageRun(
        JOB, lambda event: said.append(orjson.loads(orjson.dumps(event))), lambda: 1_700_000_000_123
    )


def test_the_schemas_find_what_is_wrong() -> None:
    event: Any = orjson.loads(orjson.dumps(JOB.event(RunState.START, 0, error="x")))
    assert faults(event) == []
    for spoiled in (
        {**event, "eventType": "BEGUN"},
        {**event, "eventTime": "yesterday"},
        {**event, "run": {"runId": "seven"}},
        {**event, "job": {"name": "n"}},
        {**event, "inputs": [{"name": "n"}]},
    ):
        assert faults(spoiled)
    event["run"]["facets"]["errorMessage"].pop("message")
    assert faults(event)


def test_what_goes_into_a_topic_says_what_was_masked(events: list[Any]) -> None:
    rules = ColumnRules.of(
        {HASH: ("public.orders.mail",), "column.truncate.to.3.chars": ("public.orders.id",)}
    )
    run = run_into(events)
    run.knows(publish_flow(TABLE, rules, AT, TOPIC))
    run.begins()
    (event,) = events
    (source,), (topic,) = event["inputs"], event["outputs"]
    assert (source["namespace"], source["name"]) == AT
    assert source["facets"]["schema"]["fields"] == [
        {"name": "id", "type": "numeric(10,2)", "ordinal_position": 1},
        {"name": "mail", "ordinal_position": 2},
        {"name": "note", "type": "text", "ordinal_position": 3},
    ]
    assert [field["type"] for field in topic["facets"]["schema"]["fields"]] == [
        "decimal(10,2)",
        "string",
        "string",
    ]
    lines = topic["facets"]["columnLineage"]["fields"]
    (mail,) = lines["mail"]["inputFields"]
    assert (mail["namespace"], mail["name"], mail["field"]) == (*AT, "mail")
    (changed,) = mail["transformations"]
    assert (changed["masking"], changed["description"]) == (True, "salted hash (sha256)")
    (same,) = lines["id"]["inputFields"][0]["transformations"]
    assert (same["subtype"], same["masking"]) == ("IDENTITY", False), "what is not a text is not truncated"
    assert "pepper" not in str(event)


def test_what_goes_into_a_copy_says_what_was_renamed(events: list[Any]) -> None:
    columns = [
        PlannedColumn(ROW, "_wl_row", "_wl_row", TEXT),
        PlannedColumn(1, "Id", "id", ColumnType(Kind.ARRAY, "int[]", element=ColumnType(Kind.INT32, "int"))),
    ]
    run = run_into(events)
    run.begins([merge_flow(columns, TOPIC, AT)])
    lines = events[0]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert list(lines) == ["id"]
    assert lines["id"]["inputFields"][0]["field"] == "Id"
    assert events[0]["outputs"][0]["facets"]["schema"]["fields"][0]["type"] == "array<int32>"


def test_a_shape_is_reported_once_and_an_end_has_a_beginning(events: list[Any]) -> None:
    run = run_into(events)
    flow = publish_flow(TABLE, ColumnRules(), AT, TOPIC)
    run.begins([LineageFlow(Dataset(AT), Dataset(TOPIC))])
    run.begins()
    run.knows(flow)
    run.knows(flow)
    run.knows(publish_flow(TableSchema(ORDERS, TABLE.columns[:2], ("id",)), ColumnRules(), AT, TOPIC))
    run.ends(RunState.FAIL, BUSY)
    run_into(events).ends(RunState.ABORT)
    assert [event["eventType"] for event in events] == [
        "START",
        "RUNNING",
        "RUNNING",
        "FAIL",
        "START",
        "ABORT",
    ]
    assert events[0]["inputs"][0]["facets"] == {}
    assert events[3]["run"]["facets"]["errorMessage"]["message"] == "[test.busy] busy"
    assert events[0]["eventTime"] == "2023-11-14T22:13:20.123+00:00"
    assert len({event["run"]["runId"] for event in events}) == 1


def test_a_beginning_with_many_tables_comes_in_pieces(events: list[Any]) -> None:
    many = [
        LineageFlow(Dataset(Located("a", str(n))), Dataset(Located("b", str(n))))
        for n in range(2 * _MOST_FLOWS + 1)
    ]
    run_into(events).begins(many)
    assert [(event["eventType"], len(event["inputs"])) for event in events] == [
        ("START", _MOST_FLOWS),
        ("RUNNING", _MOST_FLOWS),
        ("RUNNING", 1),
    ]


def test_the_source_half_names_tables_and_topics(events: list[Any]) -> None:
    plugin = load("postgres")
    assert isinstance(plugin, Locating)
    half = SourceHalf(run_into(events), values(), lambda table: plugin.located(values(), table))
    half.sees(SourcePartition("shop1", "shop"), [ORDERS])
    half.sees(SourcePartition("shop1", "shop"), [ORDERS])  # a second try to begin
    half.begins()
    half.shaped(TABLE, "shop1.shop.public.orders")
    started, shaped = events
    for event in events:
        assert [(one["namespace"], one["name"]) for one in event["inputs"]] == [AT]
        assert [(one["namespace"], one["name"]) for one in event["outputs"]] == [TOPIC]
    assert "schema" not in started["inputs"][0]["facets"]
    assert "schema" in shaped["inputs"][0]["facets"]


def test_the_target_half_looks_when_another_schema_was_merged(events: list[Any]) -> None:
    given = values(target__kind="postgres", target__hostname="copy", target__user="u", target__dbname="d")
    looks: list[TableId] = []
    columns = [PlannedColumn(1, "id", "id", PRICE)]

    def held(table: TableId) -> list[PlannedColumn]:
        looks.append(table)
        if len(looks) == 1:
            raise OSError("c4n4ry")
        return columns

    counted: list[BatchReport] = []
    maps: list[tuple[str, ColumnMap]] = []

    def knows(table: str, columns: ColumnMap) -> None:
        maps.append((table, columns))

    hears = report_batches(run_into(events), load_target("postgres"), given, held, knows, counted.append)
    topic = TOPIC.name

    def account(value_id: int) -> BatchReport:
        return BatchReport(BatchRange(topic, {}, {}), Applied(newest=NewestChange("1", None, value_id)))

    for value_id in (7, 7, 7, 8):
        hears(account(value_id))
    assert len(looks) == 3, "one that failed, is made again with the next batch, and one for the next schema"
    assert len(counted) == 4
    columns.append(PlannedColumn(2, "note", "note", TEXT))
    hears(account(9))
    assert [event["eventType"] for event in events] == ["START", "RUNNING", "RUNNING"]
    assert (events[1]["outputs"][0]["namespace"], events[1]["outputs"][0]["name"]) == (
        "postgres://copy:5432",
        "d.public.orders",
    )
    assert [table for table, _ in maps] == ["shop.public.orders"] * 3
    assert (maps[-1][1].place, [one.after for one in maps[-1][1].columns]) == (
        "d.public.orders",
        ["id", "note"],
    )


def test_the_target_half_knows_its_columns_also_if_no_lineage_is_sent() -> None:
    given = values(target__kind="postgres", target__hostname="copy", target__user="u", target__dbname="d")
    maps: list[str] = []
    hears = report_batches(
        None,
        load_target("postgres"),
        given,
        lambda _: [PlannedColumn(1, "id", "id", PRICE)],
        lambda table, _: maps.append(table),
        lambda _: None,
    )
    hears(BatchReport(BatchRange(TOPIC.name, {}, {}), Applied(newest=NewestChange("1", None, 7))))
    assert maps == ["shop.public.orders"]


@pytest.mark.parametrize(
    ("kind", "given", "at"),
    [
        ("iceberg", {"warehouse": "/lake"}, ("file", "/lake/public/orders")),
        ("iceberg", {"warehouse": "hdfs://n:8020/lake/"}, ("hdfs://n:8020", "/lake/public/orders")),
        (
            "iceberg",
            {"warehouse": "s3://b/lake", "catalog.type": "glue"},
            ("s3://b", "lake/public.db/orders"),
        ),
        (
            "iceberg",
            {"warehouse": "main", "catalog.type": "rest", "catalog.uri": "http://u:c4n4ry@host:8181"},
            ("http://host:8181", "public.orders"),
        ),
        (
            "iceberg",
            {"warehouse": "s3://b/w", "catalog.type": "hive", "catalog.uri": "thrift://host:9083"},
            ("hive://host:9083", "public.orders"),
        ),
        ("delta", {"warehouse": "/lake"}, ("file", "/lake/public/orders")),
        ("delta", {"warehouse": "s3n://b/lake"}, ("s3://b", "lake/public/orders")),
    ],
)
def test_a_copy_is_named_as_other_tools_name_it(
    kind: str, given: dict[str, str], at: tuple[str, str]
) -> None:
    found = values(target__kind=kind, **{f"target__{name}": text for name, text in given.items()})
    plugin = load_target(kind)
    assert isinstance(plugin, Locating)
    assert plugin.located(found, ORDERS) == at


def test_every_part_says_where_its_tables_are() -> None:
    for kind in ("iceberg", "delta", "postgres"):
        assert isinstance(load_target(kind), Locating)


def test_names_of_places() -> None:
    assert kafka_at("SSL://one:9093, two:9092") == "kafka://one:9093"
    assert by_address("gs://bucket/a/b/") == ("gs://bucket", "a/b")
    assert by_address("abfss://c4n4ry@account/x") == ("abfss://account", "x")
    assert kind_of(PRICE) == "decimal(10,2)"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/x",
        "file:///etc/passwd",
        "http://user:c4n4ry@h/x",
        "http://h@evil/x",
        "http://h/x@y",
        "http://h/x#y",
        "http://h/x y",
        "http://h/x\r\nHost: evil",
        "//h/x",
        "http://",
        "gopher://h",
    ],
)
def test_an_address_that_could_lead_elsewhere_is_refused(url: str) -> None:
    assert codes(checked({**GOOD, "lineage.url": url})) == [("lineage.url", "settings.invalid")]


def test_settings_that_go_together() -> None:
    both = {"lineage.url": "http://marquez:5000/api/v1/lineage", "lineage.file": "/tmp/x"}  # noqa: S108 - refused
    assert ("lineage.file", "settings.exclusive") in codes(checked({**GOOD, **both}))
    assert codes(checked({**GOOD, "lineage.api.key": CANARY})) == [("lineage.api.key", "settings.needed")]
    assert codes(checked({**GOOD, "lineage.file": "/etc/lineage"})) == [
        ("lineage.file", "secret.not_allowed")
    ]
    good = values(lineage__url="https://[::1]:5000/api/v1/lineage?x=1", lineage__api__key=CANARY)
    assert CANARY not in str(good)


def test_a_pipeline_that_names_no_place_reports_to_nobody() -> None:
    with report_run(values(), "run", log_through(lambda _: None)) as run:
        assert run is None


@pytest.mark.parametrize(
    ("error", "became", "message"),
    [
        (None, "ABORT", None),
        (BUSY, "FAIL", "[test.busy] busy"),
        (ValueError("c4n4ry"), "FAIL", "ValueError"),
    ],
)
def test_how_a_run_ends_is_reported_in_the_file(
    tmp_path: Path, error: Exception | None, became: str, message: str | None
) -> None:
    file = tmp_path / "lineage.jsonl"
    given, allowed = {**GOOD, "lineage.file": str(file)}, Allowed(folders=(tmp_path,))
    found = check(given, Installed(), Resolver(allowed, {})).values
    assert found is not None
    leaves = nullcontext() if error is None else pytest.raises(type(error))
    with leaves, report_run(found, "run", log_through(lambda _: None)) as run:
        assert run is not None
        run.begins([LineageFlow(Dataset(AT), Dataset(TOPIC))])
        if error is not None:
            raise error
    started, ended = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert faults(started) == faults(ended) == []
    assert (started["eventType"], ended["eventType"]) == ("START", became)
    assert (ended["job"]["namespace"], ended["job"]["name"]) == ("wrackline", "shop.run")
    assert ended["run"]["facets"].get("errorMessage", {}).get("message") == message
