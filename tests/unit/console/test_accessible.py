"""What people need who see little, or work by keys: names, headings, landmarks, and contrast."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.unit.console.made import crowd, served
from tests.unit.console.test_pages import PAGES, Page, asked
from wrackline.control import console

ALL = [
    *PAGES, "/p/shop/events", "/p/new-one/events", "/p/billing/errors", "/p/shop/letters",
    "/p/shop/tables/shop.public.orders/shapes", "/error/consume.too_many_letters", "/p/gone",
    "/new", "/p/shop/tables/shop.public.orders/lineage",
]  # fmt: skip
TONES = ("good", "warn", "bad", "busy", "idle")
PAIRS = [
    *((ink, ground) for ink in ("ink", "dim", "accent", *TONES) for ground in ("bg", "panel")),
    *((tone, f"{tone}-bg") for tone in TONES), ("ink", "soft"), ("ink", "warn-bg"), ("ink", "busy-bg"),
    ("panel", "accent"), ("panel", "bad"), ("accent", "soft"),
]  # fmt: skip


class Labelled(Page):
    """A page that also knows what stands in a label."""

    def __init__(self, html: str) -> None:
        self.open, self.labelled = 0, list[dict[str, str | None]]()
        super().__init__(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        self.open += tag == "label"
        if self.open:
            self.labelled.append(self.elements[-1][1])

    def handle_endtag(self, tag: str) -> None:
        self.open -= tag == "label"


@pytest.fixture(scope="module")
def pages() -> dict[str, Labelled]:
    """Every page, by its address."""
    crew, views = crowd()
    with served(crew, views) as door:
        return {path: Labelled(asked(door, "GET", path)[2]) for path in ALL}


def test_each_page_has_one_heading_above_all_and_skips_no_level(pages: dict[str, Labelled]) -> None:
    for path, page in pages.items():
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
        assert levels.count(levels[0]) == levels[0] == 1, path
        assert all(after <= before + 1 for before, after in pairwise(levels)), (path, levels)


def test_what_is_filled_in_or_pressed_has_a_name(pages: dict[str, Labelled]) -> None:
    for path, page in pages.items():
        for tag, given in page.elements:
            if tag in ("input", "select", "textarea") and given.get("type") != "hidden":
                assert given.get("aria-label") or given in page.labelled, (path, given)


def test_tables_and_their_columns_are_named(pages: dict[str, Labelled]) -> None:
    for path, page in pages.items():
        for tag, given in page.elements:
            assert tag != "th" or given.get("scope") in ("col", "row"), (path, given)
        tags = Counter(tag for tag, _ in page.elements)
        assert tags["caption"] == tags["table"], path


def test_landmarks_are_there_once_and_told_apart(pages: dict[str, Labelled]) -> None:
    for path, page in pages.items():
        tags = Counter(tag for tag, _ in page.elements)
        assert (tags["header"], tags["main"], tags["footer"]) == (1, 1, 1), path
        named = [given.get("aria-label") for tag, given in page.elements if tag == "nav"]
        assert None not in named, path
        assert len(named) == len(set(named)), (path, named)
        ids = [given["id"] for _, given in page.elements if given.get("id")]
        assert len(ids) == len(set(ids)), path


def test_the_screen_of_a_pipeline_is_named_among_its_tabs(pages: dict[str, Labelled]) -> None:
    for path, page in pages.items():
        if path.startswith("/p/") and path != "/p/gone":
            here = [
                given for tag, given in page.elements if tag == "a" and given.get("aria-current") == "page"
            ]
            assert len(here) == 1, path


def test_pictures_have_words(pages: dict[str, Labelled]) -> None:
    for path, page in pages.items():
        for tag, given in page.elements:
            if tag == "svg":
                # what is inside a picture does not exist for those who hear it, and this one has links
                asked_role = "group" if given.get("id") == "table-map" else "img"
                assert given.get("role") == asked_role, (path, given)
                assert given.get("aria-label"), (path, given)
            assert tag != "img" or "alt" in given, path


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "system in the dark"])
def test_words_stand_out_from_what_is_behind_them(theme: int) -> None:
    css = (Path(console.__file__).parent / "static" / "console.css").read_text()
    block = re.findall(r"--bg:[^}]+", css)[theme]
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for ink, ground in PAIRS:
        lighter, darker = sorted((_luminance(colours[ink]), _luminance(colours[ground])), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (ink, ground)


def _luminance(colour: str) -> float:
    """Return how bright a colour is, as WCAG 2 reckons it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
