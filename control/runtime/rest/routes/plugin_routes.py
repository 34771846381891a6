"""What is installed, by REST as Kafka Connect shows it: sources, their settings, and a check of settings.

    GET /connector-plugins[?type=target]        GET /connector-plugins/{p}/config[?type=target]
    PUT /connector-plugins/{p}/config/validate

Clients of Connect find sources; only those that ask for targets get targets, whose settings are their own.

In: the installed plug-ins, and how this worker checks settings.  Out: routes.  Nothing is kept, and no server
is asked.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.body import body_of
from wrackline.control.runtime.rest.model.sent_settings import MOST, read_object
from wrackline.control.runtime.rest.model.sent_settings import read_settings as settings_of
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.pipelines import pipeline
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.setting import Setting
from wrackline.schemas.settings.settings_registry import definition

NO_PLUGIN = define(
    "rest.no_plugin",
    Definite,
    "there is no plug-in {name}",
    hint="those that are installed: GET /connector-plugins",
)
OTHER_CLASS = define(
    "rest.other_class",
    Definite,
    "the settings are of the class {given}, and the path names {asked}",
    hint="name the same in both",
)


Type = Annotated[Literal["source", "target"], Query(alias="type")]


def routes(installed: Installed, check: Callable[[Mapping[str, str]], pipeline.Pipeline]) -> APIRouter:
    """Make the routes; `check` validates settings as those of a connector that is made here."""
    made = APIRouter(prefix="/connector-plugins", default_response_class=Answer)

    def checked(name: str, given: Mapping[str, str]) -> pipeline.Pipeline:
        kind = named(name, "source")
        asked = given.get("connector.class", name)
        if pipeline.kind_of(asked) != kind:
            raise OTHER_CLASS(given=shown_name(asked), asked=shown_name(name))
        return check({**given, "connector.class": asked})

    def named(name: str, side: pipeline.Side) -> str:
        kind = pipeline.kind_of(name) if side == "source" else name
        if kind not in installed.kinds(side):
            raise NO_PLUGIN(name=shown_name(name))
        return kind

    @made.get("")
    def plugins(side: Type = "source") -> Response:
        """Name those that can be used, each with the version of its package."""
        found = installed.versions(side).items()
        return Answer([{"class": kind, "type": side, "version": version} for kind, version in found])

    @made.get("/{name}/config")
    def settings(name: str, side: Type = "source") -> Response:
        """Describe the settings of a source, with those of every pipeline, or a target's own."""
        own: Iterable[Setting] = installed.declared(side, named(name, side)).settings
        every = checked(name, {}).registry.settings.values() if side == "source" else own
        return Answer([definition(one.name, one, place) for place, one in enumerate(every, 1)])

    @made.put("/{name}/config/validate")
    async def validate(name: str, request: Request) -> Response:
        """Report what is wrong with settings."""
        given = settings_of(read_object(await body_of(request, MOST)))
        return await run_in_threadpool(judged, name, given)  # thousands of settings take a while

    def judged(name: str, given: Mapping[str, str]) -> Response:
        found = checked(name, given)  # the pipeline as a whole, so that an unknown target is named too
        told = (*found.problems, *found.registry.left_out(found.given))
        return Answer(found.registry.described(name, found.given, told))

    return made
