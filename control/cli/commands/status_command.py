"""`wrackline status`: both sides of a pipeline at a glance, once or repeatedly."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wrackline.control.cli.terminal.database_text import StatusStyle
from wrackline.control.cli.terminal.output import Json, Options, print_json, say, text_width
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.cli.terminal.status_text import page, unknown_tables
from wrackline.control.cli.terminal.status_watch import watch
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.services.status import gather_status
from wrackline.control.runtime.services.status_documents import status_document


def status(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE", help="schema.table, to show all its details."),
    ] = None,
    *,
    again: Annotated[
        bool,
        typer.Option("--watch", help="Refresh until Ctrl-C; with --json, print one object a line."),
    ] = False,
    every: Annotated[
        float,
        typer.Option(
            "--every", metavar="SECONDS", min=0.2, max=86_400, help="The time between refreshes of --watch."
        ),
    ] = 2.0,
    json: Json = False,
) -> None:
    """Show each table's state on both sides, its progress and lag.

    Exits with 0 if all tables continue, 3 if something waits or a half has ended though nobody paused or
    stopped it, 4 or 5 if a half failed or a table stopped; with --watch, the last refresh decides.
    """
    context.ensure_object(Options).json = json
    ask, wanted = partial(gather_status, good_pipeline(file)), tables or []
    if again:
        code = watch(ask, partial(page, wanted=wanted), every, json=json)
    else:
        with show_progress("asking both halves", json=json):
            found = ask()
        code = found.exit
        if json:
            print_json(status_document(found))
        else:
            for line in page(found, StatusStyle(text_width(), now_ms()), wanted):
                say(line)
            for one in unknown_tables(found, wanted):
                raise typer.BadParameter(f"neither half has a table {one}")
    if code:
        raise typer.Exit(code)
