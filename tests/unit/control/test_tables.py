"""What `wrackline tables` says of what it found."""

from types import SimpleNamespace

import pytest

from tests.unit.settings.shop import GOOD, checked
from wrackline.control.cli.commands.tables_command import survey_document, survey_lines
from wrackline.control.runtime.ground.exits import Exit, exit_of_all
from wrackline.control.runtime.services import table_survey
from wrackline.control.runtime.services.table_survey import (
    CapturedTable,
    TableSurvey,
    TopicContents,
    survey_tables,
)
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kafka.failures import UNREACHABLE
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import COLLISION
from wrackline.schemas.tables.table import Column, KeyKind, SourcePartition, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

ORDERS, ODD = TableId("shop", "public", "orders"), TableId("shop", "public", "a\x1b[2J")
TOPIC = "shop1.shop.public.orders"
NOT_THERE = UNREACHABLE(who="shop", seconds=1)
REFUSED = COLLISION(table=ODD, topic="t", other="y", fix="", pattern="x")


def shape(table: TableId, *key: str) -> TableSchema:
    text = ColumnType(Kind.STRING, "text")
    columns = (Column("id", 1, ColumnType(Kind.INT32, "integer"), nullable=False), Column("a b", 2, text))
    return TableSchema(table, columns, key, KeyKind.PRIMARY if key else KeyKind.NONE)


def survey(
    *captured: CapturedTable,
    left_out: dict[TableId, UncapturedReason] | None = None,
    held: dict[str, TopicContents] | WracklineError | None = None,
) -> TableSurvey:
    return TableSurvey(captured, left_out, {} if held is None else held)


def said(found: TableSurvey, *, everything: bool = False) -> list[str]:
    return [line.plain for line in survey_lines(found, everything=everything)]


def test_a_table_is_shown_with_its_key_columns_and_topic() -> None:
    one = CapturedTable(ORDERS, shape(ORDERS, "id"), TOPIC)
    assert said(survey(one, held={TOPIC: TopicContents(2, 1234)})) == [
        "shop.public.orders",
        "  key      id",
        '  columns  id integer, "a b" text',
        f"  topic    {TOPIC}: 2 partitions, at most 1,234 events",
        "captured: 1",
    ]
    assert said(survey(one))[3].endswith(": not there yet")
    assert said(survey(one, held={TOPIC: TopicContents(1, 0)}))[3].endswith(": 1 partition, no events")
    assert "  key      no key" in said(survey(CapturedTable(ORDERS, shape(ORDERS), TOPIC)))


def test_what_is_left_out_is_counted_and_listed_when_asked_for() -> None:
    found = survey(left_out={ORDERS: UncapturedReason.FILTERS, ODD: UncapturedReason.NO_GRANT})
    hidden = "1 left out by the filters; 1 not granted (public.a\\u001b[2J)"
    assert said(found) == [f"captured: 0; not captured: {hidden} (--all lists them)"]
    assert said(found, everything=True)[1:] == [
        "  shop.public.orders: left out by the filters",
        "  shop.public.a\\u001b[2J: not granted",
    ]
    assert survey_document(found, everything=False) == {"tables": [], "left_out": 2}
    assert survey_document(found, everything=True)["left_out_tables"] == [str(ORDERS), str(ODD)]
    assert survey_document(found, everything=True)["left_out_why"][str(ODD)] == "not granted"
    assert survey_document(survey(), everything=True)["left_out"] is None, (
        "a source that doesn't know says nothing"
    )


def test_what_fails_does_so_alone_and_decides_the_exit_code() -> None:
    good, bad = CapturedTable(ORDERS, shape(ORDERS, "id"), TOPIC), CapturedTable(ODD, NOT_THERE, REFUSED)
    found = survey(good, bad, held=NOT_THERE)
    told = "\n".join(said(found))
    assert "\x1b" not in told
    assert f"{TOPIC}: unknown" in told
    assert "[topic.collision]" in told
    first, second = survey_document(found, everything=False)["tables"]
    assert (first["partitions"], first["events_at_most"]) == (None, None)
    assert [error["code"] for error in second["errors"]] == ["kafka.unreachable", "topic.collision"]
    assert survey_document(found, everything=False)["error"]["code"] == "kafka.unreachable"
    assert exit_of_all(found.errors) is Exit.OPERATOR
    assert exit_of_all(survey(good).errors) is Exit.OK


def test_a_topic_is_named_as_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise NOT_THERE

    source = SimpleNamespace(
        partitions=lambda: [SourcePartition("shop1", "shop")],
        tables=lambda _: [ORDERS],
        describe=lambda *_: shape(ORDERS, "id"),
        close=lambda: None,
    )
    monkeypatch.setattr(table_survey, "load", lambda _: SimpleNamespace(open=lambda *_: source))
    monkeypatch.setattr(table_survey, "check_login", refuses)
    found = survey_tables(checked({**GOOD, "topic.naming": "debezium"}))
    assert [one.topic for one in found.captured] == ["shop1.public.orders"]
