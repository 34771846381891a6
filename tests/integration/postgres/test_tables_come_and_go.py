"""Tables that are created, dropped, renamed and altered while a stream runs, and while it does not."""

import time
from collections.abc import Iterator, Sequence
from functools import partial

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from tests.integration.shop import Opened
from wrackline.producers.contract.steps import (
    Appeared,
    Commit,
    Fault,
    Found,
    Message,
    Renamed,
    Reshaped,
    Shape,
    Step,
    Vanished,
)
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.sources.postgres import source
from wrackline.producers.sources.postgres.discover import ddl_messages
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.producers.sources.postgres.stream import PgStream
from wrackline.schemas.tables.table import TableId


class Shop(Opened):
    """A database with the table `a`, and a pipeline over all that does not begin with x."""

    def __init__(self, database: Database, **settings: str) -> None:
        self.database, self.settings = database, settings
        self.sql = psycopg.connect(database.dsn, autocommit=True)
        self.sql.execute("CREATE TABLE a (id int PRIMARY KEY, note text)")
        super().__init__(PgRegistry())
        self.read()

    def start(self, aside: Sequence[TableId] = ()) -> tuple[PgSource, PgStream]:
        """Open the log where it was left, with the tables of now."""
        chosen = {"table.exclude.list": r"public\.x.*", **self.settings}
        made = PgSource(settings_of(self.database.dsn, **chosen), self.around)
        (partition,) = made.partitions()
        tables = [table for table in made.tables(partition) if table not in aside]
        return made, made.stream(partition, tables, self.saved, aside)

    def close(self) -> None:
        self.stop()
        self.sql.close()

    def named(self, name: str) -> TableId:
        return TableId(self.database.name, "public", name)

    def read(self) -> list[Step]:
        """Read all that is written now."""
        ((xid,),) = self.sql.execute(
            "SELECT pg_current_xact_id()::text FROM pg_logical_emit_message(true, 'end', '')"
        )
        return self.read_until(partial(_committed, str(xid)))


def _committed(xid: str, steps: Sequence[Step]) -> bool:
    return any(isinstance(step, Commit) and step.transaction == xid for step in steps)


@pytest.fixture
def shop(
    database: Database, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Shop]:
    """The shop, with a catalogue that is looked at twice a second."""
    monkeypatch.setattr(source, "CataloguePoller", partial(CataloguePoller, every=0.5))
    made = Shop(database, **getattr(request, "param", {}))
    if not any(isinstance(step, Found) for step in made.steps):
        made.until(Found)
    yield made
    made.close()


EVERYTHING = pytest.mark.parametrize(
    "shop", [{"publication.autocreate.mode": "all_tables"}], indirect=True, ids=["all tables"]
)


def test_a_new_table_is_added_to_a_list_of_ours_and_its_earlier_rows_are_asked_for(shop: Shop) -> None:
    """T-P18."""
    with psycopg.connect(shop.database.dsn) as writer:
        shop.sql.execute("CREATE TABLE b (id int PRIMARY KEY); CREATE TABLE x (id int PRIMARY KEY)")
        writer.execute("INSERT INTO b VALUES (1)")  # and does not commit
        looks = "SELECT count(*) FROM pg_publication_tables WHERE tablename = 'b'"
        end = time.monotonic() + 1.5  # two looks
        while time.monotonic() < end:
            shop.stream.poll(time.monotonic() + 0.1)
        assert shop.sql.execute(looks).fetchone() == (0,), "added under a writer, whose row nobody would send"
    steps = shop.until(Appeared)
    assert [(step.table, step.complete) for step in steps if isinstance(step, Appeared)] == [
        (shop.named("b"), False)
    ]
    shop.sql.execute("INSERT INTO b VALUES (2); INSERT INTO x VALUES (3)")
    assert shop.rows(shop.read()) == [("b", {"id": 2})]
    published = "SELECT tablename::text FROM pg_publication_tables ORDER BY 1"
    assert shop.sql.execute(published).fetchall() == [("a",), ("b",)]


@EVERYTHING
def test_where_all_is_published_a_new_table_is_there_with_its_first_row(shop: Shop) -> None:
    shop.sql.execute("BEGIN; CREATE TABLE b (id int PRIMARY KEY); INSERT INTO b VALUES (1); COMMIT")
    steps = shop.read()
    (appeared,) = [step for step in steps if isinstance(step, Appeared)]
    assert (appeared.table, appeared.complete) == (shop.named("b"), True)
    assert appeared.shape is not None
    assert shop.rows(steps) == [("b", {"id": 1})]
    assert steps.index(appeared) < next(i for i, step in enumerate(steps) if isinstance(step, Shape))
    shop.sql.execute("CREATE TABLE c (id int PRIMARY KEY)")
    empty = shop.until(Appeared)
    assert [step.complete for step in empty if isinstance(step, Appeared)] == [True]


def test_a_new_table_of_a_publication_that_is_not_ours_is_at_fault_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CataloguePoller", partial(CataloguePoller, every=0.5))
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute("CREATE SCHEMA s; CREATE TABLE s.seen (id int PRIMARY KEY)")
        sql.execute("CREATE PUBLICATION theirs FOR TABLE s.seen")
    shop = Shop(
        database,
        **{
            "publication.autocreate.mode": "disabled",
            "publication.name": "theirs",
            "table.exclude.list": r"public\.a",
        },
    )
    try:
        shop.sql.execute('CREATE TABLE "b-1" (id int PRIMARY KEY)')
        (fault,) = [step for step in shop.until(Fault) if isinstance(step, Fault)]
        assert (fault.table.name, fault.error.code) == ("b-1", "pg.publication_lacks")
        statement = fault.error.hint.partition("owner: ")[2].partition(";")[0]
        assert statement == 'ALTER PUBLICATION "theirs" ADD TABLE "public"."b-1"'
        shop.sql.execute(statement.encode())
        shop.sql.execute('INSERT INTO "b-1" VALUES (1); INSERT INTO s.seen VALUES (1)')
        assert shop.rows(shop.read()) == [("seen", {"id": 1})], (
            "what was missed is not passed over in silence"
        )
        shop.stop()
        shop.source, shop.stream = shop.start(aside=[fault.table])
        shop.sql.execute('INSERT INTO "b-1" VALUES (2); INSERT INTO s.seen VALUES (2)')
        assert shop.rows(shop.read()) == [("seen", {"id": 2})], "nor after a restart"
    finally:
        shop.close()


@EVERYTHING
@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_rows_go_where_their_table_was_called_so_at_the_time(shop: Shop, *, stopped: bool) -> None:
    shop.sql.execute("INSERT INTO a VALUES (1, 'one')")
    if not stopped:
        assert shop.rows(shop.read()) == [("a", {"id": 1, "note": "one"})]
    else:
        shop.stop()
    shop.sql.execute("INSERT INTO a VALUES (2, 'two')")
    shop.sql.execute("BEGIN; ALTER TABLE a RENAME TO b; INSERT INTO b VALUES (3, 'three'); COMMIT")
    if stopped:
        shop.source, shop.stream = shop.start()
    steps = shop.read()
    renamed = [step for step in steps if isinstance(step, Renamed)]
    assert [(step.old, step.new) for step in renamed] == [(shop.named("a"), shop.named("b"))]
    names = [(name, row["id"]) for name, row in shop.rows(steps)]
    assert names == [*([("a", 1)] if stopped else []), ("a", 2), ("b", 3)]
    shop.sql.execute("ALTER TABLE b RENAME TO x")
    assert [type(step) for step in shop.until(Vanished)] == [Vanished]
    shop.sql.execute("INSERT INTO x VALUES (4, 'four'); ALTER TABLE x RENAME TO c")
    back = [step for step in shop.until(Appeared) if isinstance(step, Appeared)]
    assert [(step.table.name, step.complete) for step in back] == [("c", False)]


@EVERYTHING
def test_a_rename_that_left_no_row_is_seen_and_a_swap_is_in_order(shop: Shop) -> None:
    shop.sql.execute("ALTER TABLE a RENAME TO b")
    assert [(one.old.name, one.new.name) for one in shop.until(Renamed) if isinstance(one, Renamed)] == [
        ("a", "b")
    ]
    shop.sql.execute("CREATE TABLE c (id int PRIMARY KEY, note text); INSERT INTO c VALUES (1, 'new')")
    shop.until(Appeared)
    shop.sql.execute(
        "BEGIN; ALTER TABLE b RENAME TO old; ALTER TABLE c RENAME TO b; INSERT INTO b VALUES (2, ''); COMMIT"
    )
    steps = [step for step in shop.until(Renamed, Appeared) if not isinstance(step, Reshaped)]
    told = [
        (step.old.name, step.new.name)
        if isinstance(step, Renamed)
        else (type(step).__name__, step.table.name)
        for step in steps
        if isinstance(step, Renamed | Vanished | Appeared)
    ]
    assert told == [("Vanished", "b"), ("c", "b"), ("Appeared", "old")]


@EVERYTHING
def test_a_dropped_table_gives_what_it_wrote_before_and_leaves_the_others_alone(shop: Shop) -> None:
    shop.sql.execute("CREATE TABLE b (id int PRIMARY KEY); INSERT INTO b VALUES (1)")
    shop.until(Appeared)
    shop.read()
    shop.sql.execute("INSERT INTO b VALUES (2); INSERT INTO a VALUES (1, ''); DROP TABLE b")
    steps = shop.until(Vanished)
    assert [step.table.name for step in steps if isinstance(step, Vanished)] == ["b"]
    shop.sql.execute("INSERT INTO a VALUES (2, '')")
    shop.read()
    assert not [step for step in shop.steps if isinstance(step, Fault)]
    assert [(name, row["id"]) for name, row in shop.rows(shop.steps)] == [
        ("b", 1),
        ("b", 2),
        ("a", 1),
        ("a", 2),
    ]


ALTERATIONS = [
    ("ADD c text", False),
    ("ADD c text DEFAULT 'x'", True),
    ("ADD c int GENERATED ALWAYS AS IDENTITY", True),
    ("ALTER note TYPE bytea USING 'new'::bytea", True),
    ("ALTER note TYPE varchar(9)", True),
    ("RENAME note TO text", False),
    ("DROP note", False),
]
ONLY_WHILE_LOOKING = [
    ("ADD c uuid DEFAULT gen_random_uuid(); ALTER TABLE a ALTER c DROP DEFAULT", True),
    ("ALTER note SET NOT NULL", False),
    ("DROP CONSTRAINT a_pkey, ADD UNIQUE (note), ALTER note SET NOT NULL", True),
]


@pytest.mark.parametrize(
    ("alteration", "refresh", "stopped"),
    [
        *((*one, False) for one in (*ALTERATIONS, *ONLY_WHILE_LOOKING)),
        *((*one, True) for one in ALTERATIONS),
    ],
)
def test_an_alteration_without_a_row_is_seen_and_judged(
    shop: Shop, alteration: str, *, refresh: bool, stopped: bool
) -> None:
    shop.sql.execute("INSERT INTO a VALUES (1, 'one')")
    if stopped:
        shop.stop()
    else:
        shop.read()
    shop.sql.execute(f"ALTER TABLE a {alteration}".encode())
    if stopped:
        shop.source, shop.stream = shop.start()
    reshaped = [step for step in shop.until(Reshaped) if isinstance(step, Reshaped)]
    assert [(step.table, step.refresh) for step in reshaped] == [(shop.named("a"), refresh)]
    assert reshaped[0].shape is not None
    if "UNIQUE" in alteration:  # another key, which the log does not carry by itself
        shop.sql.execute("ALTER TABLE a REPLICA IDENTITY FULL")
    shop.sql.execute("DELETE FROM a")
    assert not [step for step in shop.read() if isinstance(step, Reshaped) and step.refresh], "asked twice"


def test_a_table_that_was_altered_while_the_stream_was_stopped_can_be_compared(shop: Shop) -> None:
    shop.stop()
    shop.sql.execute("ALTER TABLE a ADD c text DEFAULT 'x', ADD d text")
    shop.source, shop.stream = shop.start()
    (found,) = [step for step in shop.until(Found) if isinstance(step, Found)]
    assert [column.name for column in found.table.columns] == ["id", "note", "c", "d"]
    assert found.filled == {3}


def test_an_alteration_that_the_log_shows_first_is_judged_there(shop: Shop) -> None:
    shop.sql.execute("INSERT INTO a VALUES (1, 'one')")
    shop.stop()
    shop.sql.execute("ALTER TABLE a ADD c text DEFAULT 'x'; INSERT INTO a VALUES (2, 'two')")
    shop.source, shop.stream = shop.start()
    steps = shop.read()
    shapes = [
        (step.table.column("c").identity in step.filled)
        for step in steps
        if isinstance(step, Shape)
        if any(column.name == "c" for column in step.table.columns)
    ]
    assert shapes == [True]
    assert [step.refresh for step in steps if isinstance(step, Reshaped)][:1] == [True]


@EVERYTHING
def test_with_the_event_trigger_everything_is_said_where_it_happened(shop: Shop) -> None:
    shop.sql.execute(ddl_messages.install_sql("postgres").encode())
    shop.sql.execute("INSERT INTO a VALUES (1, 'one')")
    steps = shop.read()
    shop.sql.execute(
        "BEGIN; INSERT INTO a VALUES (2, 'two');"
        " ALTER TABLE a ADD other text DEFAULT 'other'; INSERT INTO a VALUES (3, 'three');"
        " ALTER TABLE a RENAME note TO swap; ALTER TABLE a RENAME other TO note;"
        " ALTER TABLE a RENAME swap TO other; INSERT INTO a (id, other) VALUES (4, 'four');"
        " ALTER TABLE a RENAME TO b; INSERT INTO b VALUES (5); COMMIT;"
        " CREATE TABLE c (id int PRIMARY KEY); INSERT INTO c VALUES (6); DROP TABLE c"
    )
    steps += shop.read()
    assert not [step for step in steps if isinstance(step, Fault)]
    assert [step.prefix for step in steps if isinstance(step, Message)] == ["end"] * 2
    numbers = [
        {column.name: column.identity for column in step.table.columns}
        for step in steps
        if isinstance(step, Shape)
    ]
    assert numbers == [
        {"id": 1, "note": 2},
        {"id": 1, "note": 2, "other": 3},
        {"id": 1, "other": 2, "note": 3},
        {"id": 1, "other": 2, "note": 3},
        {"id": 1},
    ]
    assert [(name, row["id"]) for name, row in shop.rows(steps)] == [
        ("a", 1),
        ("a", 2),
        ("a", 3),
        ("a", 4),
        ("b", 5),
        ("c", 6),
    ]
    refreshes = [step.table.name for step in steps if isinstance(step, Reshaped) and step.refresh]
    assert refreshes == ["a"]
    order = [type(step) for step in steps if isinstance(step, Renamed | Reshaped)]
    assert order[-1] is Renamed


PARTS = """
CREATE TABLE parts (id int, r text, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a');
CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN ('b') PARTITION BY RANGE (id);
CREATE TABLE parts_b1 PARTITION OF parts_b DEFAULT"""


def _tables_told(steps: Sequence[Step]) -> set[str]:
    """The tables that steps name, the rows' aside."""
    told = {step.table.name for step in steps if isinstance(step, Appeared | Vanished | Fault | Reshaped)}
    return told | {step.table.id.name for step in steps if isinstance(step, Shape | Found)}


@pytest.mark.parametrize("shop", [{}, {"publication.autocreate.mode": "all_tables"}], indirect=True)
def test_a_partition_is_no_table_of_its_own(shop: Shop) -> None:
    shop.sql.execute(PARTS.encode())
    shop.until(Appeared)
    shop.sql.execute("INSERT INTO parts VALUES (1, 'a'), (2, 'b')")
    told = shop.read()
    shop.sql.execute("ALTER TABLE parts ADD note text DEFAULT 'x'")
    shop.sql.execute("CREATE TABLE parts_c PARTITION OF parts FOR VALUES IN ('c')")
    shop.sql.execute("INSERT INTO parts VALUES (3, 'a'), (4, 'b'), (5, 'c')")
    told += shop.read()
    assert [(name, row["id"]) for name, row in shop.rows(told)] == [("parts", n) for n in range(1, 6)]
    shop.sql.execute("CREATE TABLE last (id int PRIMARY KEY)")
    told += shop.until(Appeared)  # so the catalogue has been looked at since
    assert _tables_told(told) == {"parts", "last"}


def test_a_partition_that_is_detached_is_a_table_until_it_is_attached(shop: Shop) -> None:
    shop.sql.execute(PARTS.encode())
    shop.until(Appeared)
    shop.sql.execute("INSERT INTO parts VALUES (1, 'a')")
    shop.read()
    shop.sql.execute("ALTER TABLE parts DETACH PARTITION parts_a")
    assert _tables_told(shop.until(Appeared)) == {"parts_a"}
    shop.sql.execute("INSERT INTO parts_a VALUES (2, 'a')")
    assert [(name, row["id"]) for name, row in shop.rows(shop.read())] == [("parts_a", 2)]
    shop.stop()
    shop.sql.execute("INSERT INTO parts_a VALUES (3, 'a')")
    shop.source, shop.stream = shop.start()
    shop.until(Found)  # by the first look at the catalogue, which names each table once
    shop.read()
    shop.sql.execute("ALTER TABLE parts ATTACH PARTITION parts_a FOR VALUES IN ('a')")
    shop.sql.execute("INSERT INTO parts VALUES (4, 'a')")
    assert [step.table.name for step in shop.until(Vanished) if isinstance(step, Vanished)] == ["parts_a"]
    shop.sql.execute("INSERT INTO parts VALUES (5, 'a')")
    steps = shop.read()
    assert _tables_told(steps) <= {"parts"}
    assert [(name, row["id"]) for name, row in shop.rows(shop.steps)][-3:] == [
        ("parts_a", 3),
        ("parts", 4),
        ("parts", 5),
    ]


@pytest.mark.parametrize("shop", [{}, {"publication.autocreate.mode": "all_tables"}], indirect=True)
def test_rows_from_before_an_attach_are_their_table_s_also_after_a_restart(shop: Shop) -> None:
    shop.sql.execute(PARTS.encode())
    shop.sql.execute("CREATE TABLE parts_c (id int, r text, PRIMARY KEY (id, r))")
    shop.read_until(lambda steps: {"parts", "parts_c"} <= _tables_told(steps))
    shop.stop()
    shop.sql.execute("INSERT INTO parts VALUES (3, 'a'); INSERT INTO parts_c VALUES (4, 'c')")
    shop.sql.execute("ALTER TABLE parts ATTACH PARTITION parts_c FOR VALUES IN ('c')")
    shop.sql.execute("INSERT INTO parts VALUES (5, 'c')")
    shop.source, shop.stream = shop.start()
    assert [(name, row["id"]) for name, row in shop.rows(shop.read())] == [
        ("parts", 3),
        ("parts_c", 4),
        ("parts", 5),
    ]
