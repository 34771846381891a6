"""How a promise of freshness went, on the pages, by REST and in words."""

from typing import Any

from tests.unit.console import made_promise
from tests.unit.console.made import RUNS, MadeCrew, MadeViews, busy, served
from tests.unit.console.made_promise import GOOD, STUCK, TODAY
from tests.unit.console.test_pages import Page, asked
from wrackline.control.console.draw.day_strip import day_strip
from wrackline.control.runtime.slo.slo_answer import slo_answer
from wrackline.schemas.minutes.minute_counts import MinuteCounts
from wrackline.schemas.minutes.minute_records import DAY_MS


def page(path: str, **more: Any) -> str:
    board = busy(2)._replace(**more)
    with served(MadeCrew({"shop": RUNS}), MadeViews({"shop": board})) as door:
        return asked(door, "GET", path)[2]


def test_the_pages_say_in_words_how_the_promise_went() -> None:
    report = made_promise.report(bad=5)
    assert "%, broken for 1 table" in Page(page("/", slo=report)).text
    shown = page("/p/shop", slo=report)
    text = Page(shown).text
    assert "at most 5 min old in 99.9 % of the minutes of 3 days" in text
    assert "99.65 % good, 5 bad minutes" in text, "the strip's numbers in words"
    assert STUCK in text
    assert GOOD not in text, "a table without bad minutes is no worst one"
    assert shown.count("<rect") == 2
    assert "%, kept" in Page(page("/", slo=made_promise.report(bad=4))).text


def test_without_a_promise_nothing_is_shown_of_it() -> None:
    assert "Promise" not in Page(page("/")).text
    assert "promised" not in Page(page("/p/shop")).text


def test_a_day_is_as_high_as_it_was_good_and_says_it_in_words() -> None:
    days = [
        (0, MinuteCounts()), (DAY_MS, MinuteCounts(paused=9)), (2 * DAY_MS, MinuteCounts(good=1_440)),
        (3 * DAY_MS, MinuteCounts(good=1_439, bad=1)), (4 * DAY_MS, MinuteCounts(good=720, bad=720)),
    ]  # fmt: skip
    cells = day_strip(days, 99.0).cells
    assert [cell.kind for cell in cells] == ["idle", "idle", "good", "warn", "bad"]
    assert cells[2].height > cells[3].height > cells[4].height > cells[0].height
    assert [cell.words.partition(": ")[2] for cell in cells] == [
        "nothing counted", "paused", "100.00 % good, 0 bad minutes",
        "99.93 % good, 1 bad minutes", "50.00 % good, 720 bad minutes",
    ]  # fmt: skip


def test_the_answer_has_the_promise_the_days_and_the_worst_tables_first() -> None:
    told = slo_answer("shop", made_promise.report(bad=5))
    assert told["promise"] == {"minutes": 5, "percent": 99.9, "window_days": 3}
    assert told["since_ms"] == ((TODAY - 1) * 1_440 + 720) * 60_000
    assert (told["good"], told["bad"], told["paused"]) == (715 + 720 + 2 * 50, 5, 20)
    assert (told["tables_counted"], told["tables_broken"], told["left_out"]) == (2, 1, 0)
    assert [one["table"] for one in told["tables"]] == [STUCK, GOOD]
    assert told["tables"][0] == {
        "table": STUCK, "percent": round(100 * 765 / 770, 4), "good": 765, "bad": 5, "paused": 10,
        "budget_left": round(1 - 5 / 4.32, 4),
    }  # fmt: skip
    assert [one["bad"] for one in told["days"]] == [5, 0]
    [one] = slo_answer("shop", made_promise.report(), GOOD)["tables"]
    assert one["table"] == GOOD
    assert slo_answer("shop", None) == {"pipeline": "shop", "promise": None}
