"""`wrackline pause | resume | restart | stop | connectors | apply`: a worker told what to do, by REST.

In: a connector's name or its file, and where its worker is.  Out: what was asked, and with --wait the state
that it came to.  The paths are Kafka Connect's, so any worker of its kind is told as well.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer
from rich.text import Text

from wrackline.control.exits import Exit
from wrackline.control.output import Json, Options, print_json, say
from wrackline.control.remote import access
from wrackline.control.remote.asking import Worker, path_of
from wrackline.control.remote.states import FAILED, RESTS, Course, Now, Verb
from wrackline.control.tail.shown import escaped, escaped_lines
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define
from wrackline.schemas.pipeline import parse, read_file
from wrackline.schemas.redaction import shown_name

HAS_FAILED = define(
    "remote.has_failed",
    OperatorNeeded,
    "{name} is FAILED{why}",
    hint="mend what it says, then: wrackline restart {name} --only-failed",
)
NOT_YET = define(
    "remote.not_yet",
    Transient,
    "{name} was told to {verb}, and is {state} after {seconds} s",
    hint="look again: wrackline connectors; or wait longer: --wait <seconds>",
)
NO_NAME = define(
    "remote.no_name",
    Definite,
    "{file} names no connector: {why}",
    hint='give it a name: in a pipeline\'s file name = "shop", in JSON {{"name": "shop", "config": {{...}}}}',
)

_LOOK: Final = 0.1  # seconds between two looks; Connect's REST tells no events
_clock = time.monotonic
_STYLES: Final = {"RUNNING": "green", "FAILED": "bold red", "PAUSED": "yellow", "STOPPED": "yellow"}

Which = Annotated[
    str, typer.Argument(metavar="pipeline.toml|NAME", help="The pipeline's file, or the connector's name.")
]
Rest = Annotated[
    str, typer.Option("--rest", metavar="URL", envvar=access.ADDRESS, help="Where its worker is asked.")
]
User = Annotated[
    str | None,
    typer.Option(
        "--user", help=f"Who asks; the password is in {access.PASSWORD}. Else {access.TOKEN} is sent."
    ),
]
Ca = Annotated[
    Path | None,
    typer.Option("--ca", metavar="PATH", envvar=access.CA, help="PEM certificates to trust, beside https."),
]
Wait = Annotated[
    int | None,
    typer.Option("--wait", metavar="SECONDS", min=1, max=86_400, help="Wait so long until it is done."),
]


def _command(verb: Verb, meaning: str) -> Callable[..., None]:
    """Make the command that sends one of the verbs that have no flags of their own."""

    def send(
        context: typer.Context,
        which: Which,
        *,
        wait: Wait = None,
        rest: Rest = access.HERE,
        user: User = None,
        ca: Ca = None,
        json: Json = False,
    ) -> None:
        context.ensure_object(Options).json = json
        _tell(verb, which, _worker(rest, user, ca), wait, json=json)

    send.__name__, send.__doc__ = verb, meaning
    return send


pause = _command(
    Verb.PAUSE, "Let a connector rest: it has no process, and the source keeps its log meanwhile."
)
resume = _command(Verb.RESUME, "Let a connector go on that was paused or stopped.")
stop = _command(Verb.STOP, "Let a connector rest without a task, as its positions are edited.")


def restart(  # noqa: PLR0913 - each is a flag
    context: typer.Context,
    which: Which,
    *,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Leave it alone unless it has failed.")
    ] = False,
    wait: Wait = None,
    rest: Rest = access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Begin a connector and its task anew; one that is paused or stopped stays so."""
    context.ensure_object(Options).json = json
    _tell(Verb.RESTART, which, _worker(rest, user, ca), wait, json=json, only_failed=only_failed)


def connectors(
    context: typer.Context,
    *,
    rest: Rest = access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """List a worker's connectors with their states; exits with 4 if one has failed."""
    context.ensure_object(Options).json = json
    found = _worker(rest, user, ca).states()
    if json:
        print_json({"connectors": [{"name": name, **_fields(one)} for name, one in found.items()]})
    else:
        width = max(map(len, found), default=0)
        for name, one in found.items():
            say(
                Text.assemble(
                    f"{escaped(name):{width}}  ", (f"{one.state:10}", _style(one)), f"  {one.worker}"
                )
            )
            if one.trace:
                say(f"  {escaped_lines(one.trace)}")
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
    rest: Rest = access.HERE,
    user: User = None,
    ca: Ca = None,
    json: Json = False,
) -> None:
    """Make a connector in a group of workers, or give it these settings; its file stays as it is.

    References to secrets are sent as they stand; the worker that runs the task reads what they name.
    """
    context.ensure_object(Options).json = json
    name, config = _connector(file)
    status, _ = _worker(rest, user, ca).ask("PUT", f"{path_of(name)}/config", config)
    done = "made" if status == 201 else "changed"
    if json:
        print_json({"name": name, "done": done})
    else:
        say(f"{name}: {done}; see: wrackline connectors")


def _worker(rest: str, user: str | None, ca: Path | None) -> Worker:
    return Worker(access.access(rest, user, ca, os.environ))


def _tell(
    verb: Verb, which: str, worker: Worker, wait: int | None, *, json: bool, only_failed: bool = False
) -> None:
    """Send a verb, and wait for its end if that is asked for."""
    name = _name(which)
    before = worker.state(name)
    if verb is Verb.RESTART:
        flags = f"includeTasks=true&onlyFailed={'true' if only_failed else 'false'}"
        worker.ask("POST", f"{path_of(name)}/restart?{flags}")
    else:
        worker.ask("PUT", f"{path_of(name)}/{verb}")
    course = Course(verb, before.state, only_failed)
    found = before if wait is None else _waited(course, lambda: worker.state(name), name, wait)
    if json:
        print_json({"name": name, "asked": verb, **({} if wait is None else _fields(found))})
    elif wait is None:
        say(f"{escaped(name)}: told to {verb}; see: wrackline connectors")
    else:
        asleep = verb is Verb.RESTART and found.state in RESTS
        say(f"{escaped(name)} is {found.state}{'; restart leaves it so, resume wakes it' if asleep else ''}")


def _waited(course: Course, look: Callable[[], Now], name: str, seconds: int) -> Now:
    """Look until it has come to its end; that it failed, or takes longer, is an error."""
    sent = _clock()
    found = look()
    while not course.over(found.state, _clock() - sent):
        if _clock() > sent + seconds:
            raise NOT_YET(name=escaped(name), verb=course.verb, state=found.state, seconds=seconds)
        time.sleep(_LOOK)
        found = look()
    if found.state == FAILED:
        why = f": {escaped_lines(found.trace)}" if found.trace else ""
        raise HAS_FAILED(name=escaped(name), why=why)
    return found


def _name(which: str) -> str:
    """Return the name that was given, or that a pipeline's file gives; its other settings may be anything."""
    return _connector(Path(which))[0] if which.endswith((".toml", ".json")) else which


def _connector(file: Path) -> tuple[str, dict[str, Any]]:
    """Return a connector's name and settings; the worker judges these."""
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
        raise NO_NAME(file=shown_name(str(file)), why="it is no JSON object")
    return document


def _fields(found: Now) -> dict[str, Any]:
    return {"state": found.state, "worker": found.worker, "trace": found.trace}


def _style(found: Now) -> str:
    return _STYLES.get(found.state, "")
