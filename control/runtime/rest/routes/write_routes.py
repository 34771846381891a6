"""Routes that make, change and remove connectors and their positions: what Kafka Connect's clients write.

    POST /connectors                        {"name", "config", "initial_state": RUNNING, PAUSED or STOPPED}
    PUT, PATCH /connectors/{c}/config       all of it; a merge patch, in which null removes a setting
    DELETE /connectors/{c}                  its positions stay
    PATCH, DELETE /connectors/{c}/offsets   of a connector that was stopped

In: a group.  Out: routes.  Nothing is written before all of it was found good, by the same check as
`PUT /connector-plugins/{p}/config/validate`, with the group's defaults below the settings.  Writes are done
one after the other: each changes what the previous one left.  What `control/plane` and `app_routes.py` write
has the same turn.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response

from wrackline.control.runtime.rest.model import connect_documents, sent_positions, sent_settings
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.body import json_of
from wrackline.control.runtime.rest.model.connectors import (
    NO_CONNECTOR,
    GoodSettings,
    WritableConnectors,
    refuse_existing,
)
from wrackline.control.runtime.rest.model.masked_secrets import masked_settings, restore_secrets
from wrackline.control.runtime.rest.model.sent_settings import NOT_SETTINGS
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.pipelines.deal import source_tasks
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import Problem

NOT_CONNECTOR = define(
    "rest.not_connector",
    Definite,
    "the request's body is not a connector: {why}",
    hint='send one such as {{"name": "shop", "config": {{"connector.class": "postgres"}}}}',
)
OTHER_NAME = define(  # the sentence is Connect's
    "rest.other_name",
    Definite,
    "Connector name configuration ({given}) doesn't match connector name in the URL ({name})",
    hint="name the same in both, or leave it out of the settings",
)
BAD_NAME = define(  # the name is taken literally: without references and without stripping blanks
    "rest.bad_name",
    Definite,
    "{name} can't be the name of a connector",
    hint="use only letters, digits, dots, _ and -",
)
INVALID = define(  # the sentence is Connect's
    "rest.invalid",
    Definite,
    "Connector configuration is invalid and contains the following {count} error(s):{errors}",
    hint="correct the settings, and send them again",
)
MASKED = define(
    "rest.masked",
    Definite,
    "a secret is shown as stars in {names}, and none is stored that they could stand for",
    hint="send the secret, or better a reference to it: ${{env:NAME}}, ${{file:PATH:KEY}}, ${{dir:PATH:KEY}}",
)

_ELSEWHERE = (
    "You can also find the above list of errors at the endpoint"
    " `/connector-plugins/{connectorType}/config/validate`"
)
_MOST_ERRORS: Final = 20  # that are reported at once
_MOST_STORED: Final = 900_000  # bytes: a record in Kafka has a million at most, by default
_MOST_NAMES: Final = 5
_WISHES: Final = {"RUNNING": DesiredState.RUN, "PAUSED": DesiredState.PAUSE, "STOPPED": DesiredState.STOP}


def routes(group: WritableConnectors) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors", default_response_class=Answer)
    writer, writers = ConnectorWriter(group), CapacityLimiter(1)

    def write_alone(write: Callable[..., Response], *of: object) -> Response:
        with group.turn:
            return write(*of)

    async def in_turn(write: Callable[..., Response], *of: object) -> Response:
        """Write on the one thread for it, so that writes which wait hold no other."""
        return await to_thread.run_sync(write_alone, write, *of, limiter=writers)

    @made.post("")
    async def create(request: Request) -> Response:
        """Make a connector."""
        name, config, wish = _connector(sent_settings.read_object(await json_of(request, sent_settings.MOST)))
        return await in_turn(writer.create, name, config, wish)

    @made.put("/{name}/config")
    async def put(name: str, request: Request) -> Response:
        """Give a connector all its settings; make it, if there is none."""
        return await in_turn(
            writer.put,
            name,
            sent_settings.read_settings(
                sent_settings.read_object(await json_of(request, sent_settings.MOST))
            ),
        )

    @made.patch("/{name}/config")
    async def patch(name: str, request: Request) -> Response:
        """Change some of its settings."""
        return await in_turn(
            writer.patch,
            name,
            sent_settings.read_changes(sent_settings.read_object(await json_of(request, sent_settings.MOST))),
        )

    @made.delete("/{name}")
    async def remove(name: str) -> Response:
        """Remove it."""
        return await in_turn(writer.remove, name)

    @made.patch("/{name}/offsets")
    async def alter(name: str, request: Request) -> Response:
        """Set its positions."""
        return await in_turn(
            writer.edit, name, sent_positions.read_edits(await json_of(request, sent_settings.MOST))
        )

    @made.delete("/{name}/offsets")
    async def reset(name: str) -> Response:
        """Remove its positions."""
        return await in_turn(writer.edit, name, None)

    return made


class ConnectorWriter:
    """Makes one write after the other, each once it was found good."""

    def __init__(self, group: WritableConnectors) -> None:
        self._group = group

    def create(self, name: str, sent: Mapping[str, str], wish: DesiredState | None) -> Response:
        """Make a connector that does not exist yet."""
        good = good_settings(self._group.check, name, sent)
        refuse_existing(self._group.names(), name)
        return self._store(name, good, wish)

    def put(self, name: str, sent: Mapping[str, str]) -> Response:
        """Make a connector, or give it other settings."""
        if name in self._group.names():
            stored = self._group.stored_settings(name)
            sent = restore_secrets(self._group.check(stored).registry, stored, sent)
        return self._store(name, good_settings(self._group.check, name, sent), None)

    def patch(self, name: str, sent: Mapping[str, str | None]) -> Response:
        """Change some settings of a connector."""
        self._require(name)
        stored = self._group.stored_settings(name)
        patched = {**stored, **restore_secrets(self._group.check(stored).registry, stored, sent)}
        left = {setting: text for setting, text in patched.items() if text is not None}
        return self._store(name, good_settings(self._group.check, name, left), None)

    def remove(self, name: str) -> Response:
        """Remove a connector."""
        self._require(name)
        self._group.remove(name)
        return Response(status_code=204)

    def edit(self, name: str, edits: sent_positions.Edits | None) -> Response:
        """Set or remove positions."""
        self._require(name)
        self._group.edit_offsets(name, edits)
        return Answer(sent_positions.RESET if edits is None else sent_positions.ALTERED)

    def _require(self, name: str) -> None:
        if name not in self._group.names():
            raise NO_CONNECTOR(name=shown_name(name))

    def _store(
        self, name: str, checked: tuple[GoodSettings, Sequence[Problem]], wish: DesiredState | None
    ) -> Response:
        """Write settings that were found good, and show the result."""
        good, warnings = checked
        new = name not in self._group.names()
        self._group.put(name, good, wish, new=new)
        told = connect_documents.info(name, self._group.config(name), self._group.standing(name))
        told |= connect_documents.warnings(warnings)
        if new:
            return Answer(told, 201, {"Location": f"/connectors/{name}"})
        return Answer(told)


def good_settings(
    check: Callable[[Mapping[str, str]], Pipeline], name: str, sent: Mapping[str, str]
) -> tuple[GoodSettings, Sequence[Problem]]:
    """Return settings with their name, and warnings for their sender; or raise what is wrong."""
    config = {**sent, "name": sent.get("name", name)}
    if config["name"] != name:
        raise OTHER_NAME(given=shown_name(config["name"]), name=shown_name(name))
    if len(orjson.dumps(config)) > _MOST_STORED:
        raise NOT_SETTINGS(why=f"all of them are larger than {_MOST_STORED} bytes")
    checked = check(config)
    starred = list(masked_settings(checked.registry, config))
    if starred:
        raise MASKED(names=_some(starred, _MOST_NAMES, ", "))
    wrong = [str(problem.error) for problem in checked.problems if not problem.warning]
    if wrong:
        told = _some(wrong, _MOST_ERRORS, "\n")
        raise INVALID(count=len(wrong), errors=f"\n{told}\n{_ELSEWHERE}")
    if checked.values is None or checked.values.text("name") != name:
        raise BAD_NAME(name=shown_name(name))
    good = GoodSettings(config, source_tasks(checked.values))
    return good, (*checked.problems, *checked.registry.left_out(checked.given))


def _connector(read: Mapping[str, Any]) -> tuple[str, dict[str, str], DesiredState | None]:
    """Take an object as a connector: its name, its settings, and whether it is to run."""
    unknown = set(read) - {"name", "config", "initial_state"}
    if unknown:
        raise NOT_CONNECTOR(why=f"nothing is known of {shown_name(min(unknown))}")
    name, config, state = read.get("name"), read.get("config"), read.get("initial_state")
    if not isinstance(name, str) or not name.strip():
        raise NOT_CONNECTOR(why="it has no name")
    if not isinstance(config, dict):
        raise NOT_CONNECTOR(why="its config is not an object of settings")
    if state is not None and (not isinstance(state, str) or state.upper() not in _WISHES):
        raise NOT_CONNECTOR(why=f"its initial_state is none of {', '.join(_WISHES)}")
    return (
        name.strip(),
        sent_settings.read_settings(config),
        None if state is None else _WISHES[state.upper()],
    )


def _some(texts: Sequence[str], most: int, between: str) -> str:
    more = f"{between}and {len(texts) - most} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more
