"""The errors of the last seven days: by code, from both halves, and nothing older."""

import re

from tests.unit.console.made import HOSTILE, MadeViews
from tests.unit.console.made_errors import past_counts
from tests.unit.console.test_pages import Page
from tests.unit.console.visitor import Visitor
from wrackline.control.console.errors.errors_past import HEIGHT, past_errors
from wrackline.schemas.kafka.past.error_days import DAY_MS

NOW = 20_785 * DAY_MS + 7_200_000
PATH = "/console/p/shop/errors"


def test_each_code_is_a_line_with_its_times_and_its_last_sentence() -> None:
    kafka, slot, conflict = past_errors(past_counts(at_ms=NOW), NOW)
    assert [one.code for one in (kafka, slot, conflict)] == [
        "kafka.unreachable", "pg.slot_lost", "iceberg.commit_conflict",
    ]  # fmt: skip
    assert (kafka.times, kafka.halves) == ("1,067", "source, target")
    assert kafka.sentence.startswith("Kafka at broker1:9092 does not answer")
    assert (kafka.first_ago, kafka.last_ago) == ("6 d ago", "40 s ago")
    assert kafka.days == "1,002 times today, before that 0, 0, 0, 61, 0, 4"
    assert [bar.height for bar in kafka.bars] == [2, 0, 2, 0, 0, 0, HEIGHT]
    assert (slot.halves, slot.times) == ("source", "1")


def test_what_is_older_than_seven_days_is_gone() -> None:
    assert past_errors(past_counts(at_ms=NOW), NOW + 7 * DAY_MS) == []
    left = past_errors(past_counts(at_ms=NOW), NOW + 6 * DAY_MS)
    assert [(one.code, one.times) for one in left] == [("kafka.unreachable", "1,002")]


def test_the_page_has_them_below_what_is_wrong_now(visitor: Visitor, views: MadeViews) -> None:
    text = Page(visitor.ask("GET", PATH).html).text
    assert text.index("Now") < text.index("The last seven days") < text.index("iceberg.commit_conflict")
    assert "pg.too_old" not in text
    views.past = {}
    assert "Neither half has logged an error in seven days" in visitor.ask("GET", PATH).html


def test_texts_of_others_are_text(visitor: Visitor, views: MadeViews) -> None:
    views.past = past_counts(HOSTILE)
    html = visitor.ask("GET", PATH).html
    page = Page(html)
    assert HOSTILE in "".join(page.words)
    assert not [one for one in page.elements if one[1].get("src") == "x"]
    assert "onerror" not in {name for _, attributes in page.elements for name in attributes}
    assert len(re.findall("<rect", html)) == 7 * 3
