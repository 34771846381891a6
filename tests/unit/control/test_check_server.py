"""What a check says of tables, beside what the source itself says."""

from types import SimpleNamespace
from typing import Self

import pytest

from tests.unit.settings.shop import GOOD, checked
from wrackline.control.runtime.check import server_check
from wrackline.control.runtime.check.server_check import (
    filtered_findings,
    name_findings,
    registry_findings,
    topic_findings,
)
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.schema_registry import DENIED, UNREACHABLE
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.tables.table import Column, SourcePartition, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

ORDERS = TableId("d", "public", "orders")


def test_tables_that_would_share_a_topic_are_each_named() -> None:
    rivals = [TableId("d", "public", name) for name in ("a b", "a_b")]
    found = {
        finding.table: finding for finding in topic_findings("shop", [ORDERS, *rivals], Naming.WRACKLINE)
    }
    assert set(found) == set(rivals)
    assert {(one.id, one.severity) for one in found.values()} == {("topic.collision", Severity.ERROR)}


def test_a_table_whose_topic_would_be_too_long_is_named() -> None:
    long = TableId("d", "s" * 63, "t" * 63)
    [found] = topic_findings("p" * 130, [long], Naming.WRACKLINE)
    assert (found.id, found.table) == ("topic.too_long", long)
    assert not list(topic_findings("shop", [ORDERS, long], Naming.WRACKLINE))


def test_tables_that_the_filters_leave_out_are_named() -> None:
    many = {TableId("d", "public", f"t{number}"): UncapturedReason.FILTERS for number in range(12)}
    [found] = filtered_findings({**many, ORDERS: UncapturedReason.NO_GRANT})
    assert (found.id, found.severity) == ("tables.filtered", Severity.INFO)
    assert found.description == (
        f"the filters leave these out: {', '.join(f'd.public.t{number}' for number in range(10))} and 2 more"
    )
    assert not list(filtered_findings({ORDERS: UncapturedReason.NO_GRANT}))


def test_columns_that_are_one_in_avro_are_found_before_the_start() -> None:
    def shape(*columns: str) -> TableSchema:
        kind = ColumnType(Kind.STRING, "text")
        return TableSchema(ORDERS, tuple(Column(name, at, kind) for at, name in enumerate(columns)))

    other = TableId("d", "public", "other")
    odd = shape("\u4ef7\u683c", "__", "_u4ef7_u683c")
    shapes = {ORDERS: odd, other: shape("\u4ef7\u683c", "\u6570\u91cf")}
    [found] = name_findings(shapes)
    assert (found.id, found.severity, found.table) == ("avro.names_collide", Severity.ERROR, ORDERS)
    assert "\u4ef7\u683c" in found.description
    assert "snapshot start" in found.suggestion


class Answers:
    """A registry that has the subject of one topic, at a level, and may refuse a registration."""

    def __init__(self, level: str, refuses: WracklineError | None = None) -> None:
        self.level, self.refuses = level, refuses
        self.asked: list[str] = []
        self.levels = 0

    def __call__(self, _access: object) -> "Answers":
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def subjects(self) -> frozenset[str]:
        return frozenset({"s.d.public.a-value", "s.d.public.b-value", "s.d.public.c-value"})

    def may_register(self, subject: str) -> None:
        self.asked.append(subject)
        if self.refuses is not None:
            raise self.refuses

    def compatibility(self, _subject: str) -> str:
        self.levels += 1
        return self.level


@pytest.mark.parametrize(
    ("level", "refuses", "said"),
    [
        ("NONE", None, []),
        ("BACKWARD", None, [("registry.strict", Severity.WARNING)]),
        ("NONE", DENIED(url="u"), [("registry.denied", Severity.ERROR)]),
        ("NONE", UNREACHABLE(url="u"), [("registry.unreachable", Severity.WARNING)]),
    ],
)
def test_the_schema_registry_is_asked_whether_it_takes_schemas(
    monkeypatch: pytest.MonkeyPatch,
    level: str,
    refuses: WracklineError | None,
    said: list[tuple[str, Severity]],
) -> None:
    registry = Answers(level, refuses)
    monkeypatch.setattr(server_check, "RegistryClient", registry)
    found = list(registry_findings(checked(GOOD).good(), ["s.d.public.a", "s.d.public.b"]))
    assert [(one.id, one.severity) for one in found] == said
    assert registry.asked == ["s.d.public.a-value"]


def test_topics_are_named_as_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [ORDERS, *(TableId(database, "s", "t") for database in "ab")]
    source = SimpleNamespace(
        partitions=lambda: [SourcePartition("shop1", "d")],
        tables=lambda _: tables,
        check=lambda *_: [],
        close=lambda: None,
    )
    monkeypatch.setattr(server_check, "load_source", lambda _: SimpleNamespace(open=lambda *_: source))
    for asked in ("broker_findings", "position_findings", "registry_findings"):
        monkeypatch.setattr(server_check, asked, lambda *_: [])
    looked = server_check.check_server(checked({**GOOD, "topic.naming": "debezium"}))
    assert looked.topics == ("shop1.public.orders",)
    assert {one.table for one in looked.findings} == {*tables} - {ORDERS}


def test_a_slow_registry_is_not_asked_for_the_level_of_every_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Answers("BACKWARD")
    monkeypatch.setattr(server_check, "RegistryClient", registry)
    topics = [f"s.d.public.{table}" for table in "abc"]
    seconds = iter(range(0, 1000, 4))
    found = list(registry_findings(checked(GOOD).good(), topics, lambda: next(seconds)))
    assert [one.id for one in found] == ["registry.strict"]
    assert registry.levels == 2
