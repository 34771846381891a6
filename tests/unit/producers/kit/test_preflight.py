"""A preflight over a server that is a list of words: what the kit promises, whatever the server is."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, Self

import pytest

from wrackline.producers.kit.preflight import column_findings
from wrackline.producers.kit.preflight.column_findings import TypedColumn, UnfitCounts
from wrackline.producers.kit.preflight.probes import STOPS, Probe, error_finding, run_probes
from wrackline.producers.kit.preflight.table_scope import TableScope
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.events.projection import KEY_COLUMN_MISSING, Projection, project_all
from wrackline.schemas.language.findings import Finding, Rule, Severity, Support
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

A, B, C = (TableId("shop", "dbo", name) for name in "abc")
LOST = ErrorCode("x.server_lost", Transient, "{server} did not answer", "wait", frozenset({"server"}))
ODD = ErrorCode("x.type_odd", OperatorNeeded, "nobody knows {type}", "as text", frozenset({"type"}))
VALUES = Rule(
    "x.values", Severity.WARNING, "Values", "{count} of {looked} in {columns}", "", "{listed} {could}"
)
UNPROVEN = Rule("x.unproven", Severity.WARNING, "Unproven", "{columns} of {name}: {looked}", "", "")
TEXT, INT = ColumnType(Kind.STRING, "text"), ColumnType(Kind.INT32, "int")


def finding(id_: str, severity: Severity, table: TableId | None = None) -> Finding:
    return Finding(id_, id_, "", "", "", severity, table)


class DriverError(Exception):
    """What the stand-in's driver raises."""


@dataclass
class Session:
    """A stand-in for a connection; what happens to it is written down."""

    log: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.log.append("closed")


@contextmanager
def guard(session: Session) -> Iterator[None]:
    session.log.append("guarded")
    try:
        yield
    except DriverError:
        raise LOST(server="one") from None


def run(*probes: Probe[Session], session: Session | None = None) -> Sequence[Finding]:
    return run_probes(lambda: session or Session(), guard, lambda made: made, probes)


def ids(found: Sequence[Finding]) -> list[str]:
    return [one.id for one in found]


def failing(error: Exception) -> Callable[[object], Iterator[Finding]]:
    def find(_: object) -> Iterator[Finding]:
        yield finding("before", Severity.ERROR)
        raise error

    return find


def test_findings_are_in_order_of_severity_then_of_tables_then_of_probes() -> None:
    first: Probe[Session] = Probe(
        lambda _: [
            finding("info", Severity.INFO),
            finding("b", Severity.ERROR, B),
            finding("warning", Severity.WARNING),
            finding("z", Severity.ERROR),
        ]
    )
    second: Probe[Session] = Probe(
        lambda _: [
            finding("a", Severity.ERROR),
            finding("y", Severity.ERROR, B),
            finding("x", Severity.ERROR, A),
        ]
    )
    assert ids(run(first, second)) == ["z", "a", "x", "b", "y", "warning", "info"]


def test_a_server_that_is_not_there_is_one_finding_and_nothing_is_asked() -> None:
    def connect() -> Session:
        raise LOST(server="one")

    def never(_: Session) -> NoReturn:
        raise AssertionError

    [found] = run_probes(connect, guard, never, [Probe(never)])
    assert (found.id, found.name, found.description) == (
        "x.server_lost",
        "Server lost",
        "one did not answer",
    )
    assert (found.severity, found.impact, found.suggestion) == (Severity.ERROR, STOPS, "wait")


def test_a_probe_whose_need_is_not_met_is_not_asked() -> None:
    session = Session(["log off"])
    heard: Probe[Session] = Probe(
        lambda _: [finding("log", Severity.INFO)], needs=lambda one: "log off" in one.log
    )
    silent: Probe[Session] = Probe(failing(AssertionError()), needs=lambda one: "log on" in one.log)
    assert ids(run(silent, heard, session=session)) == ["log"]


def test_an_error_with_an_impact_is_a_finding_and_the_other_probes_still_run() -> None:
    after: Probe[Session] = Probe(lambda _: [finding("after", Severity.ERROR)])
    found = run(Probe(failing(LOST(server="one")), impact="no rows"), after)
    assert ids(found) == ["before", "x.server_lost", "after"]
    assert [one.impact for one in found] == ["", "no rows", ""]


@pytest.mark.parametrize(
    ("error", "impact"), [(LOST(server="one"), None), (DriverError(), None), (DriverError(), "no rows")]
)
def test_any_other_error_ends_the_check_as_one_of_ours_and_the_connection(
    error: Exception, impact: str | None
) -> None:
    session = Session()
    with pytest.raises(WracklineError, match="did not answer"):
        run(Probe(failing(error), impact=impact), Probe(failing(AssertionError())), session=session)
    assert session.log == ["guarded", "closed"]


def test_the_connection_is_closed_after_a_good_check() -> None:
    session = Session()
    assert run(session=session) == []
    assert session.log == ["guarded", "closed"]


def test_an_error_of_a_column_names_it() -> None:
    found = error_finding(ODD(type="it"), A, "c", severity=Severity.INFO, impact="none")
    assert (found.table, found.column, found.severity, found.impact) == (A, "c", Severity.INFO, "none")


class Listed(NamedTuple):
    id: TableId
    granted: bool


def scope(requested: Sequence[TableId] = (), **lists: str) -> TableScope[Listed]:
    named = {f"{name}.list": tuple(text.split(",")) for name, text in lists.items()}
    filters = TableFilter.of({name.replace("_", "."): patterns for name, patterns in named.items()})
    return TableScope([Listed(A, True), Listed(B, False), Listed(C, False)], frozenset(requested), filters)


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ({}, [A]),
        ({"table_exclude": r"dbo\.b"}, [A]),
        ({"table_include": r"dbo\.b"}, [A, B]),
        ({"schema_include": "dbo"}, [A, B, C]),
        ({"schema_include": "dbo", "table_exclude": r"dbo\.b"}, [A, C]),
        ({"schema_include": "other"}, [A]),
    ],
)
def test_chosen_are_the_requested_tables_and_those_that_an_include_list_names(
    lists: dict[str, str], chosen: list[TableId]
) -> None:
    looked = scope([A], **lists)
    assert [table.id for table in looked.chosen(lambda table: not table.granted)] == chosen


def test_a_table_that_can_be_read_and_was_not_requested_is_not_chosen() -> None:
    looked = scope(schema_include="dbo")
    assert [table.id for table in looked.chosen(lambda table: not table.granted)] == [B, C]


def test_absent_tables_and_patterns_without_a_table_are_named() -> None:
    gone, away = (TableId("shop", "dbo", name) for name in ("gone", "away"))
    looked = scope([gone, A, away], table_include=r"dbo\.a,dbo\.away")
    assert looked.absent() == [away, gone]
    [found] = looked.filter_findings()
    assert r"dbo\.away" in found.description


def typed(name: str, kind: ColumnType | None = INT) -> TypedColumn:
    def type_of(*, as_text: bool) -> ColumnType:
        if as_text:
            return TEXT
        if kind is None:
            raise ODD(type="it")
        return kind

    return TypedColumn(name, f"{name}()", type_of)


NAMES = {
    "column.exclude.list": (r"dbo\.a\.left",),
    "column.as.text": (r"dbo\.a\.written",),
}
RULES = ColumnRules.of(NAMES)


def test_only_a_type_that_is_needed_and_not_known_is_reported() -> None:
    columns = [typed("odd", None), typed("left", None), typed("written", None), typed("n")]
    found = [
        one
        for column in columns
        for one in column_findings.unknown_type_findings(A, column, RULES, "not copied")
    ]
    assert [(one.id, one.table, one.column, one.impact) for one in found] == [
        ("x.type_odd", A, "odd", "not copied")
    ]


def test_support_is_said_of_each_copied_column() -> None:
    columns = [typed("odd", None), typed("left", None), typed("written", None), typed("n")]
    found = column_findings.column_support(A, columns, RULES, {Kind.STRING: "in part"})
    assert [(one.column, one.type, one.support, one.suggestion) for one in found] == [
        ("odd", "odd()", Support.NO, "as text"),
        ("written", "written()", Support.PARTIAL, "in part"),
        ("n", "n()", Support.YES, ""),
    ]


def shape(table: TableId, *names: str, kind: ColumnType = TEXT) -> Projection:
    columns = tuple(Column(name, place, kind) for place, name in enumerate(names))
    return project_all(TableSchema(table, columns, names[:1], KeyKind.PRIMARY))


def rules_of(**lists: str) -> ColumnRules:
    return ColumnRules.of({name.replace("_", "."): (pattern,) for name, pattern in lists.items()})


@dataclass(frozen=True)
class Shapes:
    """A stand-in for a catalogue: the shape of each table, or its error."""

    of: dict[TableId, Projection | Exception]

    def describe(self, table: TableId) -> Projection:
        found = self.of[table]
        if isinstance(found, Exception):
            raise found
        return found


def applied(rules: ColumnRules, as_text: object, as_set: object, logged: object) -> list[Finding]:
    looks = [Shapes({A: one}).describe for one in (as_text, as_set, logged)]  # type: ignore[dict-item]
    return list(column_findings.rule_findings(rules, [A], *looks))


NO_KEY = KEY_COLUMN_MISSING(column="k", table=A)
PLAIN = shape(A, "c")


def test_a_rule_that_does_not_fit_its_table_is_reported_and_the_table_still_counts_for_patterns() -> None:
    [found] = applied(rules_of(column_exclude_list=r"dbo\.a\.c"), PLAIN, NO_KEY, AssertionError())
    assert (found.id, found.table, found.severity) == (NO_KEY.code, A, Severity.ERROR)
    assert found.impact == "the table's changes are not copied"


def test_a_rule_that_fits_the_table_but_not_its_log_is_reported_and_columns_are_the_tables() -> None:
    excluded = rules_of(column_exclude_list=r"dbo\.a\.made")
    assert ids(applied(excluded, PLAIN, shape(A, "c", "made"), NO_KEY)) == [NO_KEY.code]
    assert ids(applied(excluded, PLAIN, shape(A, "c", "made"), PLAIN)) == []
    assert ids(applied(excluded, PLAIN, PLAIN, PLAIN)) == ["filter.matches_nothing"]


def test_a_type_that_is_not_known_has_its_own_finding_and_its_columns_count_as_text() -> None:
    cut = rules_of(column_truncate_to_3_chars=r"dbo\.a\.c")
    assert ids(applied(cut, PLAIN, ODD(type="it"), PLAIN)) == []
    assert ids(applied(cut, PLAIN, shape(A, "c", kind=INT), PLAIN)) == ["filter.not_truncated"]


def test_a_table_without_any_shape_is_not_copied_and_the_next_one_is_looked_at() -> None:
    shapes = Shapes({A: ODD(type="it"), B: shape(B, "c")}).describe
    rules = rules_of(column_exclude_list=r"dbo\.b\.c", column_include_list=r"dbo\.a\.c")
    found = list(column_findings.rule_findings(rules, [A, B], shapes, shapes, shapes))
    assert [(one.id, one.table, one.impact) for one in found] == [
        ("x.type_odd", A, "the table is not copied"),
        ("filter.matches_nothing", None, "the settings behave as if the pattern were not there"),
    ]
    assert "column.include.list" in found[1].description


@dataclass
class Keys:
    """A stand-in for a server that knows about keys; what is asked is written down."""

    proven: bool
    doubled: int | None
    asked: list[str] = field(default_factory=list)

    def is_proven(self) -> bool:
        self.asked.append("proven?")
        return self.proven

    def count(self) -> int | None:
        self.asked.append("count")
        return self.doubled


@pytest.mark.parametrize(
    ("key", "proven", "doubled", "asked", "expected"),
    [
        ("", False, 3, [], []),
        ("az", False, 3, [], []),
        ("ba", True, 3, ["proven?"], []),
        ("ba", False, 3, ["proven?", "count"], [("snapshot.key_doubled", A)]),
        ("cba", False, 3, ["proven?", "count"], [("snapshot.key_doubled", A)]),
        ("ba", False, 0, ["proven?", "count"], [("x.unproven", A)]),
        ("ba", False, None, ["proven?", "count"], [("x.unproven", A)]),
    ],
)
def test_a_chosen_key_is_counted_only_if_no_index_proves_it(
    key: str, doubled: int | None, asked: list[str], expected: list[tuple[str, TableId]], *, proven: bool
) -> None:
    keys = Keys(proven, doubled)
    found = list(
        column_findings.chosen_key_findings(
            UNPROVEN, A, key, "abc", keys.is_proven, keys.count, 7, columns=key, name="t"
        )
    )
    assert (keys.asked, [(one.id, one.table) for one in found]) == (asked, expected)
    if doubled is None:
        assert found[0].description.startswith("ba of t: the server could not find out within 7 s")


def test_values_are_counted_table_by_table_and_a_look_that_fails_says_nothing() -> None:
    def count(table: TableId) -> UnfitCounts | None:
        if table == A:
            raise DriverError
        if table == B:
            raise ODD(type="it")
        return None if table == TableId("shop", "dbo", "d") else UnfitCounts("xy", (9, 2, 0, 2), ["z"])

    every = [A, B, TableId("shop", "dbo", "d"), C]
    [found] = column_findings.value_findings(VALUES, every, count, unfinished=DriverError)
    assert (found.table, found.column, found.description) == (C, "y", "2 of 9 in y")
    assert found.suggestion == "dbo.c.y dbo.c.y,dbo.c.z"
    with pytest.raises(DriverError):
        list(column_findings.value_findings(VALUES, every, count))


def test_values_that_all_fit_are_no_finding() -> None:
    assert not list(column_findings.value_findings(VALUES, [A], lambda _: UnfitCounts("x", (9, 0, 0), ())))
