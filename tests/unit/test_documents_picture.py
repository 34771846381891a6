"""The picture in README shows what the demo prints today: its story is played once more, by stand-ins."""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from xml.sax.saxutils import unescape

import pytest
from rich.console import Console

from wrackline.control.local.demo import story
from wrackline.control.local.demo.command import print_ending
from wrackline.control.local.demo.demo_screen import DemoScreen
from wrackline.control.local.demo.parts.comparison import CopyComparison
from wrackline.control.local.demo.parts.parts import Parts
from wrackline.control.local.demo.shops.postgres import PostgresShop
from wrackline.control.local.demo.shops.shop import StatementResult
from wrackline.control.local.demo.terminal_picture import draw_terminal
from wrackline.control.local.demo.warehouses.iceberg import IcebergWarehouse

PICTURE = Path(__file__).parents[2] / "docs/images/demo.svg"
TEXT = re.compile(r'<text[^>]* x="([\d.]+)" y="(\d+)"[^>]*>([^<]*)</text>')
MOST_BYTES = 40_000


class StandInParts:
    """Every part of a demo: what is committed is an event, and a row of the table, at the next look."""

    alters = PostgresShop.alters
    running, error, doubled, pid = True, None, 0, 4711

    def __init__(self) -> None:
        self.shop = self.worker = self.events_seen = self.lake = self
        self.events = self.upto = self.offsets = self.rows = self._open = self._committed = 0

    def insert(self, rows: int, seed: int) -> StatementResult:
        """Do as the database does."""
        self._open += rows
        return StatementResult(rows, range(seed, seed + rows))

    def update(self, ids: Sequence[int], *_: int) -> StatementResult:
        """Change rows, in whatever way."""
        self._open += len(ids)
        return StatementResult(len(ids))

    rewrite = rekey = delete = update

    def commit(self) -> None:
        """Let it count."""
        self._committed, self._open = self._committed + self._open, 0

    def rollback(self) -> None:
        """Forget it."""
        self._open = 0

    def open(self) -> "StandInParts":
        """Be a session too."""
        return self

    def count(self) -> int:
        """Publish and merge, and say how many rows there are."""
        self.offsets = self.rows = self.upto = self.events = self._committed
        return self.rows

    def compare(self) -> CopyComparison:
        """Find both sides the same."""
        return CopyComparison(self.rows, 20)

    def check(self) -> None:
        """Do nothing."""

    start = kill = close = add_column = check


def lines_of(text: str) -> list[str]:
    """The letters of each line, with every number as 0, and without spaces and the lines of boxes.

    How many of something there are is chance, and so is whether its noun is a plural.
    """
    lines = (re.sub(r"\d+([,:]\d+)*", "0", re.sub(r"[─│╭╮╰╯\s]", "", line)) for line in text.splitlines())
    return [re.sub(r"(0(?:change|event|duplicate|rollback|offset))s", r"\1", line) for line in lines if line]


def drawn_lines(svg: str) -> list[str]:
    """The words of each line of a picture, below the window's bar."""
    rows: dict[int, list[tuple[float, str]]] = {}
    for x, y, words in TEXT.findall(svg):
        rows.setdefault(int(y), []).append((float(x), unescape(words)))
    return lines_of(
        "\n".join(" ".join(words for _, words in sorted(row)) for _, row in sorted(rows.items())[1:])
    )


def printed() -> str:
    """What a demo prints from its last picture on."""
    out, parts = io.StringIO(), StandInParts()
    console = Console(file=out, force_terminal=True, width=100, height=50, color_system=None, highlight=False)
    with DemoScreen(console, PostgresShop.title, IcebergWarehouse.label) as screen:
        shown = Parts(Path(), *cast("Any", [parts] * 7))
        ending = story.Story(shown, screen, seconds=0.2, seed=1).tell()
        screen.freeze()
        print_ending(console, ending, (PostgresShop.title, IcebergWarehouse.title), 61.4)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).replace("\r", "\n")
    return text[text.rindex("wrackline demo") :]


def test_the_picture_shows_what_the_demo_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "_LOOK", 0.01)
    said = lines_of(printed())
    assert "whathappened" in said
    assert drawn_lines(PICTURE.read_text()) == said


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    svg = PICTURE.read_text()
    assert len(svg) < MOST_BYTES
    assert not re.search(r"<script|<image|<foreignObject|@import|url\(|href", svg)
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]


def test_a_terminal_is_drawn_word_for_word() -> None:
    svg = draw_terminal("╭─ a  <b> ─╮\n│ \x1b[1m\x1b[31mkill -9\x1b[0m: x │\n╰─┬────╯", "./run demo")
    assert drawn_lines(svg) == ["a<b>", "kill-0:x", "┬"]
    assert 'font-weight="700" fill="#ff7b72">kill -9<' in svg
