"""`wrackline lineage COLUMN`: which columns fed a column and which it feeds, and when.

In: a column, and where a worker is.  Out: each way that the column has gone, oldest first, of all pipelines
that the worker follows.  The worker asks no server for it.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from wrackline.control.cli.remote import worker_access
from wrackline.control.cli.remote.remote_commands import Ca, Rest, User, open_worker
from wrackline.control.cli.remote.worker_client import NO_WORKER
from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.ground.terminal_text import escape
from wrackline.control.runtime.ground.times import utc_text
from wrackline.schemas.untrusted import number, text


def lineage(
    context: typer.Context,
    column: Annotated[
        str,
        typer.Argument(
            metavar="TABLE.COLUMN",
            help="The column's name at the source, in events or in the copy, after its table's name.",
        ),
    ],
    *,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Show where a column came from and went to, and when."""
    context.ensure_object(Options).json = json
    if not all(column.rpartition(".")[::2]):
        raise typer.BadParameter("name its table too, as public.users.email_hash")
    worker = open_worker(rest, user, ca)
    _, answer = worker.ask("GET", f"/lineage?column={quote(column, safe='')}")
    try:
        lines = list(lineage_lines(answer))
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        raise NO_WORKER(url=worker.url) from None
    if json:
        print_json(answer)
        return
    for line in lines:
        say(line)


def lineage_lines(answer: Any) -> Iterator[str]:  # noqa: ANN401 - what a worker has sent
    """Return an answer for people; KeyError, TypeError or ValueError: no worker of ours has sent it."""
    for span in answer["spans"]:
        until = "now" if span["until_ms"] is None else _moment(span["until_ms"])
        yield f"{_moment(span['since_ms'])} to {until}  {escape(text(span['pipeline']))}"
        yield f"  {' -> '.join(_way(span))}"
    if not answer["spans"]:
        yield "no column that is remembered is called so; see a pipeline's: GET /connectors/<name>/lineage"
    if answer["left_out"]:
        yield f"and {number(answer['left_out']):,} more"
    if answer["unknown"]:
        names = ", ".join(escape(text(name)) for name in answer["unknown"])
        yield f"not known, because their settings are no longer good: {names}"


def _way(span: Mapping[str, Any]) -> Iterator[str]:
    """Return the steps of a way; one that a half has not reported is left out."""
    how = text(span["how"])
    if span["source"]:
        yield escape(f"{text(span['table'])}.{text(span['source'])}") + (f" ({escape(how)})" if how else "")
    yield f"{escape(text(span['field']))} in events"
    if span["target"]:
        yield escape(f"{text(span['copy'])}.{text(span['target'])}")


def _moment(ms: object) -> str:
    return utc_text(number(ms))
