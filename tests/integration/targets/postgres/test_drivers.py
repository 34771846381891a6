"""Two drivers on one table, connections that end anywhere, and values that no column can hold."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import (
    LAYOUT,
    POINTS,
    PostgresWorld,
    end_backend,
    settings_of,
)
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.targets.postgres import PLUGIN
from wrackline.consumers.targets.postgres.applied import PgTargetStateTable
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    TEXT,
    A,
    B,
    alter,
    change,
    labels,
    partial,
    plan_for,
    put,
    seq,
)

LOCK = "SELECT FROM wrackline._wl_applied FOR UPDATE"


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database.dsn)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    yield world
    world.target.close()


@pytest.mark.parametrize("point", POINTS)
def test_a_connection_that_ends_is_tried_again(world: PostgresWorld, point: str) -> None:
    """The process lives on, and the same target continues with another connection."""
    world.trap.ends_process = False
    before = labels(world)
    world.crash_next_apply(point)
    plan = plan_for(world, 9, floor=4)
    batch = [change("c", A, 5, "a"), change("c", B, 6, "b")]
    if point == "after the commit":  # it is committed, so nothing has failed
        put(world, plan, *batch)
    else:
        with pytest.raises(Transient, match=r"pg_target.connection_lost"):
            put(world, plan, *batch)
        assert labels(world) == before
        put(world, plan, *batch)
    assert world.trap.point is None, "the connection did not end where it should"
    assert labels(world) == {A: "a", B: "b"}
    assert world.target.applied(TABLE.id) == plan.upto


def test_a_second_driver_waits_and_harms_nothing(world: PostgresWorld) -> None:
    """It has begun first and brings what is older; what the other one commits meanwhile stands (T-K04)."""
    second = PostgresWorld(world.dsn)
    older = replace(plan_for(world, 5), since=world.target.applied(TABLE.id))
    staged = second.target.stage(second.frame([change("u", A, 3, "older"), partial("c", B, 2)], older), older)
    done = threading.Thread(target=second.target.apply, args=(staged, older))
    with psycopg.connect(world.dsn) as holder:
        holder.execute(LOCK)
        done.start()
        _wait_for_a_lock(world)
        newer = replace(world.target.applied(TABLE.id), floor=seq(7))
        PgTargetStateTable(LAYOUT).advance(holder, LAYOUT.place(TABLE.id), newer)
    done.join(30)
    second.target.close()
    assert world.target.applied(TABLE.id) == newer.then(older.upto)
    assert labels(world) == {A: "x"}, "its changes are older than the truncate"


def test_a_change_of_shape_and_a_reader_wait_in_one_order(world: PostgresWorld) -> None:
    """A reader locks the view and then the table.  COMMENT, which locks the view alone, is its first half."""
    wider = replace(TABLE, columns=(*COLUMNS, Column("extra", 5, TEXT)))
    changed = threading.Thread(target=alter, args=(world, plan_for(world, 2, table=wider), TABLE))
    with psycopg.connect(world.dsn) as reader:
        reader.execute("COMMENT ON VIEW orders IS 'read'")
        changed.start()
        _wait_for_a_lock(world)
        assert reader.execute("SELECT count(*) FROM orders").fetchone() == (1,)
    changed.join(30)
    assert set(world.visible(TABLE.id)[A]) == {"shop", "number", "label", "big", "extra"}


def test_a_batch_for_another_shape_is_made_again(world: PostgresWorld) -> None:
    plan = replace(plan_for(world, 2), since=world.target.applied(TABLE.id))
    staged = world.target.stage(world.frame([change("u", A, 2, "y")], plan), plan)
    alter(world, plan_for(world, 2, table=replace(TABLE, columns=COLUMNS[:3])), TABLE)
    with pytest.raises(Transient, match=r"pg_target.shape_moved"):
        world.target.apply(staged, plan)
    assert labels(world) == {A: "x"}


def test_patience_with_a_second_driver_has_an_end(world: PostgresWorld) -> None:
    world.settings = settings_of(world.dsn, **{"target.lock.timeout.ms": "50"})
    world.restart()
    plan = plan_for(world, 2)
    with psycopg.connect(world.dsn) as holder:
        holder.execute(LOCK)
        with pytest.raises(Transient, match=r"pg_target.busy") as busy:
            put(world, plan, change("u", A, 2, "y"))
        world.sql(str(busy.value.hint).partition("who it is: ")[2].partition("; a second")[0])
    put(world, plan, change("u", A, 2, "y"))
    assert labels(world) == {A: "y"}


def test_tables_are_made_once_by_many(database: Database) -> None:
    worlds = [PostgresWorld(database.dsn) for _ in range(3)]
    plan = plan_for(worlds[0], 1)
    failed: list[BaseException] = []

    def ensure(world: PostgresWorld) -> None:
        try:
            world.target.ensure_table(plan)
        except BaseException as exc:  # noqa: BLE001 - reported to the test's own thread
            failed.append(exc)

    threads = [threading.Thread(target=ensure, args=(world,)) for world in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failed
    assert all(world.target.held(TABLE.id) == plan.columns for world in worlds)
    for world in worlds:
        world.target.close()


def test_an_idle_connection_that_ended_is_not_used(world: PostgresWorld) -> None:
    ours = "SELECT pid FROM pg_stat_activity WHERE application_name = 'wrackline test'"
    for row in world.sql(f"{ours} AND datname = current_database()"):
        end_backend(world.dsn, row["pid"])
    assert world.target.applied(TABLE.id).offsets


def test_nothing_is_left_of_batches_that_were_not_applied(world: PostgresWorld) -> None:
    plan = plan_for(world, 2)
    for number in range(4):
        world.target.stage(world.frame([change("u", A, 2 + number, "staged")], plan), plan)
    stages = "SELECT count(*) AS n FROM pg_class WHERE relname = 'stage'"
    deadline = time.monotonic() + 10
    while world.sql(stages) != [{"n": 1}]:  # a backend drops its own when it finds its client gone
        assert time.monotonic() < deadline
    world.target.close()


def test_a_value_that_no_column_holds_is_refused_without_being_shown(world: PostgresWorld) -> None:
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    no_number = replace(change("u", A, 3), values={"shop": "a", "number": "secret"})
    for one, named in (
        (no_number, "value_refused.*orders.* a value of column 'number'"),
        (change("u", A, 3, "secret\0text"), "character_refused.*orders"),
    ):
        with pytest.raises(OperatorNeeded, match=named) as refused:
            put(world, plan_for(world, 3), one)
        assert "secret" not in str(refused.value)
        assert refused.value.__suppress_context__, "the driver's error quotes the line"
    assert labels(world) == {A: "y"}
    assert world.target.applied(TABLE.id).offsets == plan_for(world, 2).upto.offsets


@pytest.mark.parametrize(
    ("of", "texts"),
    [(ColumnType(Kind.NUMERIC_TEXT, "numeric"), ("1.0", "1.00")),
     (ColumnType(Kind.INTERVAL, "interval"), ("P30D", "P1M")),
     (ColumnType(Kind.JSON, "jsonb"), ('{"a": 1.0}', '{"a": 1.00}'))],
)  # fmt: skip
@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_texts_that_are_one_key_here_are_merged_in_order(
    world: PostgresWorld, of: ColumnType, texts: tuple[str, str], cut: int
) -> None:
    """However the batch is cut, the table is the same, and no row has two changes at once (T-K16)."""
    table = TableSchema(
        TableId("db", "public", "odd"),
        (Column("k", 1, of, nullable=False), *COLUMNS[2:]), ("k",), KeyKind.PRIMARY,
    )  # fmt: skip
    one, other = texts
    changes = [
        Change((one,), seq(1), "c", {"k": one, "label": "first", "big": "kept"}),
        Change((other,), seq(2), "u", {"k": other, "label": "second", "big": None}, frozenset({"big"})),
        Change((one,), seq(3), "d", {"k": one}),
        Change((other,), seq(3), "c", {"k": other, "label": "third", "big": "new"}),
    ]
    for part in (changes[:cut], changes[cut:], changes):
        put(world, plan_for(world, 1, table=table), *part)
    (row,) = world.sql("SELECT label, big FROM odd")
    assert row == {"label": "third", "big": "new"}
    put(world, plan_for(world, 2, table=table), replace(changes[1], seq=seq(4)))
    assert world.sql("SELECT label, big FROM odd") == [{"label": "second", "big": "new"}]


def test_keys_may_be_null(world: PostgresWorld) -> None:
    """T-K16."""
    table = replace(
        TABLE,
        id=TableId("db", "public", "loose"),
        columns=(replace(COLUMNS[0], nullable=True), *COLUMNS[1:]),
        key_kind=KeyKind.CUSTOM,
    )
    nothing = change("c", ("", 1), 1, "x")
    nothing = replace(nothing, key=(None, 1), values={**nothing.values, "shop": None})
    for number in (1, 2):
        put(world, plan_for(world, number, table=table), replace(nothing, seq=seq(number)))
    assert world.sql("SELECT shop, number, label FROM loose") == [{"shop": None, "number": 1, "label": "x"}]


def test_a_key_that_may_be_null_from_now_on(world: PostgresWorld) -> None:
    loose = replace(
        TABLE, columns=(replace(COLUMNS[0], nullable=True), *COLUMNS[1:]), key_kind=KeyKind.CUSTOM
    )
    nothing = change("c", ("", 1), 2, "x")
    nothing = replace(nothing, key=(None, 1), values={**nothing.values, "shop": None})
    put(world, plan_for(world, 2, table=loose), nothing)
    assert {row["shop"] for row in world.seen(TABLE.id)} == {"a", None}


def test_a_connection_error_says_whether_an_operator_must_act(database: Database) -> None:
    with pytest.raises(OperatorNeeded, match=r"pg_target.login_refused"):
        PLUGIN.open(settings_of(database.dsn, **{"target.dbname": "nobody_made_it"}), None)  # type: ignore[arg-type] # no session is needed to knock
    with pytest.raises(Transient, match=r"pg_target.unreachable"):
        PLUGIN.open(settings_of(database.dsn, **{"target.port": "1"}), None)  # type: ignore[arg-type] # as above
    with pytest.raises(OperatorNeeded, match=r"pg_target.login_refused"):
        PLUGIN.open(settings_of(database.dsn, **{"target.sslmode": "verify-full"}), None)  # type: ignore[arg-type] # as above
    target = PLUGIN.open(settings_of(database.dsn), None)  # type: ignore[arg-type] # as above
    assert target.applied(TABLE.id) == Applied()
    target.close()


def _wait_for_a_lock(world: PostgresWorld) -> None:
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    deadline = time.monotonic() + 30
    while not world.sql(waits):
        assert time.monotonic() < deadline, "nobody waits"
