"""Prints a bench's figures: a table for a person, JSON for a program.

The JSON is `{"machine", "commit", "rows": [{"metric", "value", "unit", "against", "ratio",
"ratio_min", "ratio_max", "cpu_s", "peak_mb"}]}`; a row without a peer has an empty `against`
and null ratios.
"""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from bench.score import Row, Spread

ROOT = Path(__file__).parent.parent


def machine() -> str:
    """Say what the figures were measured on."""
    memory = psutil.virtual_memory().total / 2**30
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {system}"


def commit() -> str:
    """Name the commit, with `+` where the work tree differs from it; empty outside a clone."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return head + "+" if head and _git("status", "--porcelain", "--untracked-files=no") else head


def as_json(rows: Sequence[Row]) -> str:
    """Make the report's JSON."""
    report = {"machine": machine(), "commit": commit(), "rows": [row._asdict() for row in rows]}
    return json.dumps(report, indent=2) + "\n"


def as_table(name: str, spreads: Sequence[Spread], rows: Sequence[Row]) -> str:
    """Draw every contender's figures, and below them the ratios."""
    figures = Table()
    figures.add_column("contender")
    figures.add_column("metric")
    for heading in ("min", "median", "max", "CPU s", "peak MB"):
        figures.add_column(heading, justify="right")
    for one in spreads:
        figures.add_row(
            one.contender,
            f"{one.metric} ({one.unit})",
            *(_number(value) for value in (one.low, one.middle, one.high, *one.cost)),
        )
    ratios = Table()
    ratios.add_column("metric")
    ratios.add_column("against")
    for heading in ("min", "median", "max"):
        ratios.add_column(heading, justify="right")
    for row in rows:
        if row.ratio is not None:
            numbers = (row.ratio_min, row.ratio, row.ratio_max)
            ratios.add_row(
                row.metric, row.against, *(f"{number:.2f}" for number in numbers if number is not None)
            )
    console = Console(width=140)
    with console.capture() as drawn:
        console.print(f"{name}: {machine()}, commit {commit() or 'none'}", highlight=False)
        console.print(figures)
        if ratios.row_count:
            console.print("ours divided by the peer's, in the same round", highlight=False)
            console.print(ratios)
    return drawn.get()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    try:
        ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""
