"""`wrackline draft list | show | edit | assess | deploy | export`: pipelines before they are made, by REST.

In: a draft's id, and where its worker is.  Out: the draft, its findings, or the pipeline that was made.  An
edit sends the tag of what was read, so it never overwrites what somebody else has written meanwhile.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

import click
import orjson
import typer
from rich.text import Text

from wrackline.control.cli.remote import worker_access
from wrackline.control.cli.remote.remote_commands import Ca, Rest, User, open_worker
from wrackline.control.cli.remote.worker_client import NO_WORKER, WorkerClient
from wrackline.control.cli.terminal.finding_text import COLOURS
from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.runtime.files.file_writer import write_file
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.terminal_text import escape, escape_lines
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.pipelines.pipeline import parse, read_file
from wrackline.schemas.redaction import shown_name

NO_CONFIG = define(
    "draft.no_config",
    Definite,
    "{file} is no configuration: {why}",
    hint="write a pipeline's file in TOML, or JSON with stages and connections or with settings",
)
_DRAFTS: Final = "/v1/contexts/default/drafts"

app = typer.Typer(
    name="draft",
    help="Show, edit, assess and deploy drafts of pipelines.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Which = Annotated[str, typer.Argument(metavar="ID", help="The draft's id.")]


@app.command(name="list")
def list_drafts(
    context: typer.Context,
    *,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """List a worker's drafts."""
    context.ensure_object(Options).json = json
    found = _list(open_worker(rest, user, ca), "GET", _DRAFTS)
    if json:
        print_json({"drafts": found})
        return
    for one in found:
        at = datetime.fromtimestamp(one["updated"] / 1000, UTC).isoformat(" ", "seconds")
        say(f"{escape(one['id'])}  {escape(one['name'])}  {at}  {escape(one['by'])}")
    if not found:
        say("the worker has no drafts; make one: wrackline draft edit <id> <pipeline.toml>")


@app.command()
def show(
    context: typer.Context,
    draft: Which,
    *,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="FORM", help="stages, flat or toml; default: as sent."),
    ] = None,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Show a draft; secrets are stars."""
    context.ensure_object(Options).json = json
    found = _draft(open_worker(rest, user, ca), draft, form)
    if json:
        print_json(found)
        return
    say(escape_lines(_text(found["config"])))
    for one in found["ignored"]:
        say(Text.assemble(("no effect", "yellow"), f" {escape(one['property'])}: {escape(one['why'])}"))


@app.command()
def edit(
    context: typer.Context,
    draft: Which,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The new text, TOML or JSON; default: $EDITOR.")
    ] = None,
    *,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Make a draft, or change it; a change that somebody else made meanwhile is not overwritten."""
    context.ensure_object(Options).json = json
    worker = open_worker(rest, user, ca)
    known = {one["id"]: one for one in _list(worker, "GET", _DRAFTS)}.get(draft)
    config = _edited(known) if file is None else _read(file)
    if config is None:
        say("nothing was changed")
        return
    tag = {"If-None-Match": "*"} if known is None else {"If-Match": f'"{known["tag"]}"'}
    _, told = worker.ask("PUT", _path(draft), {"config": config}, tag)
    if json:
        print_json(told)
    else:
        say(f"{escape(draft)}: kept; see: wrackline draft assess {escape(draft)}")


@app.command()
def assess(
    context: typer.Context,
    draft: Which,
    *,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Check a draft, its servers and tables, without changing anything; exits with 1 if it can't run."""
    context.ensure_object(Options).json = json
    with show_progress("asking the source, Kafka and the target", json=json):
        _, told = open_worker(rest, user, ca).ask("POST", f"{_path(draft)}/assessPipeline", {})
    found = _object(told)
    if json:
        print_json(found)
    else:
        _say_findings(draft, found)
    if not found["ok"]:
        raise typer.Exit(Exit.FINDINGS)


@app.command()
def deploy(  # noqa: PLR0913
    context: typer.Context,
    draft: Which,
    *,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="FINDING", help="The id of a warning to accept; may be repeated."),
    ] = None,
    stopped: Annotated[bool, typer.Option("--stopped", help="Make it, but do not start it.")] = False,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Check a draft, make its pipeline, and forget the draft."""
    context.ensure_object(Options).json = json
    body = {"accept": accept or [], "initial_state": "STOPPED" if stopped else "RUNNING"}
    with show_progress("asking the source, Kafka and the target", json=json):
        _, told = open_worker(rest, user, ca).ask("POST", f"{_path(draft)}/deploy", body)
    made = _object(told)
    if json:
        print_json(made)
    elif "file" in made:
        say(f"{escape(str(made['file']))} is written; start it: {escape(str(made['start']))}")
    else:
        say(f"{escape(str(made['name']))} is made, {escape(str(made['state']))}; see: wrackline connectors")


@app.command()
def export(
    context: typer.Context,
    draft: Which,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="pipeline.toml", help="The file to write; default: print it."),
    ] = None,
    *,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Write a draft as a pipeline's file."""
    context.ensure_object(Options).json = json
    text = str(_draft(open_worker(rest, user, ca), draft, "toml")["config"])
    if file is not None:
        write_file(file, text, force=False)
    if json:
        print_json({"id": draft, "file": None if file is None else str(file), "toml": text})
    elif file is None:
        say(escape_lines(text.rstrip()))
    else:
        say(f"{file} is written; see: wrackline check {file}")


def _path(draft: str) -> str:
    return f"{_DRAFTS}/{quote(draft, safe='')}"


def _draft(worker: WorkerClient, draft: str, form: str | None) -> Mapping[str, Any]:
    query = "" if form is None else f"?{urlencode({'form': form})}"
    return _object(worker.ask("GET", f"{_path(draft)}{query}")[1])


def _object(told: object) -> Mapping[str, Any]:
    if not isinstance(told, dict):
        raise NO_WORKER(url="this address")
    return told


def _list(worker: WorkerClient, method: str, path: str) -> Sequence[Mapping[str, Any]]:
    _, told = worker.ask(method, path)
    if not isinstance(told, list):
        raise NO_WORKER(url=worker.url)
    return told


def _text(config: object) -> str:
    return config if isinstance(config, str) else orjson.dumps(config, option=orjson.OPT_INDENT_2).decode()


def _edited(known: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Let the user edit a configuration as JSON; None: it was left as it is."""
    text = click.edit(_text({"stages": []} if known is None else known["config"]), extension=".json")
    return None if text is None else _json(text, "the edited text")


def _read(file: Path) -> Mapping[str, Any]:
    text = read_file(file)
    if file.suffix == ".json":
        read = _json(text, shown_name(str(file)))
        return _object(read["config"]) if "config" in read else read
    config, problems = parse(text, str(file))
    if problems:
        raise problems[0].error
    return config


def _json(text: str, file: str) -> Mapping[str, Any]:
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        read = None
    if not isinstance(read, dict):
        raise NO_CONFIG(file=file, why="it is not a JSON object")
    return read


def _say_findings(draft: str, found: Mapping[str, Any]) -> None:
    for one in found["findings"]:
        severity = Severity(one["severity"])
        line = (f"{severity.value:8}", COLOURS[severity]), (escape(one["name"]), "bold")
        say(Text.assemble(*line, f"  [{escape(one['id'])}]"))
        say(escape_lines(f"  {one['description']}; {one['impact']}\n  hint: {one['suggestion']}"))
    for table in found["tables"]:
        if table["columnsNotSupported"] or table["columnsPartiallySupported"]:
            no, partly = table["columnsNotSupported"], table["columnsPartiallySupported"]
            say(escape(f"{table['schema']}.{table['table']}: columns not carried {no}, partly {partly}"))
    verdict = "can be deployed" if found["ok"] else "can't be deployed"
    say(f"{escape(draft)}: tables {len(found['tables'])}, {verdict}")
