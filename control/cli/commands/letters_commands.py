"""`wrackline letters …`: the dead letters of a pipeline's tables: shown, tried again, or dropped.

In: a pipeline's file, and perhaps one table.  Out: what is kept and why; no byte of a record is ever shown.
The pipeline may run meanwhile: a record that both merge is merged once.
"""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.table_names import fold_name, is_named_by, topic_spelling
from wrackline.control.runtime.ground.terminal_text import escape
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from wrackline.control.runtime.letters.letter_replay import LetterReplays
    from wrackline.control.runtime.letters.letters import LettersService

app = typer.Typer(
    name="letters",
    help="Show, replay or drop records that could not become rows.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")]
Table = Annotated[
    str | None,
    typer.Argument(metavar="TABLE", help="schema.table, as `wrackline status` shows it; default: all."),
]
OneTable = Annotated[
    str, typer.Argument(metavar="TABLE", help="schema.table, as `wrackline status` shows it.")
]


@app.command(name="list")
def list_letters(context: typer.Context, file: File, table: Table = None, *, json: Json = False) -> None:
    """Show the place of each letter's record, the time when it was set aside, and the reason."""
    context.ensure_object(Options).json = json
    found = []
    with show_progress("asking the target", json=json), _open_letters(file) as opened:
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
        say("there are no letters")


@app.command()
def replay(context: typer.Context, file: File, table: Table = None, *, json: Json = False) -> None:
    """Merge the letters that can be read now, and keep the rest. Exit codes are those of consume --once."""
    context.ensure_object(Options).json = json
    told = []
    with show_progress("starting Spark", json=json) as shown, _open_replays(file) as opened:
        tables = _tables(opened.desk, table)
        for done_before, each in enumerate(tables):
            shown.now(escape(str(each)), done_before, len(tables))
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
        if not errors and not any(one["merged"] or one["left"] for one in told):
            say("there are no letters")
    if opened.exit:
        raise typer.Exit(opened.exit)


@app.command()
def drop(context: typer.Context, file: File, table: OneTable, *, json: Json = False) -> None:
    """Drop a table's letters: their rows never arrive, unless they are read again."""
    context.ensure_object(Options).json = json
    with show_progress("asking the target", json=json), _open_letters(file) as opened:
        (each,) = _tables(opened, table)
        count = opened.drop(each)
    if json:
        print_json({"table": str(each), "dropped": count})
    else:
        say(f"{each}: dropped {count:,}")


def _open_letters(file: Path) -> "AbstractContextManager[LettersService]":
    from wrackline.control.runtime.letters.letters import open_letters  # noqa: PLC0415 - as below

    return open_letters(good_pipeline(file))


def _open_replays(file: Path) -> "AbstractContextManager[LetterReplays]":
    # here, because a user that keeps no letters needs no Spark
    from wrackline.control.runtime.letters.letter_replay import open_replays  # noqa: PLC0415

    return open_replays(good_pipeline(file))


def _tables(opened: "LettersService", named: str | None) -> list[TableId]:
    if named is None:
        return opened.tables()
    every = opened.tables()
    found = [table for table in every if is_named_by(named, str(table))]
    if not found:  # a dot may be the table's own
        found = [table for one in fold_name(named) for table in every if is_named_by(one, str(table))]
    if len(found) > 1:
        raise typer.BadParameter(f"{named} may be any of: {', '.join(map(str, found))}")
    parts = topic_spelling(named).split(".")
    if not found and len(parts) == len(TableId._fields):  # its topic is gone, its letters may be there
        return [TableId(*parts)]
    if not found:
        raise typer.BadParameter(f"no table of this pipeline is called {named}: name it as schema.table")
    return found
