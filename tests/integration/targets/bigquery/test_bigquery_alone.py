"""What only a service can show: values come through its load, of two scripts one wins, answers get lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf
from urllib.parse import urlsplit

import pytest
import requests
from google.api_core.exceptions import Conflict, NotFound

from tests.fakes.bigquery_world import BigQueryWorld
from tests.fixtures.starting_over import starts_over
from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.targets.bigquery.dialect import DIALECT
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    A,
    B,
    change,
    labels,
    plan_for,
    put,
    seq,
)

MOMENTS = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(2255, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC),  # EMULATORS.md: bq-moments
    datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
]
KINDS: dict[str, tuple[ColumnType, list[object]]] = {
    "flag": (ColumnType(Kind.BOOLEAN, "boolean"), [True, False]),
    "large": (ColumnType(Kind.INT64, "bigint"), [-(2**63), 2**63 - 1]),
    "unsigned": (ColumnType(Kind.UINT64, "bigint unsigned"), [Decimal(0), Decimal(2**64 - 1)]),
    "float": (ColumnType(Kind.FLOAT64, "float8"), [-0.0, inf, -inf, 5e-324, 1.7976931348623157e308]),
    "exact": (ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2), [Decimal("-9999999999.99"), Decimal("0.01")]),
    "big": (ColumnType(Kind.DECIMAL, "numeric(38,10)", 38, 10), [Decimal("-" + "9" * 28 + "." + "9" * 10)]),
    "long": (ColumnType(Kind.NUMERIC_TEXT, "numeric"), ["1.00", "NaN", "9" * 200]),
    "text": (ColumnType(Kind.STRING, "text"), ["", "'\"\\\n\t%,3,`", "é😀", "NULL"]),
    "bytes": (ColumnType(Kind.BYTES, "bytea"), [b"", bytes(range(256))]),
    "day": (ColumnType(Kind.DATE, "date"), [date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)]),
    "clock": (ColumnType(Kind.TIME_MICROS, "time"), [time(0), time(23, 59, 59, 999_999)]),
    "moment": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        [one.replace(tzinfo=None) for one in MOMENTS],
    ),
    "instant": (
        ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
        [datetime(2, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)],
    ),
    "span": (ColumnType(Kind.DURATION_MICROS, "time"), [-(2**62), 0]),
}


@pytest.mark.full
def test_values_of_each_kind_come_through_a_load_and_a_script(world: BigQueryWorld) -> None:
    columns = (
        COLUMNS[1],
        *(Column(name, at, of) for at, (name, (of, _)) in enumerate(KINDS.items(), start=10)),
    )
    table = TableSchema(TableId("db", "public", "kinds"), columns, ("number",), KeyKind.PRIMARY)
    longest = max(len(values) for _, values in KINDS.values())
    rows = [
        {
            "number": at,
            **{name: values[at] if at < len(values) else None for name, (_, values) in KINDS.items()},
        }
        for at in range(longest + 1)
    ]
    for number, shift in ((1, 1), (2, 0)):  # first the neighbour's values, then its own
        shown = [{**rows[at - shift], "number": at} for at in range(len(rows))]
        changes = [Change((one["number"],), seq(number), "u", one) for one in shown]
        put(world, plan_for(world, number, table=table), *changes)
        found = sorted(world.seen(table.id), key=lambda row: int(str(row["number"])))
        pairs = [(name, row[name], one[name]) for row, one in zip(found, shown, strict=True) for name in one]
        assert [pair for pair in pairs if repr(pair[1]) != repr(pair[2])] == []


def race(world: BigQueryWorld, move: StateMove) -> list[object]:
    """Two sessions move one state; each says how it ended."""
    service = world.service

    def one(name: str) -> object:
        try:
            return service.session().commit(move, [], name)
        except Exception as exc:  # noqa: BLE001 - whatever it is, it must have a meaning
            return type(service.refusal(exc, "a race", "here"))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, ("__one", "__two")))


@pytest.mark.full
def test_of_two_scripts_at_once_one_wins(world: BigQueryWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    state = world.service.dialect.path(world.layout.place(TABLE.id).state)
    ((number,),) = world.service.session().rows(f"SELECT number FROM {state}")
    ended = race(world, StateMove(state, number, {"number": str(number + 1)}, "TRUE"))
    assert ended.count(True) == 1
    assert next(one for one in ended if one is not True) in (False, Transient)


def test_a_batch_whose_answer_was_lost_is_merged_once(world: BigQueryWorld) -> None:
    """The client sends the script again under its name, and BigQuery says that there is such a job.

    The emulator takes an id twice.  EMULATORS.md: bq-jobs
    """
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    plan = replace(plan_for(world, 2), since=world.target.applied(TABLE.id))
    staged = world.target.stage(world.frame([change("u", A, 2, "y")], plan), plan)
    scripts = 0

    def lose(text: str) -> None:
        nonlocal scripts
        if text.startswith("BEGIN"):
            scripts += 1
            raise Conflict("Already Exists: Job")  # type: ignore[no-untyped-call]

    world.client.behind = lose
    world.target.apply(staged, plan)
    assert scripts == 1
    assert labels(world) == {A: "y"}
    assert world.target.applied(TABLE.id) == plan.upto


def test_a_script_whose_end_nobody_heard_is_not_merged_again(world: BigQueryWorld) -> None:
    """The connection goes while the script runs; what became of it is asked of the state's row."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))

    def lose(text: str) -> None:
        if text.startswith("BEGIN"):
            raise requests.ConnectionError("reset")

    world.client.behind = lose
    plan = plan_for(world, 2)
    with pytest.raises(Transient, match=r"bigquery\.unreachable.*merge of a batch"):
        put(world, plan, change("u", A, 2, "y"))
    world.restart()
    assert (labels(world), world.target.applied(TABLE.id)) == ({A: "y"}, plan.upto)
    world.texts.clear()
    put(world, plan, change("u", A, 2, "y"))
    put(world, plan_for(world, 3))
    assert labels(world) == {A: "y"}


@pytest.mark.full
def test_no_right_to_make_datasets_is_needed(world: BigQueryWorld) -> None:
    place = world.layout.place(TABLE.id)
    for name in (place.table.schema, place.view.schema):
        world.client.create_dataset(name)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert labels(world) == {A: "x"}
    assert [text for text in world.texts if "SCHEMA" in text] == []


@pytest.mark.full
def test_a_step_that_is_refused_leaves_nothing(world: BigQueryWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    before = world.target.applied(TABLE.id)
    plan = replace(plan_for(world, 2), since=world.target.applied(TABLE.id))
    staged = world.target.stage(world.frame([change("c", B, 2, "y")], plan), plan)
    assert staged.stage is not None
    world.sql(f"ALTER TABLE {world.service.dialect.path(staged.stage.relation)} DROP COLUMN c2")
    with pytest.raises(OperatorNeeded, match=r"bigquery\.refused"):
        world.target.apply(staged, plan)
    assert (labels(world), world.target.applied(TABLE.id)) == ({A: "x"}, before)


def called(world: BigQueryWorld, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Write down each HTTP request from now on: its method, and which of BigQuery's resources it is for."""
    calls: list[tuple[str, str]] = []
    request = world.client._http.request

    def counted(method: str, url: str, *given: object, **named: object) -> object:
        calls.append((method, resource(url)))
        return request(method, url, *given, **named)

    monkeypatch.setattr(world.client._http, "request", counted)
    return calls


def resource(url: str) -> str:
    """The resource of a request: jobs, queries, datasets, tables, data; upload, where files go."""
    path = urlsplit(url).path
    if path.startswith("/upload/") or "upload_id=" in url:
        return "upload"
    names = path.partition("/projects/")[2].split("/")[1:]
    return [name for name in names if name in ("jobs", "queries", "datasets", "tables", "data")][-1]


@pytest.mark.full
def test_a_batch_asks_for_nothing_that_is_known(
    world: BigQueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.texts.clear()
    calls = called(world, monkeypatch)
    plan = plan_for(world, 2)
    world.target.ensure_table(plan)
    put(world, plan, change("u", A, 2, "y"))
    assert [" ".join(text.split()[:2]) for text in world.texts] == [
        "CREATE TABLE",
        "BEGIN TRANSACTION;",
        "DROP TABLE",
    ]
    begun = Counter(one for one in calls if one[0] == "POST")
    assert begun == {("POST", "jobs"): 3, ("POST", "upload"): 1}
    assert {one for one in calls if one[0] != "POST"} <= {
        ("GET", "jobs"),
        ("GET", "queries"),
        ("PUT", "upload"),
    }


@pytest.mark.full
def test_a_question_about_a_table_would_be_seen(
    world: BigQueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    calls, place, session = called(world, monkeypatch), world.layout.place(TABLE.id), world.service.session()
    world.service.made(session, place.table)
    world.service.state_row(session, place.state)
    assert ("GET", "tables") in calls
    assert ("GET", "data") in calls


@pytest.mark.full
def test_without_news_nothing_is_sent(world: BigQueryWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    sent = called(world, monkeypatch)
    world.target.applied(TABLE.id)
    world.target.held(TABLE.id)
    put(world, plan)
    assert sent == []
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert len(sent) > 4, "each job is more than one request"


@pytest.mark.full
def test_what_is_gone_is_known_as_gone(world: BigQueryWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    nowhere = StagedRelation(world.layout.storage_schema, "x")
    session = world.service.session()
    assert world.service.made(session, StagedRelation("w_nowhere", "x")) is None
    assert world.service.state_row(session, nowhere) is None
    assert world.service.made(session, nowhere) is None
    with pytest.raises(NotFound) as caught:
        session.rows(f"SELECT 1 FROM {world.service.dialect.path(nowhere)}")
    refusal = world.service.refusal(caught.value, "a look", "here")
    assert (refusal and refusal.code) == "bigquery.gone"


@pytest.mark.full
def test_a_check_finds_nothing_in_the_way(world: BigQueryWorld) -> None:
    """The emulator keeps nobody from anything; each second has its price.  EMULATORS.md: bq-rights."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    found = [one.id for one in world.target.check([TABLE.id])]
    assert found == ["bigquery.not_authorized", "bigquery.pace"]


@pytest.mark.full
def test_a_name_that_something_else_has_is_found_before_a_table_is_made(world: BigQueryWorld) -> None:
    view, path = world.layout.place(TABLE.id).view, world.service.dialect.path
    world.sql(f"CREATE SCHEMA {world.service.dialect.quoted(view.schema)}")
    world.sql(f"CREATE TABLE {path(view)} (label STRING)")
    (taken,) = (one for one in world.target.check([TABLE.id]) if one.id == "bigquery.not_our_place")
    with pytest.raises(OperatorNeeded, match=r"staged\.name_taken"):
        world.target.ensure_table(plan_for(world, 1))
    world.sql(taken.suggestion.rpartition(": ")[2])
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert "bigquery.not_our_place" not in [one.id for one in world.target.check([TABLE.id])]


@pytest.mark.full
def test_what_a_hint_says_to_run_starts_a_table_over(world: BigQueryWorld) -> None:
    state = DIALECT.path(world.layout.place(TABLE.id).state)
    starts_over(world, world.sql, f"UPDATE {state} SET shape = 'x' WHERE true")
