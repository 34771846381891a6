"""The demo's picture fits a small terminal; elsewhere it is plain lines."""

import io
import re
from dataclasses import replace

from rich.console import Console

from wrackline.control.local.demo.demo_screen import DemoNumbers, DemoScreen

NUMBERS = DemoNumbers(
    "live workload, with a new worker",
    source_rows=1_234_567,
    changes=12_345_678,
    events=12_345_600,
    doubled=0,
    lake_rows=1_234_000,
    unmerged=123_456,
    worker=4_194_304,
)


def test_the_picture_fits_80_by_24() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=24, color_system=None)
    with DemoScreen(console, "PostgreSQL", "Iceberg table") as screen:
        screen.show(NUMBERS)
        for number in range(20):
            screen.say(f"{number} " + "a sentence that is much longer than a line of the terminal " * 2)
        out.truncate(0)
        out.seek(0)
        screen.show(NUMBERS)
        drawn = out.getvalue()  # the end draws it once more
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn).replace("\r", "\n")
    lines = [line for line in shown.splitlines() if "│" in line or "─" in line]
    assert 10 < len(lines) <= 24
    assert all(len(line) <= 80 for line in lines)
    text = "\n".join(lines)
    assert "PostgreSQL       1,234,567  rows" in text
    assert "12,345,600" in text
    assert "78 changes behind" in text
    assert "19 a sentence" in text
    assert "pid 4194304" in text
    assert " 1 a sentence" not in text


def test_there_is_no_panel_of_what_happened_before_anything_has() -> None:
    out = io.StringIO()
    with DemoScreen(
        Console(file=out, force_terminal=True, width=80, height=24), "MariaDB", "Iceberg table"
    ) as screen:
        screen.show(NUMBERS)
        assert "what happened" not in out.getvalue()
        screen.say("the shop is open")
        screen.show(NUMBERS)
        assert "what happened" in out.getvalue()


def test_the_numbers_stay_where_they_are() -> None:
    places: set[int] = set()
    for changes in (0, NUMBERS.changes):
        out = io.StringIO()
        console = Console(file=out, force_terminal=True, width=80, height=24, color_system=None)
        with DemoScreen(console, "MariaDB", "Iceberg table") as screen:
            screen.show(replace(NUMBERS, changes=changes, doubled=changes))
        places.update(line.index(" rows ") for line in out.getvalue().splitlines() if " rows " in line)
    assert len(places) == 1


def test_one_of_a_kind_has_the_noun_of_one() -> None:
    out, one = io.StringIO(), DemoNumbers("now", 1, 1, 1, 1, 1, 1, 7)
    with DemoScreen(Console(file=out, width=80), "MariaDB", "Iceberg table") as screen:
        screen.show(one)
    said = out.getvalue()
    assert "source 1 row, 1 change; Kafka 1 event (0 behind, 1 duplicate); Iceberg table 1 row (1 off" in said


def test_plain_lines_come_now_and_then_and_hold_everything() -> None:
    out = io.StringIO()
    with DemoScreen(Console(file=out, width=80), "MariaDB", "Iceberg table") as screen:
        screen.say("the shop is open")
        screen.show(NUMBERS)
        screen.show(NUMBERS)
    said, shown = out.getvalue().splitlines()
    assert said.endswith("the shop is open")
    for part in (
        "1,234,567 rows",
        "12,345,678 changes",
        "78 behind",
        "0 duplicates",
        "123,456 offsets behind",
    ):
        assert part in shown
