"""`wrackline letters …`: the dead letters of a pipeline's tables: shown, tried again, or dropped.

In: a pipeline's file, and perhaps one table.  Out: what is kept and why; no byte of a record is ever shown.
The pipeline may run meanwhile: what both merge is merged once.
"""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wrackline.control.doing import doing
from wrackline.control.output import Json, Options, print_json, say
from wrackline.control.pipeline_file import good_pipeline
from wrackline.control.tail.shown import escaped
from wrackline.schemas.table import TableId

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from wrackline.control.letters import Desk
    from wrackline.control.letters_replay import Replays

app = typer.Typer(
    name="letters",
    help="Show the records that could not become rows, try them again, or drop them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")]
Table = Annotated[
    str | None, typer.Argument(metavar="TABLE", help="database.schema.table, as in its topic; none: all.")
]
OneTable = Annotated[str, typer.Argument(metavar="TABLE", help="database.schema.table, as in its topic.")]


@app.command(name="list")
def list_letters(context: typer.Context, file: File, table: Table = None, *, json: Json = False) -> None:
    """Show where each letter's record stands, since when it is kept, and why."""
    context.ensure_object(Options).json = json
    found = []
    with doing("the target is asked", json=json), _desk(file) as opened:
        for each in _tables(opened, table):
            found += [(each, letter) for letter in opened.letters(each)]
    if json:
        told = [
            {
                "table": str(each),
                **letter.spot._asdict(),
                "code": letter.code,
                "reason": letter.reason,
                "bytes": len(letter.key or b"") + len(letter.value or b""),
                "kept_ms": letter.kept_ms,
            }
            for each, letter in found
        ]
        print_json({"letters": told})
        return
    for each, letter in found:
        at = datetime.fromtimestamp(letter.kept_ms / 1000, UTC).isoformat(timespec="seconds")
        place = f"{letter.spot.topic}-{letter.spot.partition}@{letter.spot.offset}"
        say(f"{each}  {place}  {at}  {letter.reason}  [{letter.code}]")
    if not found:
        say("no letter is kept")


@app.command()
def replay(context: typer.Context, file: File, table: Table = None, *, json: Json = False) -> None:
    """Merge what can be read by now; what can't stays. The exit codes are those of consume --once."""
    context.ensure_object(Options).json = json
    told = []
    with doing("Spark is started", json=json) as shown, _replays(file) as opened:
        tables = _tables(opened.desk, table)
        for done_before, each in enumerate(tables):
            shown.now(escaped(str(each)), done_before, len(tables))
            done = opened.replay(each)
            told.append({"table": str(each), "merged": done.merged, "left": dict(done.left)})
            if not json and (done.merged or done.left):
                say(f"{each}: merged {done.merged:,}, left {sum(done.left.values()):,}")
                for reason, count in Counter(done.left).most_common():
                    say(f"  {count:,}: {reason}")
        errors = opened.failed
    if json:
        print_json({"tables": told, "errors": [error.document() for error in errors]})
    else:
        for error in errors:
            say(str(error))
        if not told and not errors:
            say("no letter is kept")
    if opened.exit:
        raise typer.Exit(opened.exit)


@app.command()
def drop(context: typer.Context, file: File, table: OneTable, *, json: Json = False) -> None:
    """Forget a table's letters: their rows come no more, unless they are read again."""
    context.ensure_object(Options).json = json
    with doing("the target is asked", json=json), _desk(file) as opened:
        (each,) = _tables(opened, table)
        count = opened.drop(each)
    if json:
        print_json({"table": str(each), "dropped": count})
    else:
        say(f"{each}: dropped {count:,}")


def _desk(file: Path) -> "AbstractContextManager[Desk]":
    from wrackline.control.letters import desk  # noqa: PLC0415 - as below

    return desk(good_pipeline(file))


def _replays(file: Path) -> "AbstractContextManager[Replays]":
    # here, for who keeps no letters needs no Spark
    from wrackline.control.letters_replay import replays  # noqa: PLC0415

    return replays(good_pipeline(file))


def _tables(opened: "Desk", named: str | None) -> list[TableId]:
    if named is None:
        return opened.tables()
    parts = named.split(".")
    try:
        return [TableId(*parts)]
    except TypeError:
        raise typer.BadParameter("a table is named as database.schema.table") from None
