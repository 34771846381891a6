"""`wrackline pause | resume | restart | stop | connectors | apply`: commands to a worker, by REST.

In: a connector's name or its file, and where its worker is.  Out: what was requested, and with --wait the
state that it reached.  The paths are Kafka Connect's, so they work with any worker of its kind.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer
from rich.text import Text

from wrackline.control.cli.remote import worker_access
from wrackline.control.cli.remote.connector_states import FAILED, RESTS, RemoteState, Verb, VerbCourse
from wrackline.control.cli.remote.worker_client import WorkerClient, path_of
from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.terminal_text import escape, escape_lines
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define, error_text
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.pipelines.pipeline import parse, read_file
from wrackline.schemas.redaction import shown_name

HAS_FAILED = define(
    "remote.has_failed",
    OperatorNeeded,
    "{name} is FAILED{why}",
    hint="correct the cause, then: wrackline restart {name} --only-failed",
)
NOT_YET = define(
    "remote.not_yet",
    Transient,
    "{name} was asked to {verb}, and is {state} after {seconds} s",
    hint="look again: wrackline connectors; or wait longer: --wait <seconds>",
)
NO_NAME = define(
    "remote.no_name",
    Definite,
    "{file} names no connector: {why}",
    hint='give it a name: in a pipeline\'s file name = "shop", in JSON {{"name": "shop", "config": {{...}}}}',
)

_LOOK: Final = 0.1  # seconds between two looks; Connect's REST reports no events
_clock = time.monotonic
_STYLES: Final = {"RUNNING": "green", "FAILED": "bold red", "PAUSED": "yellow", "STOPPED": "yellow"}

Which = Annotated[
    str, typer.Argument(metavar="pipeline.toml|NAME", help="The pipeline's file, or the connector's name.")
]
Rest = Annotated[
    str,
    typer.Option("--rest", metavar="URL", envvar=worker_access.ADDRESS, help="The worker's address."),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        help=f"The user to log in as; the password is in {worker_access.PASSWORD}."
        f" Default: the token in {worker_access.TOKEN}.",
    ),
]
Ca = Annotated[
    Path | None,
    typer.Option(
        "--ca", metavar="PATH", envvar=worker_access.CA, help="PEM certificates to trust for https."
    ),
]
Wait = Annotated[
    int | None,
    typer.Option(
        "--wait", metavar="SECONDS", min=1, max=86_400, help="Wait until it is done, at most this long."
    ),
]


HalfFlag = Annotated[
    Half | None,
    typer.Option("--half", help="Only one half: source (database to Kafka) or target (Kafka to target)."),
]


def _command(verb: Verb, meaning: str) -> Callable[..., None]:
    """Make the command that sends a verb to a connector, or to one half of it."""

    def send(  # noqa: PLR0913 - each is a flag
        context: typer.Context,
        which: Which,
        *,
        half: HalfFlag = None,
        wait: Wait = None,
        rest: Rest = worker_access.HERE,
        user: User = None,
        ca: Ca = None,
        json: Json = False,
    ) -> None:
        context.ensure_object(Options).json = json
        _tell(verb, which, open_worker(rest, user, ca), wait, json=json, half=half)

    send.__name__, send.__doc__ = verb, meaning
    return send


pause = _command(
    Verb.PAUSE, "Pause a connector: its processes end.\n\nThe source keeps the log in the meantime."
)
resume = _command(Verb.RESUME, "Resume a paused or stopped connector.")


def stop(
    context: typer.Context,
    which: Which,
    *,
    wait: Wait = None,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Stop a connector, so that its positions can be edited."""
    context.ensure_object(Options).json = json
    _tell(Verb.STOP, which, open_worker(rest, user, ca), wait, json=json)


def restart(  # noqa: PLR0913 - each is a flag
    context: typer.Context,
    which: Which,
    *,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Restart it only if it has failed.")
    ] = False,
    wait: Wait = None,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Restart a connector and its tasks.

    A paused or stopped connector stays as it is.
    """
    context.ensure_object(Options).json = json
    _tell(Verb.RESTART, which, open_worker(rest, user, ca), wait, json=json, only_failed=only_failed)


def connectors(
    context: typer.Context,
    *,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """List a worker's connectors and their tasks with their states.

    Exits with 4 if one has failed.
    """
    context.ensure_object(Options).json = json
    found = open_worker(rest, user, ca).states()
    if json:
        print_json({"connectors": [{"name": name, **_fields(one)} for name, one in found.items()]})
    else:
        width = max(map(len, found), default=0)
        for name, one in found.items():
            say(
                Text.assemble(
                    f"{escape(name):{width}}  ", (f"{one.state:10}", _style(one)), f"  {one.worker}"
                )
            )
            if one.differ:
                say(f"  {_tasks_text(one)}")
            if one.trace:
                say(f"  {escape_lines(one.trace)}")
            if one.down:
                say(f"  databases with errors: {one.down:,}; which: GET {path_of(name)}/status")
            if one.wrong:
                say(f"  tables with errors: {one.wrong:,}; which: GET {path_of(name)}/tables")
        if not found:
            say("the worker has no connectors")
    if any(one.state == FAILED for one in found.values()):
        raise typer.Exit(Exit.OPERATOR)


def apply(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="pipeline.toml|connector.json", help="The connector's settings.")
    ],
    *,
    rest: Rest = worker_access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Make a connector in a group, or change its settings.

    References to secrets are sent as they are; the worker that runs the task resolves them.
    """
    context.ensure_object(Options).json = json
    name, config = _connector(file)
    status, answer = open_worker(rest, user, ca).ask("PUT", f"{path_of(name)}/config", config)
    done = "made" if status == 201 else "changed"
    warnings = _warnings(answer)
    if json:
        print_json({"name": name, "done": done, **({"warnings": warnings} if warnings else {})})
        return
    say(f"{escape(name)}: {done}; see: wrackline connectors")
    for warning in warnings:
        say(Text.assemble(("warning", "yellow"), f" {escape_lines(error_text(warning))}"))


def _warnings(answer: object) -> list[Mapping[str, object]]:
    """Take from an answer what the settings do not do there; Connect's own workers report nothing of it."""
    told = answer.get("warnings") if isinstance(answer, dict) else None
    known = {"code", "sentence", "hint"}
    return (
        [one for one in told if isinstance(one, dict) and known <= set(one)] if isinstance(told, list) else []
    )


def open_worker(rest: str, user: str | None, ca: Path | None) -> WorkerClient:
    """Return the worker at an address, with what logs in there."""
    return WorkerClient(worker_access.open_access(rest, user, ca, os.environ))


def _tell(
    verb: Verb,
    which: str,
    worker: WorkerClient,
    wait: int | None,
    *,
    json: bool,
    only_failed: bool = False,
    half: Half | None = None,
) -> None:
    """Send a verb, and wait for its end if the caller wants that."""
    name, part = _name(which), None if half is None else half.value
    before, tasks = (worker.state(name), ()) if part is None else worker.half(name, part)
    if verb is Verb.RESTART:
        flags = f"includeTasks=true&onlyFailed={'true' if only_failed else 'false'}"
        worker.ask("POST", f"{path_of(name)}/restart?{flags}")
    else:
        for task in [f"/tasks/{one}" for one in tasks] or [""]:
            worker.ask("PUT", f"{path_of(name)}{task}/{verb}")
    course = VerbCourse(verb, before.state, only_failed)
    found = before if wait is None else _wait_for_end(course, lambda: worker.state(name, part), name, wait)
    if json:
        print_json({"name": name, "asked": verb, **({} if wait is None else _fields(found))})
    elif wait is None:
        say(f"{escape(name)}: asked to {verb}; see: wrackline connectors")
    else:
        asleep = verb is Verb.RESTART and found.state in RESTS
        more = "; restart does not change that, resume does" if asleep else ""
        say(f"{escape(name)} is {found.state}{more}")


def _wait_for_end(
    course: VerbCourse, look: Callable[[], RemoteState], name: str, seconds: int
) -> RemoteState:
    """Look until the verb has ended; a failure, or a timeout, is an error."""
    sent = _clock()
    found = look()
    while not course.over(found, _clock() - sent):
        if _clock() > sent + seconds:
            raise NOT_YET(name=escape(name), verb=course.verb, state=found.state, seconds=seconds)
        time.sleep(_LOOK)
        found = look()
    if found.state == FAILED:
        why = f": {escape_lines(found.trace)}" if found.trace else ""
        raise HAS_FAILED(name=escape(name), why=why)
    return found


def _name(which: str) -> str:
    """Return the given name, or the name in a pipeline's file; its other settings may be anything."""
    return _connector(Path(which))[0] if which.endswith((".toml", ".json")) else which


def _connector(file: Path) -> tuple[str, dict[str, Any]]:
    """Return a connector's name and settings; the worker validates the settings."""
    text = read_file(file)
    if file.suffix == ".json":
        document = _json(text, file)
        config = document.get("config", document)
        name = document.get("name")
    else:
        config, problems = parse(text, str(file))
        if problems:
            raise problems[0].error
        name = config.get("name")
    if not isinstance(name, str) or not isinstance(config, dict) or not name:
        raise NO_NAME(file=shown_name(str(file)), why="it has no name, or no settings")
    return name, config


def _json(text: str, file: Path) -> dict[str, Any]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise NO_NAME(file=shown_name(str(file)), why="it is not a JSON object")
    return document


def _fields(found: RemoteState) -> dict[str, Any]:
    return {
        "state": found.state,
        "worker": found.worker,
        "trace": found.trace,
        "tables_with_errors": found.wrong,
        "databases_with_errors": found.down,
        "tasks": [{"id": number, "state": state} for number, state in found.tasks],
    }


def _tasks_text(found: RemoteState) -> str:
    """Write the tasks' states, each with the numbers of its tasks."""
    by_state: dict[str, list[str]] = {}
    for number, state in found.tasks:
        by_state.setdefault(state, []).append(str(number))
    return "tasks: " + "; ".join(f"{', '.join(which)} {state}" for state, which in by_state.items())


def _style(found: RemoteState) -> str:
    return _STYLES.get(found.state, "")
