"""How every command prints: lines for people, or one JSON document."""

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, TextIO

import orjson
import typer
from rich.console import Console
from rich.text import Text

from wrackline.control.runtime.ground.plain_json import jsonable
from wrackline.control.runtime.ground.terminal_text import visible
from wrackline.control.runtime.logs.lines import Log, as_json, log_to

AsJson = Annotated[
    bool | None,
    typer.Option(
        "--json/--text",
        help="Print one JSON object a line, or text for people; default: text only on a terminal.",
        show_default=False,
    ),
]


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass
class Options:
    """What the command line asked of the output."""

    debug: bool = False
    json: bool = False
    log: Log | None = None  # of a command whose whole output is JSON lines, its last error too


def say(text: str | Text) -> None:
    """Print a line for people; nothing in it is obeyed by their terminal."""
    _console(sys.stdout).print(harmless_text(text), markup=False)


def text_width() -> int | None:
    """Return the columns that a line has room for; None: it may have any length."""
    return Console().width if sys.stdout.isatty() or "COLUMNS" in os.environ else None


def harmless_text(text: str | Text) -> str | Text:
    """Return a text of which a terminal obeys nothing, its styles as they were."""
    if isinstance(text, str):
        return visible(text)
    shown = text.copy()
    shown.plain = visible(text.plain)  # of the same length
    return shown


def print_json(document: object, *, line: bool = False) -> None:
    """Print a document for programs, on many lines or on one."""
    option = 0 if line else orjson.OPT_INDENT_2
    sys.stdout.write(orjson.dumps(document, default=jsonable, option=option).decode() + "\n")


@lru_cache(maxsize=1)
def _console(stdout: TextIO) -> Console:
    """Look at the terminal once, not once a line."""
    return Console(file=stdout, highlight=False, soft_wrap=True)


def log_of(context: typer.Context, *, asked: bool | None, named: bool = False) -> Log:
    """Return the log of a command that runs for long; as JSON it has its last error too."""
    json = as_json(asked=asked)
    log = log_to(sys.stdout, for_programs=json, named=named)
    context.ensure_object(Options).log = log if json else None
    return log
