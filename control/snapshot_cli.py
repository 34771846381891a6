"""`wrackline snapshot …`: existing rows asked for, paused and looked at, while a pipeline runs or not.

    start, stop, pause, resume  -->  a message on the topic of signals, which the pipeline's task obeys
    status                      <--  the tables' states beside its stored positions, the requests' receipts

A request that nobody hears yet waits in the topic; its id makes a second sending harmless.
"""

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import orjson
import typer

from wrackline.control import requests
from wrackline.control.offsets import desk
from wrackline.control.output import Json, Options, print_json, say
from wrackline.control.pipeline_file import good_pipeline
from wrackline.control.signalling import send
from wrackline.schemas import signals

app = typer.Typer(
    name="snapshot",
    help="Have existing rows read, beside the log, and see how far that is.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")]
Id = Annotated[str | None, typer.Option("--id", help="The request's name; the same twice is one request.")]
Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE",
        help="schema.table or a pattern of it; a name with odd characters in quotes, part by part, and"
        """ these in the shell's: '"My schema"."a+b"'.""",
    ),
]


@app.command()
def start(  # noqa: PLR0913 - an argument for each option
    context: typer.Context,
    file: File,
    tables: Tables,
    *,
    where: Annotated[
        str | None,
        typer.Option("--where", help="Only these rows: \"status = 'open' AND id > 7\"."),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", help="Only the row of this key; of several columns as JSON: '[7, \"a\"]'."),
    ] = None,
    first: Annotated[str | None, typer.Option("--from", help="From this key on; --key says how.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="Up to this key, with it.")] = None,
    surrogate_key: Annotated[
        str | None, typer.Option("--surrogate-key", help="Read in the order of this column.")
    ] = None,
    id: Id = None,  # noqa: A002 - the option's name
    json: Json = False,
) -> None:
    """Read the rows of tables, also of one that is set aside."""
    data: dict[str, object] = {"type": "incremental", "data-collections": tables}
    if where is not None:
        data["additional-conditions"] = [{"data-collection": table, "filter": where} for table in tables]
    if keys:
        data["keys"] = [_key(text) for text in keys]
    if first is not None or last is not None:
        data["key-range"] = {"from": _key(first), "to": _key(last)}
    if surrogate_key is not None:
        data["surrogate-key"] = surrogate_key
    _send(context, file, "execute-snapshot", data, id, json=json)


@app.command()
def stop(
    context: typer.Context,
    file: File,
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="None: all.")] = None,
    *,
    id: Id = None,  # noqa: A002 - the option's name
    json: Json = False,
) -> None:
    """Read no more of these tables; what the pipeline itself needs goes on."""
    data: dict[str, object] = {"type": "incremental"}
    if tables:
        data["data-collections"] = tables
    _send(context, file, "stop-snapshot", data, id, json=json)


@app.command()
def pause(context: typer.Context, file: File, *, id: Id = None, json: Json = False) -> None:  # noqa: A002 - the option's name
    """Begin no further read until resume; the log goes on."""
    _send(context, file, "pause-snapshot", {}, id, json=json)


@app.command()
def resume(context: typer.Context, file: File, *, id: Id = None, json: Json = False) -> None:  # noqa: A002 - the option's name
    """Go on reading where it was paused."""
    _send(context, file, "resume-snapshot", {}, id, json=json)


@app.command()
def status(context: typer.Context, file: File, *, json: Json = False) -> None:
    """Show where each table stands and what became of requests, as of the last commit."""
    context.ensure_object(Options).json = json
    pipeline = good_pipeline(file)
    with desk(pipeline) as opened:
        states = {name: state for one in opened.show() for name, state in one.tables.items()}
    asked = requests.found(pipeline.good(), lambda error: say(str(error)) if not json else None)
    told = requests.told(asked)
    found = {name: requests.standing(name, state, told) for name, state in states.items()}
    if json:
        print_json({"tables": found, "requests": requests.listed(asked)})
        return
    width = max((len(name) for name in found), default=0)
    for name, standing in sorted(found.items()):
        say(f"{name:{width}}  {requests.in_words(standing)}")
    if not found:
        say("no table is known yet: start the pipeline first")
    lines = requests.lines(asked)
    say("\n".join(["", "requests:", *lines]) if lines else "")


def _key(text: str | None) -> object:
    """Read a key's columns: JSON, or the text itself; one column needs no brackets."""
    if text is None:
        return None
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        read = text
    return read if isinstance(read, list) else [read]


def _send(
    context: typer.Context,
    file: Path,
    kind: str,
    data: Mapping[str, object],
    given: str | None,
    *,
    json: bool,
) -> None:
    context.ensure_object(Options).json = json
    pipeline = good_pipeline(file)
    request = given or str(uuid.uuid4())
    body = orjson.dumps({"id": request, "type": kind, "data": data})
    read = signals.parse_message(body, request)
    if isinstance(read, signals.Rejected):
        raise typer.BadParameter(f"{read.reason.sentence}; {read.reason.hint}")
    send(pipeline.good(), body)
    if json:
        print_json({"id": request})
    else:
        say(f"request {request} is sent; see: wrackline snapshot status {file}")
