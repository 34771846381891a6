"""One table has several spellings, and each command takes all of them."""

from types import SimpleNamespace

import pytest

from wrackline.control.cli.commands.letters_commands import _tables
from wrackline.control.cli.terminal.status_text import unknown_tables
from wrackline.control.runtime.board.source_report import table_progress
from wrackline.control.runtime.events.topic_choice import choose_topics
from wrackline.control.runtime.ground.table_names import is_named_by, name_parts
from wrackline.control.runtime.services.status import NO_REPORT, PipelineStatus
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.tables.table import TableId

NO_SIDE = NO_REPORT(who="worker", pipeline="p", command="c")
NAIVE = "shop1.shop.Sales_Dept.na_ve"
SPELLINGS = [
    "Sales Dept.na\xefve",
    "Sales_Dept.na_ve",
    '"Sales Dept"."na\xefve"',
    "shop.Sales Dept.na\xefve",
    'shop."Sales Dept".na\xefve',
    "shop.Sales_Dept.na_ve",
    NAIVE,
]


class Desk:
    """Letters of two tables, as their topics name them."""

    def tables(self) -> list[TableId]:
        return [TableId("shop", "Sales_Dept", "na_ve"), TableId("shop", "public", "na_ve")]


@pytest.mark.parametrize("given", SPELLINGS)
def test_each_spelling_means_the_same_table_to_each_command(given: str) -> None:
    others = {NAIVE, "shop1.shop.public.na_ve", "shop1.shop.public.Sales_Dept"}
    assert is_named_by(given, NAIVE)
    assert not is_named_by(given, "shop1.shop.public.na_ve")
    assert choose_topics("shop1", [given], others, Naming.WRACKLINE) == [NAIVE]
    if given != NAIVE:  # letters are kept by table, not by topic
        assert _tables(Desk(), given) == [TableId("shop", "Sales_Dept", "na_ve")]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ("a.b", ["public.a.b", 'public."a.b"', "public.a_b"]),
        ('a"b', ['public.a"b', 'public."a""b"', "public.a_b"]),
    ],
)
def test_the_names_that_status_prints_are_taken_by_each_command(own: str, shown: list[str]) -> None:
    table = TableId("shop", "public", own)
    tables = (table, TableId("shop", "a", "b"))
    topics = [table_topic("shop1", one, Naming.WRACKLINE).partition(".")[2] for one in tables]
    side = {topic: table_progress(str(one), {}) for topic, one in zip(topics, tables, strict=True)}
    status = PipelineStatus("p", side, NO_SIDE, None)
    assert status.own_name("shop.public.a_b") == str(table)
    topic, other = "shop1.shop.public.a_b", "shop1.shop.a.b"
    desk = SimpleNamespace(tables=lambda: [TableId("shop", "public", "a_b"), TableId("shop", "a", "b")])
    for given in (*shown, f"shop.{shown[0]}"):
        assert unknown_tables(status, [given]) == []
        assert is_named_by(given, topic, str(table))
        assert not is_named_by(given, other, "shop.a.b")
        assert choose_topics("shop1", [given], {topic, other}, Naming.WRACKLINE) == [topic]
        assert _tables(desk, given) == [TableId("shop", "public", "a_b")]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ('public."a.b"', ["public", "a.b"]),
        ('"say ""x""".t', ['say "x"', "t"]),
        (" a.b ", ["a", "b"]),
        ('public.a"b', ["public", 'a"b']),
        ("", []),
    ],
)
def test_a_dot_in_quotes_parts_nothing(given: str, parts: list[str]) -> None:
    assert name_parts(given) == parts


def test_nothing_means_no_table() -> None:
    assert not is_named_by("", NAIVE)
