"""`wrackline snapshot …`: requests existing rows, pauses reads and shows them; the pipeline may run or not.

    start, stop, pause, resume  -->  a message on the topic of signals, which the pipeline's task obeys
    status                      <--  the tables' states beside its stored positions, the requests' receipts

A request that no task has read yet waits in the topic; its id makes a second sending harmless.
"""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.services import requested_tables, requests
from wrackline.control.runtime.services.offsets import open_offsets
from wrackline.control.runtime.services.signalling import WantedRows, send_signal, signal_body
from wrackline.schemas.kafka.signals import RejectedSignal
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.filters import TableFilter

app = typer.Typer(
    name="snapshot",
    help="Read existing rows alongside the log, and show the progress.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")]
Id = Annotated[str | None, typer.Option("--id", help="The request's id; the same id twice is one request.")]
Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE",
        help="schema.table or a pattern; quote each part with special characters, and the whole for the"
        """ shell: '"My schema"."a+b"'.""",
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
        typer.Option("--where", help="Read only these rows: \"status = 'open' AND id > 7\"."),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", help="Read only the row with this key; several columns as JSON: '[7, \"a\"]'."),
    ] = None,
    first: Annotated[
        str | None, typer.Option("--from", help="Read from this key on, written as for --key.")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", help="Read up to this key, including it.")] = None,
    surrogate_key: Annotated[
        str | None, typer.Option("--surrogate-key", help="Read in the order of this column.")
    ] = None,
    id: Id = None,  # noqa: A002 - the option's name
    json: Json = False,
) -> None:
    """Read the rows of tables, including tables that are set aside."""
    pipeline = _open(context, file, json=json)
    tables = _spell(pipeline, tables, start=True)
    wanted = WantedRows(tables, where, keys or (), first, last, surrogate_key)
    _send(pipeline, file, "execute-snapshot", wanted.data(), id, json=json)


@app.command()
def stop(
    context: typer.Context,
    file: File,
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="Default: all.")] = None,
    *,
    id: Id = None,  # noqa: A002 - the option's name
    json: Json = False,
) -> None:
    """Stop reading these tables; reads that the pipeline itself needs continue."""
    pipeline = _open(context, file, json=json)
    data: dict[str, object] = {"type": "incremental"}
    if tables:
        data["data-collections"] = _spell(pipeline, tables, start=False)
    _send(pipeline, file, "stop-snapshot", data, id, json=json)


@app.command()
def pause(context: typer.Context, file: File, *, id: Id = None, json: Json = False) -> None:  # noqa: A002 - the option's name
    """Pause reads until resume; the log is still published."""
    _send(_open(context, file, json=json), file, "pause-snapshot", {}, id, json=json)


@app.command()
def resume(context: typer.Context, file: File, *, id: Id = None, json: Json = False) -> None:  # noqa: A002 - the option's name
    """Continue paused reads."""
    _send(_open(context, file, json=json), file, "resume-snapshot", {}, id, json=json)


@app.command()
def status(context: typer.Context, file: File, *, json: Json = False) -> None:
    """Show the states of tables and requests, as of the last commit."""
    pipeline = _open(context, file, json=json)
    with open_offsets(pipeline) as opened:
        states = {name: state for one in opened.show() for name, state in one.tables.items()}
    asked = requests.read_receipts(pipeline.good(), lambda error: say(str(error)) if not json else None)
    told = requests.table_receipts(asked)
    found = {name: requests.table_state(name, state, told) for name, state in states.items()}
    if json:
        print_json({"tables": found, "requests": requests.request_documents(asked)})
        return
    width = max((len(name) for name in found), default=0)
    for name, standing in sorted(found.items()):
        say(f"{name:{width}}  {requests.state_in_words(standing)}")
    if not found:
        say("no table is known yet: start the pipeline first")
    lines = requests.request_lines(asked)
    say("\n".join(["", "requests:", *lines]) if lines else "")


def _open(context: typer.Context, file: Path, *, json: bool) -> Pipeline:
    """Read the pipeline's file; an error is printed as JSON too, if the answer would be."""
    context.ensure_object(Options).json = json
    return good_pipeline(file)


def _spell(pipeline: Pipeline, given: Sequence[str], *, start: bool) -> list[str]:
    """Write tables as the task knows them; tables that the settings leave out are refused."""
    values = pipeline.good()
    with open_offsets(pipeline) as opened:
        known, databases = opened.states(), [partition.database for partition in opened.partitions()]
    tables = requested_tables.spell_tables(given, known, values.text("topic.prefix"), naming_of(values))
    if start:
        requested_tables.refuse_left_out(tables, known, databases, TableFilter.of(values))
    return tables


def _send(
    pipeline: Pipeline,
    file: Path,
    kind: str,
    data: Mapping[str, object],
    given: str | None,
    *,
    json: bool,
) -> None:
    request = given or str(uuid.uuid4())
    body = signal_body(request, kind, data)
    if isinstance(body, RejectedSignal):
        raise typer.BadParameter(f"{body.reason.sentence}; {body.reason.hint}")
    send_signal(pipeline.good(), body)
    if json:
        print_json({"id": request})
    else:
        say(f"request {request} is sent; see: wrackline snapshot status {file}")
