"""What users do to a target: rename, drop, retype, add, grant; and what they have before we come."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import Frame, PostgresWorld, plain_lines, settings_of
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.targets.postgres.sql.place import PgTargetLayout
from wrackline.consumers.targets.postgres.target import PgTarget
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.tables.table import Column, TableId
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import (
    BIG,
    COLUMNS,
    INTEGER,
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
)

NINE = ColumnType(Kind.DECIMAL, "numeric(9,2)", precision=9, scale=2)
TWELVE = ColumnType(Kind.DECIMAL, "numeric(12,2)", precision=12, scale=2)
STORAGE = 'wrackline."public.orders"'


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database.dsn)
    put(world, plan_for(world, 1), change("c", A, 1, "x", "kept"))
    yield world
    world.target.close()


@pytest.mark.parametrize(
    ("done", "finding"),
    [
        (f"ALTER TABLE {STORAGE} RENAME COLUMN label TO titel", "pg_target.column_renamed"),
        (
            f"DROP VIEW orders; ALTER TABLE {STORAGE} ALTER COLUMN label TYPE varchar(3)",
            "pg_target.column_retyped",
        ),
        ("DROP VIEW orders", "pg_target.no_view"),
    ],
)
def test_what_was_changed_by_hand_is_found_and_repaired(
    world: PostgresWorld, done: str, finding: str
) -> None:
    world.sql(done)
    (found, *_) = world.target.check([TABLE.id])
    assert (found.id, found.table, found.severity) == (finding, TABLE.id, Severity.ERROR)
    world.restart()
    held = world.target.held(TABLE.id)
    assert held == plan_for(world, 1).columns, "identities are kept, whatever columns are called"
    if finding != "pg_target.no_view":
        with pytest.raises(OperatorNeeded) as refused:
            put(world, plan_for(world, 2), change("u", A, 2, "longer than three", "kept"))
        assert found.suggestion == refused.value.hint
        assert "longer than three" not in str(refused.value)
        assert world.target.applied(TABLE.id).offsets == plan_for(world, 1).upto.offsets
    world.sql(found.suggestion)
    assert not world.target.check([TABLE.id])
    put(world, plan_for(world, 3), change("u", A, 3, "mended", "kept"))
    assert labels(world) == {A: "mended"}


def test_a_dropped_column_says_how_to_start_over(world: PostgresWorld) -> None:
    world.sql(f"ALTER TABLE {STORAGE} DROP COLUMN label CASCADE")
    with pytest.raises(OperatorNeeded, match=r"pg_target.in_the_way") as refused:
        put(world, plan_for(world, 2), change("u", A, 2, "y"))
    world.sql(refused.value.hint.partition(";")[0])
    assert world.target.held(TABLE.id) is None
    assert world.target.applied(TABLE.id) == Applied()
    put(world, plan_for(world, 3), change("r", A, 1, "again"))
    assert labels(world) == {A: "again"}


def test_a_users_columns_and_index_stay(world: PostgresWorld) -> None:
    world.sql(f"ALTER TABLE {STORAGE} ADD COLUMN mine text DEFAULT 'own'; CREATE INDEX ON {STORAGE} (label)")
    wider = replace(TABLE, columns=(*COLUMNS[:3], Column("extra", 5, TEXT)))
    plan = plan_for(world, 2, table=wider)
    alter(world, plan, TABLE)
    put(world, plan, change("c", B, 2, "y", extra="e"), change("u", A, 3, "new", extra="f"))
    assert world.sql(f"SELECT label, mine FROM {STORAGE} ORDER BY shop") == [
        {"label": "new", "mine": "own"},
        {"label": "y", "mine": "own"},
    ]
    assert set(world.visible(TABLE.id)[A]) == {"shop", "number", "label", "extra"}
    assert not world.target.check([TABLE.id])


def test_views_of_others_live_on_where_a_column_is_added_or_renamed(world: PostgresWorld) -> None:
    world.sql("CREATE VIEW mine AS SELECT label AS said FROM orders")
    renamed = replace(
        TABLE, columns=(*COLUMNS[:2], replace(COLUMNS[2], name="title"), COLUMNS[3], Column("extra", 5, TEXT))
    )
    plan = plan_for(world, 2, table=renamed)
    alter(world, plan, TABLE)
    assert world.sql("SELECT said FROM mine") == [{"said": "x"}]
    assert set(world.visible(TABLE.id)[A]) == {"shop", "number", "title", "big", "extra"}
    without = replace(TABLE, columns=(*COLUMNS[:2], COLUMNS[3]))
    with pytest.raises(OperatorNeeded, match=r"pg_target.dependents"):
        alter(world, plan_for(world, 3, table=without), renamed)
    assert world.target.held(TABLE.id) == plan.columns, "nothing of it was done"
    world.sql("DROP VIEW mine")
    alter(world, plan_for(world, 3, table=without), renamed)
    assert world.visible(TABLE.id)[A] == {"shop": "a", "number": 1, "big": "kept"}


def test_grants_outlive_a_view_that_is_made_again(world: PostgresWorld) -> None:
    role = "reader_" + world.settings.text("target.dbname")
    world.sql(f'CREATE ROLE "{role}"')
    try:
        world.sql(f'GRANT SELECT ON orders TO "{role}"; GRANT SELECT ON orders TO public')
        alter(world, plan_for(world, 2, table=replace(TABLE, columns=COLUMNS[:3])), TABLE)
        may = f"SELECT has_table_privilege('{role}', oid, 'SELECT') AS one, relacl::text ~ '[{{,]=r' AS all"
        assert world.sql(f"{may} FROM pg_class WHERE oid = 'orders'::regclass") == [
            {"one": True, "all": True}
        ]
    finally:
        world.sql(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')


def test_a_dropped_column_completes_the_rows_that_lacked_it(world: PostgresWorld) -> None:
    put(world, plan_for(world, 2), partial("c", B, 2, "y"))
    assert world.stored(TABLE.id)[B].missing == BIG
    plan = plan_for(world, 3, table=replace(TABLE, columns=COLUMNS[:3]))
    for _ in range(2):
        alter(world, plan, TABLE)
        assert labels(world) == {A: "x", B: "y"}


@pytest.mark.parametrize(
    ("old", "new", "value", "rewrites"),
    [
        (NINE, ColumnType(Kind.NUMERIC_TEXT, "numeric"),
         "1.10", False),
        (NINE,
         TWELVE, "1.10", False),
        (ColumnType(Kind.ENUM, "mood"), TEXT, "fine", False),
        (INTEGER, TWELVE, 7, True),
        (ColumnType(Kind.FLOAT32, "real"), ColumnType(Kind.FLOAT64, "double precision"), 0.5, True),
        (ColumnType(Kind.JSON, "json"), ColumnType(Kind.JSON, "jsonb"), '{"a": 1}', True),
    ],
)  # fmt: skip
def test_what_widens_and_which_of_it_writes_rows_again(
    world: PostgresWorld, old: ColumnType, new: ColumnType, value: object, *, rewrites: bool
) -> None:
    narrow, wide = (replace(TABLE, columns=(*COLUMNS, Column("v", 5, of))) for of in (old, new))
    alter(world, plan_for(world, 2, table=narrow), TABLE)
    put(world, plan_for(world, 2, table=narrow), change("u", A, 2, "x", "kept", v=value))
    file = f"SELECT pg_relation_filenode('{STORAGE}') AS file, v::text::jsonb AS v FROM orders"
    if old.kind is Kind.ENUM:
        file = file.replace("v::text::jsonb", "v")
    before = world.sql(file)
    alter(world, plan_for(world, 3, table=wide), narrow)
    after = world.sql(file)
    assert (before[0]["file"] != after[0]["file"]) == rewrites
    assert before[0]["v"] == after[0]["v"]
    can = world.target.can.widens
    assert old.kind is new.kind or (old.kind, new.kind) in can


def test_a_type_that_does_not_fit_is_refused_before_anything(world: PostgresWorld) -> None:
    """T-H07."""
    numbers = replace(TABLE, columns=(*COLUMNS[:2], replace(COLUMNS[2], type=INTEGER), COLUMNS[3]))
    with pytest.raises(OperatorNeeded, match=r"column 'label' of .* is text and can't become integer"):
        alter(world, plan_for(world, 2, table=numbers), TABLE)
    assert labels(world) == {A: "x"}


def test_a_name_that_is_taken_is_left_alone(database: Database) -> None:
    world = PostgresWorld(database.dsn)
    world.sql("CREATE TABLE orders (mine text); INSERT INTO orders VALUES ('own')")
    (found,) = world.target.check([TABLE.id])
    assert found.id == "pg_target.not_our_place"
    with pytest.raises(OperatorNeeded, match=r"pg_target.name_taken"):
        put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert world.sql("SELECT * FROM orders") == [{"mine": "own"}]
    world.sql(found.suggestion)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert labels(world) == {A: "x"}
    world.target.close()


def test_two_tables_do_not_share_a_place(database: Database) -> None:
    def one_schema(world: PostgresWorld) -> PgTarget[Frame]:
        return PgTarget(world.connect, PgTargetLayout("everything", "wrackline"), plain_lines)

    world = PostgresWorld(database.dsn, one_schema)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    other = replace(TABLE, id=TableId("db", "sales", "orders"))
    with pytest.raises(OperatorNeeded, match=r"everything.*already belongs to db.public.orders"):
        world.target.ensure_table(plan_for(world, 1, table=other))
    world.target.close()


def test_rights_that_lack_are_named_with_their_grant(database: Database) -> None:
    world = PostgresWorld(database.dsn)
    role = f"writer_{database.name}"
    world.sql(f'CREATE ROLE "{role}" LOGIN; REVOKE ALL ON SCHEMA public FROM public')
    world.settings = settings_of(database.dsn, **{"target.user": role})
    try:
        world.restart()
        for _ in range(2):  # the database's right, then the schema's
            with pytest.raises(OperatorNeeded, match=r"pg_target.in_the_way") as refused:
                put(world, plan_for(world, 1), change("c", A, 1, "x"))
            assert refused.value.hint.startswith("GRANT ")
            world.sql(refused.value.hint)
        assert not world.target.check([TABLE.id])
        put(world, plan_for(world, 1), change("c", A, 1, "x"))
        assert labels(world) == {A: "x"}
    finally:
        world.target.close()
        world.sql(f'DROP OWNED BY "{role}" CASCADE; DROP ROLE "{role}"')


def test_a_kind_with_two_forms_keeps_the_first(world: PostgresWorld) -> None:
    """A column of json became jsonb at the source: the same kind, so nobody asks for a change of shape."""
    plain, normal = (
        replace(TABLE, columns=(*COLUMNS, Column("v", 5, ColumnType(Kind.JSON, of))))
        for of in ("json", "jsonb")
    )
    alter(world, plan_for(world, 2, table=plain), TABLE)
    for number, table in enumerate((plain, normal), start=2):
        batch = [change("u", A, number, v='{"a":  1}'), change("c", ("b", number), number, v='{"a":  1}')]
        put(world, plan_for(world, number, table=table), *batch)
    assert {row["v"] for row in world.sql("SELECT v::text FROM orders")} <= {'{"a":  1}', '{"a": 1}'}
