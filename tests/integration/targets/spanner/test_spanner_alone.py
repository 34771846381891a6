"""What is Spanner's alone: batches in parts, transactions that are aborted, limits of a commit, its names."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from google.api_core.exceptions import Aborted, InvalidArgument
from google.cloud.spanner_v1.client import Client
from google.cloud.spanner_v1.services.spanner import SpannerClient
from google.cloud.spanner_v1.services.spanner.transports.grpc import SpannerGrpcTransport
from google.cloud.spanner_v1.transaction import Transaction

from tests.fakes.spanner_world import AFTER, BEFORE, SpannerWorld, WatchedSession
from tests.fixtures.starting_over import run_hint, starts_over
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.contract.target import Dropping
from wrackline.consumers.staged.state import COLUMNS as STATE_COLUMNS
from wrackline.consumers.targets.spanner.chunks import ChunkLimits
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    HERE,
    TABLE,
    TEXT,
    A,
    B,
    Crash,
    alter,
    change,
    labels,
    plan_for,
    put,
)

PAGE = Path(__file__).parents[4] / "docs/spanner.md"
THREE = ChunkLimits(mutations=3 * (len(COLUMNS) + 6), deletes=2, voids=4)  # rows of a commit
STATE = 1 + len(STATE_COLUMNS)  # mutations of a table's state


@pytest.fixture
def parted(client: Client, tmp_path: Path) -> SpannerWorld:
    return SpannerWorld(client, tmp_path, THREE)


def many(count: int, first: int = 1) -> list[Change]:
    return [change("c", ("a", number), first + number, f"row {number}") for number in range(count)]


def mutations(transaction: Transaction) -> int:
    """Count as Spanner does: a cell is one, a row that goes is one."""
    count = 0
    for one in transaction._mutations:
        written = (getattr(one, kind) for kind in ("insert", "update", "insert_or_update"))
        count += sum(len(write.columns) * len(write.values) for write in written)
        count += len(one.delete.key_set.keys)
    return count


def test_no_commit_of_a_large_batch_is_too_large(parted: SpannerWorld) -> None:
    """nodejs-spanner#116: an insert of too many mutations hung.  EMULATORS.md: sp-counts."""
    put(parted, plan_for(parted, 1), change("c", B, 1, "there"))
    seen: list[int] = []
    parted.watch.meets = lambda transaction: seen.append(mutations(transaction))
    put(parted, plan_for(parted, 9), *many(8))
    assert seen == [THREE.mutations + STATE, THREE.mutations + STATE, THREE.mutations * 2 // 3 + STATE]
    assert labels(parted) == {B: "there"} | {("a", number): f"row {number}" for number in range(8)}
    assert parted.target.applied(TABLE.id).offsets == {HERE: 9}
    assert not parted.target.can.whole


def test_a_row_that_spanner_never_takes_ends_the_batch(parted: SpannerWorld) -> None:
    """nodejs-spanner#116: by an error and not by a wait, and no offset says that all rows are there."""

    def refuse(transaction: Transaction) -> None:
        if any("row 7" in str(one.insert_or_update.values) for one in transaction._mutations):
            raise InvalidArgument("too many mutations")  # type: ignore[no-untyped-call]

    put(parted, plan_for(parted, 1), change("c", B, 1, "there"))
    plan, parted.watch.meets = plan_for(parted, 9), refuse
    with pytest.raises(OperatorNeeded, match=r"spanner\.refused"):
        put(parted, plan, *many(8))
    assert len(labels(parted)) == 8, "all but the one"
    assert parted.target.applied(TABLE.id).offsets == {HERE: 1}
    parted.watch.meets = None
    put(parted, plan, *many(8))
    assert len(labels(parted)) == 9
    assert parted.target.applied(TABLE.id).offsets == {HERE: 9}


@pytest.mark.parametrize("point", [pytest.param(BEFORE, marks=pytest.mark.full), AFTER])
def test_parts_that_a_crash_left_are_completed_by_the_same_batch(parted: SpannerWorld, point: str) -> None:
    put(parted, plan_for(parted, 1), change("c", B, 1, "there"))
    plan = replace(plan_for(parted, 9), since=parted.target.applied(TABLE.id))
    parted.crash_next_apply(point)
    parted.watch.passes = 1  # the first part is committed
    with pytest.raises(Crash):
        put(parted, plan, *many(8))
    parted.restart()
    parts = 3 if point == BEFORE else 6
    assert len(labels(parted)) == 1 + parts
    assert parted.target.applied(TABLE.id).offsets == {HERE: 1}, "offsets come with the last part"
    put(parted, plan, *many(8))
    assert len(labels(parted)) == 9
    assert parted.target.applied(TABLE.id).offsets == {HERE: 9}


@pytest.mark.full
def test_a_truncate_of_more_than_a_commit_takes_all_older_rows(parted: SpannerWorld) -> None:
    put(parted, plan_for(parted, 11), *many(11))
    put(parted, plan_for(parted, 21, floor=20), change("c", A, 21, "after"))
    assert labels(parted) == {A: "after"}
    assert set(parted.stored(TABLE.id)) == {A}


class AbortedCall:
    """What the server says beside ABORTED: when to begin again."""

    def trailing_metadata(self) -> list[tuple[str, bytes]]:
        return [("google.rpc.retryinfo-bin", b"\x0a\x04\x10\xc0\x84\x3d")]  # a RetryInfo: in a millisecond


def in_the_way(world: SpannerWorld, times: int) -> None:
    """Abort the next transactions before they commit, as one of another session that is older does."""
    left = [times]

    def abort(_: Transaction) -> None:
        if left[0]:
            left[0] -= 1
            raise Aborted("another transaction", errors=[AbortedCall()])  # type: ignore[no-untyped-call]

    world.watch.meets = abort


def test_a_transaction_that_is_aborted_is_done_again(world: SpannerWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    begun = world.watch.works
    in_the_way(world, 2)
    put(world, plan_for(world, 2), change("u", A, 2, "y"), change("c", B, 2, "z"))
    assert world.watch.works == begun + 3
    assert labels(world) == {A: "y", B: "z"}


@pytest.mark.full
def test_a_storm_of_aborts_ends_the_batch_and_harms_nothing(client: Client, tmp_path: Path) -> None:
    world = SpannerWorld(client, tmp_path, patience_s=0.2)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    in_the_way(world, 10_000)
    with pytest.raises(Transient, match=r"spanner\.busy"):
        put(world, plan_for(world, 2), change("u", A, 2, "y"))
    world.watch.meets = None
    assert (labels(world), world.target.applied(TABLE.id).offsets) == ({A: "x"}, {HERE: 1})
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert labels(world) == {A: "y"}


@dataclass
class CalledMethods(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """Writes down each call of a connection."""

    names: list[str] = field(default_factory=list)

    def _pass_on(self, go_on: Callable[..., Any], details: grpc.ClientCallDetails, request: object) -> Any:
        self.names.append(details.method.rpartition("/")[2])
        return go_on(details, request)

    intercept_unary_unary = intercept_unary_stream = _pass_on


def called(world: SpannerWorld, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write down each call of the world's database from now on."""
    calls = CalledMethods()
    channel = grpc.intercept_channel(grpc.insecure_channel(world.database._instance.emulator_host), calls)
    api = SpannerClient(transport=SpannerGrpcTransport(channel=channel))
    monkeypatch.setattr(world.database, "_spanner_api", api)
    return calls.names


def test_a_batch_is_three_calls_and_without_news_none(
    world: SpannerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    calls = called(world, monkeypatch)
    put(world, plan_for(world, 2), change("u", A, 2, "y"), change("c", B, 2, "z"))
    assert calls == ["StreamingRead", "StreamingRead", "Commit"], "the number, the rows, all of it"
    calls.clear()
    plan = plan_for(world, 2)
    world.target.ensure_table(plan)
    put(world, plan)
    assert (world.target.applied(TABLE.id), world.target.held(TABLE.id) is None) == (plan.upto, False)
    assert calls == []


def test_of_two_consumers_one_is_first(world: SpannerWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    late = world.target
    world.restart()
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    first, world.target = world.target, late  # which remembers the state from before
    plan = replace(plan_for(world, 2), since=Applied({HERE: 1}))
    with pytest.raises(Transient, match=r"staged\.moved"):
        put(world, plan, change("u", A, 9, "late"), change("c", B, 9, "late"))
    world.target = first
    assert labels(world) == {A: "y"}


def test_a_number_counts_only_for_the_table_that_it_was_read_of(world: SpannerWorld) -> None:
    put(world, plan_for(world, 5), change("c", A, 5, "x"))
    sleeper = world.target
    late = replace(plan_for(world, 9), since=sleeper.applied(TABLE.id))
    world.restart()
    assert world.target.drop(TABLE.id)  # type: ignore[attr-defined]
    put(world, plan_for(world, 1), change("c", B, 1, "y"))
    with pytest.raises(Transient, match=r"staged\.moved"):
        sleeper.apply(sleeper.stage(world.frame([change("u", A, 9, "z")], late), late), late)
    assert labels(world) == {B: "y"}


def test_the_index_of_the_page_can_be_made(world: SpannerWorld) -> None:
    (index,) = re.findall(r"CREATE INDEX .*;", PAGE.read_text())
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    made = index.strip(";").replace("shop_public__orders(id)", "db_public__orders(label)")
    world.target._session.reshape([made])  # type: ignore[attr-defined]
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert labels(world) == {A: "y"}


def test_a_commit_that_is_too_large_is_halved(world: SpannerWorld) -> None:
    """An index that somebody has made on a table costs mutations of which we know nothing."""

    def refuse(transaction: Transaction) -> None:
        rows = sum(len(one.insert_or_update.values) for one in transaction._mutations)
        if rows > 2:
            raise InvalidArgument("too many mutations")  # type: ignore[no-untyped-call]

    put(world, plan_for(world, 1), change("c", B, 1, "there"))
    world.watch.meets = refuse
    put(world, plan_for(world, 9), *many(7))
    assert labels(world) == {B: "there"} | {("a", number): f"row {number}" for number in range(7)}
    assert world.target.applied(TABLE.id).offsets == {HERE: 9}


WIDER = replace(TABLE, columns=(*COLUMNS, Column("one", 10, TEXT)))
WIDEST = replace(TABLE, columns=(*WIDER.columns, Column("two", 11, TEXT)))


@pytest.mark.full
def test_an_older_view_does_not_stay(world: SpannerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow consumer shows its shape after a quick one has shown the next."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    slow, quick, done = world.target, world.open(), list[str]()
    reshape = WatchedSession.reshape

    def shown(session: WatchedSession, texts: Iterable[str]) -> None:
        texts = list(texts)
        if not done and any(" VIEW " in text for text in texts):
            done.extend(texts)
            quick.ensure_table(plan_for(world, 2, table=WIDER))
            world.target = quick
            alter(world, plan_for(world, 3, table=WIDEST), WIDER)
            world.target = slow
        reshape(session, texts)

    monkeypatch.setattr(WatchedSession, "reshape", shown)
    with pytest.raises(Transient, match=r"staged\.moved"):
        alter(world, plan_for(world, 2, table=WIDER), TABLE)
    world.restart()
    world.target.ensure_table(plan_for(world, 4, table=WIDEST))
    assert [set(row) - {"shop", "number", "label", "big"} for row in world.seen(TABLE.id)] == [{"one", "two"}]


@pytest.mark.full
def test_what_a_truncate_voids_is_looked_for_outside_a_transaction(
    parted: SpannerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan in one would lock the table; what a commit takes goes in it, and what is more before it."""
    asked: list[str] = []
    monkeypatch.setattr(Transaction, "execute_sql", lambda *_, **__: asked.append("scan"))
    put(parted, plan_for(parted, 2), *many(2))
    calls = called(parted, monkeypatch)
    put(parted, plan_for(parted, 12, floor=10), change("c", A, 11, "after"), change("c", B, 12, "after"))
    assert calls == ["ExecuteStreamingSql", "StreamingRead", "StreamingRead", "Commit"]
    assert set(parted.stored(TABLE.id)) == {A, B}
    put(parted, plan_for(parted, 15), *many(3, first=13))
    calls.clear()
    put(parted, plan_for(parted, 30, floor=29), change("c", A, 30, "again"))
    assert calls.count("Commit") == 1
    assert calls.count("ExecuteStreamingSql") == 2, "the keys are more than a commit takes"
    assert (labels(parted), set(parted.stored(TABLE.id))) == ({A: "again"}, {A})
    assert asked == []


KINDS: dict[str, tuple[ColumnType, object, object]] = {  # a value, and what a reader sees
    "flag": (ColumnType(Kind.BOOLEAN, "boolean"), True, True),
    "whole": (ColumnType(Kind.INT64, "bigint"), -(2**63), -(2**63)),
    "double": (ColumnType(Kind.FLOAT64, "float8"), -0.0, -0.0),
    "exact": (
        ColumnType(Kind.DECIMAL, "numeric(38,9)", 38, 9),
        Decimal("-1.500000001"),
        Decimal("-1.500000001"),
    ),
    "wide": (ColumnType(Kind.DECIMAL, "numeric(38,10)", 38, 10), Decimal("1.0000000001"), "1.0000000001"),
    "unsigned": (ColumnType(Kind.UINT64, "bigint unsigned"), Decimal(2**64 - 1), Decimal(2**64 - 1)),
    "bytes": (ColumnType(Kind.BYTES, "bytea"), b"\0\xff", b"\0\xff"),
    "day": (ColumnType(Kind.DATE, "date"), date(1, 1, 1), date(1, 1, 1)),
    "clock": (ColumnType(Kind.TIME_MICROS, "time"), 86_400_000_000, "24:00:00.000000"),
    "moment": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC).replace(tzinfo=None),
        "9999-12-31 23:59:59.999999+00:00",
    ),
    "json": (ColumnType(Kind.JSON, "jsonb"), '{"a": 1e400}', '{"a": 1e400}'),
}


def kinds(*names: str) -> TableSchema:
    columns = (Column(name, at, KINDS[name][0]) for at, name in enumerate(names, 10))
    return replace(TABLE, columns=(*COLUMNS, *columns))


def test_each_kind_is_what_it_was(world: SpannerWorld) -> None:
    table = kinds(*KINDS)
    values = {name: value for name, (_, value, _) in KINDS.items()}
    put(world, plan_for(world, 1, table=table), change("c", A, 1, "x", **values))
    put(world, plan_for(world, 2, table=table), change("c", B, 2, "y", **dict.fromkeys(KINDS)))
    seen = {key: dict(row) for key, row in world.visible(TABLE.id).items()}
    seen[A]["moment"] = str(seen[A]["moment"])
    assert repr({name: seen[A][name] for name in KINDS}) == repr(
        {n: wanted for n, (_, _, wanted) in KINDS.items()}
    )
    assert {seen[B][name] for name in KINDS} == {None}


OUTGROWN = (
    ColumnType(Kind.DECIMAL, "numeric(20,9)", 20, 9),
    ColumnType(Kind.DECIMAL, "numeric(36,12)", 36, 12),
)
TINY = (Decimal("-0.000000001"), Decimal("12345678901.123456789"), Decimal(7), None)


def of_decimals(of: ColumnType) -> TableSchema:
    return replace(TABLE, columns=(*COLUMNS, Column("exact", 10, of)))


@pytest.mark.full
@pytest.mark.parametrize("crashes", [False, True])
def test_a_decimal_that_outgrows_a_number_becomes_its_text(world: SpannerWorld, *, crashes: bool) -> None:
    narrow, wide = map(of_decimals, OUTGROWN)
    many = (change("c", ("a", at), at + 1, "x", exact=one) for at, one in enumerate(TINY))
    put(world, plan_for(world, 4, table=narrow), *many)
    plan = plan_for(world, 5, table=wide)
    if crashes:
        world.watch.point = BEFORE  # the second place is filled, and the state does not know it
        with pytest.raises(Crash):
            alter(world, plan, narrow)
        world.restart()
        others = change("u", ("a", 1), 8, "y", exact=None), change("u", ("a", 2), 8, "y", exact=Decimal(8))
        put(world, plan_for(world, 5, table=narrow), *others)
    alter(world, plan, narrow)
    put(world, plan, change("c", ("a", 4), 9, "z", exact=Decimal("0.000001000001")))
    texts = {key[1]: row["exact"] for key, row in world.visible(TABLE.id).items()}
    assert texts == {
        0: "-0.000000001000",
        1: None if crashes else "12345678901.123456789000",
        2: "8.000000000000" if crashes else "7.000000000000",
        3: None,
        4: "0.000001000001",
    }


@pytest.mark.full
def test_a_type_that_a_column_can_t_become_is_refused(world: SpannerWorld) -> None:
    narrow = kinds("exact")
    put(world, plan_for(world, 1, table=narrow), change("c", A, 1, "x", exact=Decimal(1)))
    wide = replace(narrow, columns=(*COLUMNS, replace(narrow.columns[-1], type=KINDS["wide"][0])))
    with pytest.raises(OperatorNeeded, match=r"staged\.type_changed"):
        alter(world, plan_for(world, 2, table=wide), narrow)
    put(world, plan_for(world, 2, table=narrow), change("u", A, 2, "y", exact=Decimal(2)))
    assert labels(world) == {A: "y"}


@pytest.mark.full
def test_names_are_those_that_spanner_allows(world: SpannerWorld) -> None:
    odd = [
        Column(name, at, TEXT)
        for at, name in enumerate(("_first", "9th", "select", "naïve", "wl copies"), 10)
    ]
    plan = plan_for(world, 1, table=replace(TABLE, columns=(*COLUMNS, *odd)))
    names = [one.target for one in plan.columns[len(COLUMNS) :]]
    assert names == ["x_first", "x9th", "select", "na_ve", "wl_copies"]
    values: dict[str, object] = dict.fromkeys(names, "v")
    put(world, plan, change("c", A, 1, "x", **values))
    assert {world.visible(TABLE.id)[A][name] for name in names[:-1]} == {"v"}
    ours = replace(TABLE, id=TABLE.id._replace(name="other"), columns=(*COLUMNS, Column("wl_seq", 10, TEXT)))
    with pytest.raises(OperatorNeeded, match=r"target\.name_reserved"):
        world.target.ensure_table(plan_for(world, 1, table=ours))


@pytest.mark.full
def test_a_stranger_s_table_is_left_alone(world: SpannerWorld) -> None:
    plan = plan_for(world, 1)
    place = world.layout.place(TABLE.id)
    world.user.make_schemas([place.view.schema])
    world.user.reshape([f"CREATE TABLE {place.view.schema}.orders (k INT64) PRIMARY KEY (k)"])
    world.user.reshape([f"CREATE VIEW {place.view.schema}.goods SQL SECURITY INVOKER AS SELECT 1 AS one"])
    tables = [TABLE.id, TABLE.id._replace(name="goods")]
    _, *taken = world.target.check(tables)
    assert [one.id for one in taken] == ["spanner.not_our_place"] * 2
    with pytest.raises(OperatorNeeded, match=r"staged\.name_taken"):
        world.target.ensure_table(plan)
    assert world.target.held(TABLE.id) is None
    world.user.reshape(one.suggestion.rpartition(": ")[2] for one in taken)
    assert [one.id for one in world.target.check(tables)] == ["spanner.rights_unknown"]


def test_what_a_hint_says_to_run_starts_a_table_over(world: SpannerWorld) -> None:
    """A table under a view can't be dropped."""

    def run(text: str) -> None:
        if text.startswith("DROP"):
            world.user.reshape([text])
        else:
            world.user.change(text)

    starts_over(world, run, "UPDATE wrackline.wl_state SET shape = 'x' WHERE true")


@pytest.mark.full
def test_a_table_goes_with_the_indexes_that_somebody_has_made(world: SpannerWorld) -> None:
    """Spanner drops no table that has one, and our page says how to make one."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    (made,) = re.findall(r"CREATE INDEX [^;]+", PAGE.read_text())
    world.user.reshape([made.replace("shop_public__orders(id)", "db_public__orders(label)")])
    assert isinstance(world.target, Dropping)
    assert world.target.drop(TABLE.id)
    assert world.target.held(TABLE.id) is None


@pytest.mark.full
def test_a_table_that_was_replaced_by_hand_is_not_taken_for_ours(world: SpannerWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    place = world.layout.place(TABLE.id)
    name = f"{place.table.schema}.{place.table.name}"
    world.user.reshape([f"DROP VIEW {place.view.schema}.{place.view.name}", f"DROP TABLE {name}"])
    world.restart()
    assert world.target.held(TABLE.id) is None, "a table that is gone is made again"
    world.user.reshape([f"CREATE TABLE {name} (wl_key STRING(MAX)) PRIMARY KEY (wl_key)"])
    with pytest.raises(OperatorNeeded, match=r"staged\.replaced") as refused:
        world.target.held(TABLE.id)
    run_hint(refused.value, lambda text: world.user.reshape([text]))
    put(world, plan_for(world, 1), change("c", B, 1, "y"))
    assert labels(world) == {B: "y"}
