"""`wrackline offsets …`: the command line of a pipeline's stored positions."""

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import orjson
import typer

from wrackline.control.cli.terminal.moment_argument import parse_moment
from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.services.offsets import OffsetsService, open_offsets

app = typer.Typer(
    name="offsets",
    help="Show or edit a pipeline's stored positions.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Fence a running pipeline, and write a position that the source would refuse."
    ),
]


@app.command()
def show(context: typer.Context, file: File, *, json: Json = False) -> None:
    """Show where the pipeline continues."""
    context.ensure_object(Options).json = json
    with open_offsets(good_pipeline(file)) as opened:
        _show(opened, json=json)


@app.command()
def history(context: typer.Context, file: File, *, json: Json = False) -> None:
    """Show the positions of the last 30 days, at most one a minute."""
    context.ensure_object(Options).json = json
    with open_offsets(good_pipeline(file)) as opened:
        kept = opened.history()
    if json:
        print_json({"history": [asdict(one) for one in kept]})
        return
    for one in kept:
        say(f"{one.time}  {one.database}  {one.place}  generation {one.generation}")
    if not kept:
        say("no position is stored yet")


@app.command(name="set")
def set_position(
    context: typer.Context,
    file: File,
    position: Annotated[str, typer.Argument(help="The position as JSON, as show --json prints it.")],
    *,
    database: Annotated[str | None, typer.Option(help="The database, if there are several.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make the pipeline continue at a position."""
    context.ensure_object(Options).json = json
    parsed = _object(position)
    with open_offsets(good_pipeline(file)) as opened:
        opened.set({database: parsed}, force=force)
        _show(opened, json=json)
        _say_what_stays(opened, file, json=json)


@app.command()
def reset(
    context: typer.Context,
    file: File,
    *,
    databases: Annotated[
        list[str] | None,
        typer.Option("--database", help="Only this one of several databases; may be repeated."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Give up the positions: the pipeline starts over where its source's log begins, in a new epoch."""
    context.ensure_object(Options).json = json
    with open_offsets(good_pipeline(file)) as opened:
        opened.reset(databases or (), force=force)
        _show(opened, json=json)


@app.command()
def rewind(
    context: typer.Context,
    file: File,
    *,
    to: Annotated[str, typer.Option(help="A time, such as 2026-05-01T12:00:00+02:00; without a zone, UTC.")],
    as_new: Annotated[
        bool, typer.Option("--as-new", help="Publish the events as new ones: targets apply them again.")
    ] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make the pipeline continue where it was at a given time; targets ignore events that they have."""
    context.ensure_object(Options).json = json
    there = parse_moment(to)
    with open_offsets(good_pipeline(file)) as opened:
        opened.rewind(there, as_new=as_new, force=force)
        _show(opened, json=json)
        _say_what_stays(opened, file, json=json)


def _show(opened: OffsetsService, *, json: bool) -> None:
    stored = opened.show()
    if json:
        print_json({"offsets": [asdict(one) for one in stored]})
        return
    for one in stored:
        hand = ", edited" if one.edited else f", transaction {one.n}"
        say(f"{one.database}  {one.place}  (generation {one.generation}{hand})")
        for table, state in one.tables.items():
            say(f"  {table}  {state.get('status', 'failed')}")
    if not stored:
        say("nothing is stored: the pipeline begins where its source's log begins")


def _say_what_stays(opened: OffsetsService, file: Path, *, json: bool) -> None:
    """Report each table that is set aside, because it is not read again with the log, and the remedy."""
    for table in [] if json else opened.set_aside():
        again = f"wrackline snapshot start {file} {quote(str(table))}"
        say(f"{table} is still set aside; to copy it again: {again}")


def _object(text: str) -> dict[str, Any]:
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        read = None
    if not isinstance(read, dict):
        raise typer.BadParameter("a position is a JSON object")
    return read
