"""Tables that come and go: reported by the log, and by pictures that lag or lead; each change once."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from wrackline.producers.contract.steps import Appeared, Fault, Found, Renamed, Reshaped, Step, Vanished
from wrackline.producers.sources.postgres.discover.facts import (
    PgCatalogueSnapshot,
    PgColumnFacts,
    PgPublicationScope,
    PgSnapshotEntry,
    PgTableFacts,
    logged_facts,
    reasons,
    unchanged_numbers,
)
from wrackline.producers.sources.postgres.follow.table_tracker import MOST_HEARD, PgTableTracker
from wrackline.producers.sources.postgres.rows.messages import Relation, RelationColumn
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId, TableSchema

NOT_OURS = define("test.not_ours", OperatorNeeded, "it is not published", hint="publish it")
ID, NOTE = PgColumnFacts(1, "id", 23, -1, not_null=True), PgColumnFacts(2, "note", 25, -1)
EVERYTHING = PgPublicationScope(everything=True)


def named(name: str) -> TableId:
    return TableId("d", "public", name)


def roll(*listed: str) -> PgTableTracker:
    """A roll that captures what does not begin with x."""
    return PgTableTracker(lambda table: not table.name.startswith("x"), [named(name) for name in listed])


def table(oid: int, name: str, *columns: PgColumnFacts, file: int = 1) -> PgTableFacts:
    return PgTableFacts(oid, named(name), columns or (ID, NOTE), (1,), primary=True, file=file)


def picture(made: PgTableTracker, tables: Iterable[PgTableFacts], **more: object) -> PgCatalogueSnapshot:
    entries = {
        one.oid: PgSnapshotEntry(one.table, facts=one, shape=TableSchema(one.table, ())) for one in tables
    }
    return PgCatalogueSnapshot(made.reports.count, 0, entries, published=EVERYTHING, **more)  # type: ignore[arg-type]  # few of them


def news(steps: Iterable[Step]) -> list[Step]:
    """Only what became of tables."""
    return [step for step in steps if not isinstance(step, Found)]


def test_what_is_listed_is_no_news_and_what_comes_later_is_complete_where_all_is_published() -> None:
    made = roll("a")
    steps = made.picture(picture(made, [table(1, "a"), table(2, "b"), table(3, "x")]))
    assert [type(step) for step in steps] == [Found, Appeared]
    assert steps[1] == Appeared(named("b"), complete=False, shape=TableSchema(named("b"), ()))
    later = made.picture(picture(made, [table(1, "a"), table(2, "b"), table(3, "x"), table(4, "c")]))
    assert [(step.table, step.complete) for step in later if isinstance(step, Appeared)] == [
        (named("c"), True)
    ]
    assert made.picture(picture(made, [table(1, "a"), table(2, "b"), table(3, "x"), table(4, "c")])) == []


def test_a_change_in_the_log_comes_first_and_the_picture_adds_nothing() -> None:
    made = roll("a")
    made.picture(picture(made, [table(1, "a")]))
    stirred = made.reports.wakes
    assert news(made.named(2, named("b"), captured=True, shape=None)) == [Appeared(named("b"), complete=True)]
    assert made.reports.wakes > stirred, "the catalogue is worth a look"
    assert made.picture(picture(made, [table(1, "a"), table(2, "b")])) == []
    assert made.named(2, named("c"), captured=True, shape=None) == [
        Renamed(named("b"), named("c"), ddl='ALTER TABLE "public"."b" RENAME TO "c"')
    ]
    assert made.named(2, named("x"), captured=False, shape=None) == [Vanished(named("c"), dropped=True)]
    back = made.named(2, named("b"), captured=True, shape=None)
    assert back == [Appeared(named("b"), complete=False)], "what was written meanwhile is not in the log"


def test_a_table_that_is_set_aside_has_not_vanished() -> None:
    made = roll("a")
    made.picture(picture(made, [table(1, "a")]))
    made.tables.aside.add(named("a"))
    assert made.picture(picture(made, [table(1, "a")])) == []
    assert made.named(1, named("a"), captured=False, shape=None) == []


def test_a_picture_from_before_the_logs_word_does_not_take_it_back() -> None:
    made = roll("a")
    made.picture(picture(made, [table(1, "a")]))
    old = picture(made, [table(1, "a")])
    made.named(1, named("b"), captured=True, shape=None)
    assert made.picture(old) == []
    assert made.picture(picture(made, [table(1, "b")])) == []
    unsettled = picture(made, [table(1, "a")], unsettled=frozenset({1}))
    assert made.picture(unsettled) == [], "it is being changed: what is seen may be older"
    hidden = PgCatalogueSnapshot(made.reports.count, 0, {}, unsettled=frozenset({1}), published=EVERYTHING)
    assert made.picture(hidden) == []


def test_a_table_that_a_picture_is_too_old_for_is_not_gone() -> None:
    made = roll("a")
    made.picture(picture(made, [table(1, "a")]))
    old = picture(made, [table(1, "a")])
    made.named(2, named("b"), captured=True, shape=None)
    assert made.picture(old) == []
    assert made.picture(picture(made, [table(1, "a")])) == [Vanished(named("b"))]


def test_a_table_counts_as_dropped_only_if_the_catalogue_has_nothing_of_it() -> None:
    made = roll("a", "b")
    made.picture(picture(made, [table(1, "a"), table(2, "b")]))
    gone = made.picture(picture(made, [], dropped=frozenset({2})))
    assert gone == [Vanished(named("a")), Vanished(named("b"), dropped=True)]


def test_the_log_of_before_the_first_picture_speaks_for_its_own_time() -> None:
    made = roll("new")
    assert made.named(1, named("old"), captured=True, shape=None) == []
    assert made.named(2, named("gone"), captured=True, shape=None) == []
    steps = made.picture(picture(made, [table(1, "new")]))
    assert news(steps) == [
        Vanished(named("gone")),
        Renamed(
            named("old"),
            named("new"),
            TableSchema(named("new"), ()),
            'ALTER TABLE "public"."old" RENAME TO "new"',
        ),
    ]


def test_a_table_that_is_met_while_the_first_picture_is_taken_is_found_by_the_next() -> None:
    made = roll("a")
    old = picture(made, [table(1, "a")])
    made.named(1, named("a"), captured=True, shape=None)
    assert made.picture(old) == []
    assert [type(step) for step in made.picture(picture(made, [table(1, "a")]))] == [Found]
    assert made.picture(picture(made, [table(1, "a")])) == []


def test_a_listed_table_without_a_shape_is_found_by_the_picture_that_shows_one() -> None:
    made = roll("a")
    listed = table(1, "a")
    without = PgSnapshotEntry(listed.table, facts=listed, shape=None)
    assert made.picture(replace(picture(made, []), entries={1: without})) == []
    assert [type(step) for step in made.picture(picture(made, [listed]))] == [Found]
    assert made.picture(picture(made, [listed])) == []


def test_a_name_that_another_table_takes_is_free_before() -> None:
    made = roll("a")
    made.picture(picture(made, [table(1, "a"), table(2, "x")]))
    steps = made.picture(picture(made, [table(2, "a"), table(1, "b")]))
    assert [type(step) for step in steps] == [Renamed, Appeared]
    assert isinstance(steps[1], Appeared)
    assert not steps[1].complete, "its rows were written under a name that is not captured"
    made = roll("a")
    made.picture(picture(made, [table(1, "a")]))
    swapped = made.named(2, named("a"), captured=True, shape=None)
    assert swapped == [Vanished(named("a")), Appeared(named("a"), complete=True)]
    moved = made.picture(picture(made, [table(1, "b"), table(2, "a")]))
    assert moved == [Appeared(named("b"), False, TableSchema(named("b"), ()))]


def test_a_table_that_cannot_be_published_is_at_fault_once() -> None:
    made = roll("a")
    refused = PgSnapshotEntry(named("b"), refused=NOT_OURS())
    for entries in ({2: refused}, {2: refused}):
        ground = {1: PgSnapshotEntry(named("a"))}
        made.picture(PgCatalogueSnapshot(made.reports.count, 0, ground))
        steps = made.picture(PgCatalogueSnapshot(made.reports.count, 0, ground | entries))
        faults = [step.table for step in steps if isinstance(step, Fault)]
        made.tables.aside.update(faults)  # as the decoder does
        assert len(steps) == len(faults)
    assert (
        made.picture(
            PgCatalogueSnapshot(
                made.reports.count, 0, {1: PgSnapshotEntry(named("a")), 2: PgSnapshotEntry(named("b"))}
            )
        )
        == []
    )


def test_rows_from_before_a_table_was_published_are_asked_for_once() -> None:
    made = roll("a")
    made.picture(PgCatalogueSnapshot(made.reports.count, 0, {1: PgSnapshotEntry(named("a"))}))
    begun = made.reports.count
    assert made.named(2, named("b"), captured=True, shape=None) == [Appeared(named("b"), complete=False)]
    entries = {1: PgSnapshotEntry(named("a")), 2: PgSnapshotEntry(named("b"), added=True)}
    assert made.picture(PgCatalogueSnapshot(begun, 0, entries)) == []
    again = made.picture(PgCatalogueSnapshot(made.reports.count, 0, entries))  # it was taken out meanwhile
    assert again == [Appeared(named("b"), complete=False)]


def test_an_alteration_requires_a_refresh_once_whether_log_or_picture_reports_it() -> None:
    filled = PgColumnFacts(3, "gift", 25, -1, default="d", missing=True)
    made = roll("a")
    made.picture(picture(made, [table(1, "a")]))
    made.named(1, named("a"), captured=True, shape=None)
    shape = TableSchema(named("a"), ())
    first = made.logged(table(1, "a", ID, NOTE, filled), shape)
    assert first == [Reshaped(named("a"), True, shape, frozenset({3}))]
    assert made.logged(table(1, "a", ID, NOTE, filled), shape) == []
    (same,) = made.picture(picture(made, [table(1, "a", ID, NOTE, filled)]))
    assert isinstance(same, Reshaped)
    assert not same.refresh
    assert made.picture(picture(made, [table(1, "a", ID, NOTE, filled)])) == []


def test_ddl_of_an_unknown_table_is_kept_for_its_first_row() -> None:
    made = roll("a")
    made.picture(picture(made, [table(1, "a")]))
    assert made.altered(table(2, "b"), None) == []
    assert made.facts(2) == (table(2, "b"), True)
    assert made.named(2, named("b"), captured=True, shape=None) == [Appeared(named("b"), complete=True)]
    assert made.facts(2) == (table(2, "b"), True)
    assert (
        made.altered(table(2, "c"), None)
        == [
            Renamed(named("b"), named("c"), ddl='ALTER TABLE "public"."b" RENAME TO "c"'),
            Reshaped(named("c"), False, None, frozenset()),
        ][:1]
    )


def test_the_alterations_kept_of_unknown_tables_are_bounded() -> None:
    made = roll("a")
    for oid in range(MOST_HEARD + 1):
        made.altered(table(oid, f"t{oid}"), None)
    assert made.facts(0) == (None, False), "the oldest is the catalogue's to show"
    assert made.facts(1) == (table(1, "t1"), True)
    assert made.facts(MOST_HEARD) == (table(MOST_HEARD, f"t{MOST_HEARD}"), True)


def test_only_an_alteration_that_can_change_stored_rows_requires_a_refresh() -> None:
    before = table(1, "a")

    def asks(*columns: PgColumnFacts, file: int = 1) -> bool:
        return bool(reasons(before, table(1, "a", *columns, file=file)))

    added = PgColumnFacts(3, "c", 23, -1)
    assert not asks(ID, NOTE, added)
    assert asks(ID, NOTE, added._replace(missing=True))
    assert asks(ID, NOTE, added._replace(default="d"))
    assert asks(ID, NOTE, added._replace(identity="a"))
    assert asks(ID, NOTE, added._replace(generated="s", default="d"))
    assert asks(ID, NOTE, added, file=2), (
        "its default may be dropped already, and the rows were written again"
    )
    assert not asks(ID, NOTE, file=2), "VACUUM FULL"
    assert not asks(ID)
    assert not asks(ID, NOTE._replace(name="text"))
    assert asks(ID, NOTE._replace(type_oid=23))
    assert asks(ID, NOTE._replace(typmod=14), file=2)
    assert not asks(ID, NOTE._replace(typmod=14)), "a widening that wrote nothing"
    assert not asks(ID, NOTE._replace(default="d")), "for rows to come"
    computed = table(1, "a", ID, NOTE._replace(generated="s", default="d"))
    assert reasons(computed, table(1, "a", ID, NOTE._replace(generated="s", default="e")))
    assert reasons(before, before._replace(key=(2,)))


def test_a_column_is_the_one_of_before_though_its_name_has_moved_since() -> None:
    relation = Relation(
        1, "public", "a", "d", (RelationColumn("id", True, 23, -1), RelationColumn("note", False, 25, -1))
    )
    said, moved = table(1, "a"), PgColumnFacts(3, "note", 25, -1)
    assert unchanged_numbers(relation, said, table(1, "a", ID, NOTE._replace(name="other"), moved)) == [1, 2]
    assert unchanged_numbers(relation, said, table(1, "a", ID, NOTE._replace(name=None), moved)) is None, (
        "created again"
    )
    assert unchanged_numbers(relation, table(1, "a", ID, moved), table(1, "a", ID, NOTE, moved)) == [1, 3]


def test_a_shape_of_the_log_takes_what_it_does_not_name_from_the_catalogue() -> None:
    computed = PgColumnFacts(3, "twice", 23, -1, generated="s", default="d")
    later = PgColumnFacts(4, "later", 23, -1, default="d")
    now = table(1, "a", ID, NOTE._replace(name="renamed"), computed, later)
    relation = Relation(1, "public", "a", "d", (RelationColumn("note", False, 25, -1),))
    then = logged_facts(relation, (2,), now)
    assert then.columns == (ID, NOTE, computed)


OIDS, NAMES = st.integers(1, 5), st.sampled_from(["a", "b", "c", "x"])


def follow(followed: set[TableId], steps: Iterable[Step]) -> None:
    """Keep the tables of a listener that hears of nothing else."""
    for step in steps:
        if isinstance(step, Renamed | Vanished):
            followed.remove(step.old if isinstance(step, Renamed) else step.table)
        if isinstance(step, Renamed | Appeared):
            appeared = step.new if isinstance(step, Renamed) else step.table
            assert appeared not in followed
            followed.add(appeared)


@given(st.lists(st.tuples(st.sampled_from(["set", "drop", "row", "take", "give"]), OIDS, NAMES), max_size=60))
@example(
    [("set", 1, "b"), ("take", 1, "a"), ("set", 1, "a"), ("set", 2, "b"), ("row", 2, "a"), ("give", 1, "a")]
)
@example([("set", 2, "b"), ("row", 2, "a"), ("set", 2, "c"), ("set", 1, "b"), ("set", 2, "a")])
@example([("take", 1, "a"), ("set", 1, "b"), ("set", 2, "a"), ("row", 2, "a"), ("give", 1, "a")])
def test_following_the_reported_changes_leads_to_the_catalogue_s_tables(
    happened: list[tuple[str, int, str]],
) -> None:
    made = roll("a")
    there: dict[int, str] = {1: "a"}
    followed = {named("a")}
    waiting: PgCatalogueSnapshot | None = None

    def now() -> PgCatalogueSnapshot:
        return picture(made, [table(oid, name) for oid, name in sorted(there.items())])

    follow(followed, made.picture(now()))
    for what, oid, name in happened:
        if what == "set" and name not in there.values():  # created or renamed
            there[oid] = name
        elif what == "drop":
            there.pop(oid, None)
        elif what == "row" and oid in there:
            table_id = named(there[oid])
            follow(followed, made.named(oid, table_id, captured=made.tables.captures(table_id), shape=None))
        elif what == "take":
            waiting = now()
        elif what == "give" and waiting is not None:
            follow(followed, made.picture(waiting))
            waiting = None
    follow(followed, made.picture(now()))
    assert followed == {named(name) for name in there.values() if name != "x"}
