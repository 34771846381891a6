"""`wrackline table …`: wishes for one table of the target: pause, resume, another try, and keeping its copy.

In: a pipeline's file and a table.  Out: the wish is written; the consumer obeys within seconds, wherever it
runs, and so does the next one.
"""

from pathlib import Path
from typing import Annotated

import typer

from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.runtime.board.board_reader import read_board
from wrackline.control.runtime.board.tasks.half_fold import half_of
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.table_names import is_named_by
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.services.table_wishes import send_wish
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.wish_records import TableWish
from wrackline.schemas.settings.settings_registry import Values

app = typer.Typer(
    name="table",
    help="Pause, resume or retry one table, or keep its copy.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="schema.table, as `wrackline status` shows it.")]


@app.command()
def pause(context: typer.Context, file: File, table: Table, *, json: Json = False) -> None:
    """Begin no further batch of a table; its events stay in Kafka as long as its topic keeps them."""
    _send(context, file, table, TableWish.PAUSE, json=json)


@app.command()
def resume(context: typer.Context, file: File, table: Table, *, json: Json = False) -> None:
    """Merge a table again that was paused."""
    _send(context, file, table, TableWish.RESUME, json=json)


@app.command()
def retry(context: typer.Context, file: File, table: Table, *, json: Json = False) -> None:
    """Try a table again that has stopped."""
    _send(context, file, table, TableWish.RETRY, json=json)


@app.command()
def keep(context: typer.Context, file: File, table: Table, *, json: Json = False) -> None:
    """Keep the copy of a table that is gone at the source, whatever target.drop.behavior says."""
    _send(context, file, table, TableWish.KEEP, json=json)


@app.command()
def release(context: typer.Context, file: File, table: Table, *, json: Json = False) -> None:
    """Let target.drop.behavior count again for a table whose copy was kept."""
    _send(context, file, table, TableWish.RELEASE, json=json)


def _send(context: typer.Context, file: Path, table: str, wish: TableWish, *, json: bool) -> None:
    context.ensure_object(Options).json = json
    pipeline = good_pipeline(file)
    if pipeline.target is None:
        raise typer.BadParameter("the pipeline has no target")
    values = pipeline.good()
    with show_progress("asking Kafka", json=json):
        named = _named(values, table)
        send_wish(values, named, wish, "")
    if json:
        print_json({"table": named, "wish": wish.value})
    else:
        say(f"{named}: {wish.value} is written; see: wrackline status {file} {table}")


def _named(values: Values, given: str) -> str:
    """Return the table's name on the board."""
    board, name = read_board(values), values.text("name")
    source = half_of(board, name, Half.SOURCE, now_ms())
    own = {key: str(one.get("table", key)) for key, one in source.tables.items()}
    known = {**{key: key for key in board.half(name, Half.TARGET).tables}, **own}
    found = [key for key, table in known.items() if is_named_by(given, key, table)]
    if len(found) != 1:
        why = f"may be any of: {', '.join(found)}" if found else "is none that the pipeline has reported"
        raise typer.BadParameter(f"{given} {why}")
    return found[0]
