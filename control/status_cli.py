"""`wrackline status`: both sides of a pipeline at a glance; the exit code is for scripts."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from wrackline.control.output import Json, Options, print_json, say
from wrackline.control.pipeline_file import good_pipeline
from wrackline.control.status import Status, gather
from wrackline.control.status_text import Look, details, heads, lines
from wrackline.schemas.errors import WracklineError


def status(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE...]", help="schema.table: all that is known of these."),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Show where each table stands at the source and in the target, how far and how late.

    Exits with 0 if all go on, 3 if something waits or no consumer answers, 4 or 5 if a table stopped.
    """
    context.ensure_object(Options).json = json
    found = gather(good_pipeline(file))
    if json:
        print_json(_document(found))
    else:
        width = Console().width if sys.stdout.isatty() or "COLUMNS" in os.environ else None
        look = Look(width, time.time_ns() // 1_000_000)
        wanted = [name for name in found.tables if tables and any(_means(one, name) for one in tables)]
        for line in heads(found, look):
            say(line)
        for name in wanted:
            for line in details(found, name, look):
                say(line)
        for line in lines(found, look) if not wanted else ():
            say(line)
        for one in tables or ():
            if not any(_means(one, name) for name in found.tables):
                raise typer.BadParameter(f"neither side knows a table {one}")
    if found.exit:
        raise typer.Exit(found.exit)


def _means(given: str, name: str) -> bool:
    return name == given or name.endswith(f".{given}")


def _document(found: Status) -> dict[str, object]:
    source, log, target = found.source, found.log, found.target
    return {
        "pipeline": found.pipeline,
        "source": {"error": source.document()} if isinstance(source, WracklineError) else {"tables": source},
        "log": {"error": log.document()} if isinstance(log, WracklineError) else log,
        "target": {"error": target.document()} if isinstance(target, WracklineError) else target,
    }
