"""`wrackline slo`: how a connector's promise of freshness went, as a worker knows it.

In: a connector's name, and where its worker is.  Out: percent, minutes and what is left, of all tables and of
the worst.  The exit code is 4 if a table has broken the promise.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer
from rich.text import Text

from wrackline.control.cli.remote import worker_access
from wrackline.control.cli.remote.remote_commands import Ca, Rest, User, open_worker
from wrackline.control.cli.remote.worker_client import NO_WORKER, path_of
from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.terminal_text import escape

_MOST: Final = 20  # tables that are printed


def slo(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The connector's name.")],
    *,
    table: Annotated[str, typer.Option("--table", help="Only this table, as the console names it.")] = "",
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Show how a connector kept its promise of freshness.

    Exits with 4 if a table has broken it.
    """
    context.ensure_object(Options).json = json
    worker = open_worker(rest, user, ca)
    _, found = worker.ask("GET", f"{path_of(name)}/slo{f'?table={quote(table)}' if table else ''}")
    try:
        lines = list(slo_lines(name, found))
        broken = _is_broken(found)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NO_WORKER(url=worker.url) from None
    if json:
        print_json(found)
    else:
        for line in lines:
            say(line)
    if broken:
        raise typer.Exit(Exit.OPERATOR)


def slo_lines(name: str, found: Any) -> Iterator[str | Text]:  # noqa: ANN401 - what a worker has sent
    """Return an answer for people; KeyError, TypeError, ValueError or AttributeError: it is no worker's."""
    promise = found["promise"]
    if promise is None:
        yield f"{escape(name)} promises nothing; to promise five minutes: slo.minutes = 5 in its settings"
        return
    yield (
        f"{escape(found['pipeline'])}: copies at most {promise['minutes']} min old, in"
        f" {promise['percent']:g} % of the minutes of {promise['window_days']} days"
    )
    broken = found["tables_broken"]
    yield (
        Text.assemble(
            f"  all tables   {_line(found)}; ",
            (f"{broken:,} of {found['tables_counted']:,} tables broke it", "bold red")
            if broken
            else (f"kept for all {found['tables_counted']:,} tables", "green"),
        )
    )
    width = max((len(escape(one["table"])) for one in found["tables"][:_MOST]), default=0)
    for one in found["tables"][:_MOST]:
        yield f"  {escape(one['table']):{width}}  {_line(one)}"
    left = max(0, len(found["tables"]) - _MOST) + found["left_out"]
    if left:
        yield f"  and {left:,} tables that are better"


def _is_broken(found: Any) -> bool:  # noqa: ANN401 - as above
    return found["promise"] is not None and found["tables_broken"] > 0


def _line(one: Mapping[str, Any]) -> str:
    percent = "nothing counted yet" if one["percent"] is None else f"{one['percent']:.2f} % good"
    left = f"{100 * one['budget_left']:.0f} % of the budget left"
    return f"{percent}, {one['bad']:,} bad, {one['paused']:,} paused, {left}"
