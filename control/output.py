"""How every command prints: lines for people, or one JSON document."""

import sys
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.text import Text

from wrackline.control.logs.lines import Log

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass
class Options:
    """What the command line asked of the output."""

    debug: bool = False
    json: bool = False
    log: Log | None = None  # of a command that says all it says in JSON lines, its last error too


def say(text: str | Text) -> None:
    """Print a line for people."""
    Console(highlight=False, soft_wrap=True).print(text, markup=False)


def print_json(document: object) -> None:
    """Print a document for programs."""
    sys.stdout.write(orjson.dumps(document, default=_jsonable, option=orjson.OPT_INDENT_2).decode() + "\n")


def _jsonable(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case _:
            return str(value)
