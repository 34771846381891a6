"""The drafts, and the steps of one that ask no server.

    GET  /console/new                       the drafts, and the form of a new one
    POST /console/new                       a name and a kind of source
    GET  /console/draft/{id}/step/{step}    source, target: the settings
    POST /console/draft/{id}/step/{step}    stores them, and leads to the next step
    POST /console/draft/{id}/remove

In: the frame of the pages, and the drafts.  Out: routes.  A step is stored only if all of it is good, and if
the draft is as it was when the page was made: otherwise the page shows both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from wrackline.control.console.access.sent_form import read_form
from wrackline.control.console.make.step_fields import (
    SOURCE,
    STEPS,
    TARGET,
    field_key,
    read_step,
    show_step,
)
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.plane.draft_service import DraftService
from wrackline.control.plane.known_settings import registry_of
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.drafts import CHANGED, NEW
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.pipelines.pipeline import kind_of
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.declared.source_settings import NAMING
from wrackline.schemas.settings.settings_registry import SettingsRegistry

NO_KIND = define(
    "draft.no_kind",
    Definite,
    "there is no kind {kind} here",
    hint="choose one of: {kinds}",
)
_KIND: Final = "connector.class"
_TARGET_KIND: Final = "target.kind"
_NEEDED: Final = "a value is needed here"
_NEXT: Final = {SOURCE: "tables", TARGET: "start"}


@dataclass(frozen=True, slots=True)
class OpenDraft:
    """A draft as a page shows it."""

    id: str
    tag: str
    by: str
    settings: Mapping[str, str]
    text: str  # of the pipeline's file

    @property
    def registry(self) -> SettingsRegistry:
        """The settings that it may have."""
        return registry_of(kind_of(self.settings.get(_KIND, "")), self.settings.get(_TARGET_KIND, ""))


class StepPage(NamedTuple):
    """What a step shows, and in which template."""

    template: str
    shown: Mapping[str, object]


class DraftPages:
    """What the pages of drafts share."""

    def __init__(self, pages: PageFrame, service: DraftService) -> None:
        self.pages, self.service = pages, service

    def open(self, draft_id: str) -> OpenDraft:
        """Read a draft."""
        document, tag = self.service.show(draft_id, "flat")
        try:
            text = str(self.service.show(draft_id, "toml")[0]["config"])
        except WracklineError as error:  # read back, it would be other settings
            text = f"# {error.sentence}"
        return OpenDraft(draft_id, tag, document["by"], document["config"], text)

    def page(
        self, request: Request, draft: OpenDraft, step: str, of: StepPage, status: int = 200
    ) -> Response:
        """Render a step."""
        more = {"draft": draft, "step": step, "steps": STEPS, **of.shown}
        return self.pages.page(request, of.template, status, **more)

    def store(
        self, request: Request, draft: OpenDraft, settings: Mapping[str, str], seen: str
    ) -> Sequence[tuple[str, str, str]] | None:
        """Store settings; return what differs if somebody else has stored others meanwhile."""
        try:
            self.service.put(draft.id, {"config": dict(settings)}, user_of(request), seen)
        except WracklineError as error:
            if error.code != CHANGED.code:
                raise
            return differences(draft.settings, settings)
        return None


def differences(stored: Mapping[str, str], sent: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the settings that differ, with both texts."""
    names = sorted({*stored, *sent})
    pairs = ((shown_name(name), stored.get(name, ""), sent.get(name, "")) for name in names)
    return [one for one in pairs if one[1] != one[2]]


def add_make(made: APIRouter, shared: DraftPages) -> None:
    """Add the routes."""
    pages, service = shared.pages, shared.service

    @made.get("/new")
    def drafts(request: Request) -> Response:
        """Show the drafts."""
        kinds = Installed().kinds("source")
        return pages.page(request, "drafts.html", drafts=service.list_all()[0], kinds=kinds)

    @made.post("/new")
    async def begin(request: Request) -> Response:
        """Make a draft."""
        sent = await read_form(request)
        name, kind = sent.get("name", "").strip(), sent.get("kind", "")
        if kind not in (kinds := Installed().kinds("source")):
            raise NO_KIND(kind=shown_name(kind), kinds=", ".join(kinds))
        first = {"name": name, _KIND: kind, "topic.prefix": name, NAMING.name: Naming.WRACKLINE_UNICODE.value}
        config: dict[str, Any] = {"config": first}
        await run_in_threadpool(service.put, name, config, user_of(request), NEW)
        return RedirectResponse(f"/console/draft/{quote(name, safe='')}/step/{SOURCE}", 303)

    @made.get("/draft/{id}/step/{step}")
    def step(request: Request, id: str, step: str) -> Response:  # noqa: A002 - the path's name
        """Show a step."""
        if step not in _NEXT:
            return pages.page(request, "missing.html", 404, what=f"step {shown_name(step)}")
        draft = shared.open(id)
        return shared.page(
            request, draft, step, _shown(step, draft.settings, service.missing(draft.settings), {})
        )

    @made.post("/draft/{id}/step/{step}")
    async def save(request: Request, id: str, step: str) -> Response:  # noqa: A002
        """Store a step."""
        if step not in _NEXT:
            return pages.page(request, "missing.html", 404, what=f"step {shown_name(step)}")
        sent = await read_form(request)
        return await run_in_threadpool(_save, shared, request, id, step, sent)

    @made.post("/draft/{id}/remove")
    def remove(id: str) -> Response:  # noqa: A002
        """Remove a draft."""
        service.remove(id)
        return RedirectResponse("/console/new", 303)


def _save(
    shared: DraftPages, request: Request, draft_id: str, step: str, sent: Mapping[str, str]
) -> Response:
    draft = shared.open(draft_id)
    before = dict(draft.settings)
    if step == TARGET and _TARGET_KIND in sent:
        kinds = Installed().kinds("target")
        if sent[_TARGET_KIND] not in ("", *kinds):
            raise NO_KIND(kind=shown_name(sent[_TARGET_KIND]), kinds=", ".join(kinds))
        before = _of_kind(before, sent[_TARGET_KIND])
    registry = registry_of(kind_of(before.get(_KIND, "")), before.get(_TARGET_KIND, ""))
    settings, faults = read_step(step, sent, before, registry)
    missing = shared.service.missing(settings)
    faults = {**{name: _NEEDED for name in missing if field_key(name) in sent}, **faults}
    if faults:
        return shared.page(request, draft, step, _shown(step, settings, missing, faults), 400)
    try:
        differ = shared.store(request, draft, settings, sent.get("tag", ""))
    except WracklineError as error:
        return shared.page(
            request, draft, step, _shown(step, settings, missing, {}, refusal=error.document()), 400
        )
    if differ is not None:
        return shared.page(request, draft, step, _shown(step, settings, missing, {}, differ=differ), 412)
    earlier = draft.settings.get(_TARGET_KIND, "")
    stays = sent.get(_TARGET_KIND, earlier) != earlier  # the settings of another kind of target come now
    here = f"/console/draft/{quote(draft_id, safe='')}"
    return RedirectResponse(f"{here}/step/{step}" if stays else f"{here}/{_NEXT[step]}", 303)


def _of_kind(settings: Mapping[str, str], kind: str) -> dict[str, str]:
    """Return the settings with another kind of target: those that only the earlier one had are left out."""
    if kind == settings.get(_TARGET_KIND, ""):
        return dict(settings)
    registry = registry_of(kind_of(settings.get(_KIND, "")), kind)
    made = {
        name: text
        for name, text in settings.items()
        if name != _TARGET_KIND and (registry.find(name) or not name.startswith("target."))
    }
    return {**made, _TARGET_KIND: kind} if kind else made


def _shown(
    step: str,
    settings: Mapping[str, str],
    missing: frozenset[str],
    faults: Mapping[str, str],
    *,
    refusal: Mapping[str, object] | None = None,
    differ: Sequence[tuple[str, str, str]] = (),
) -> StepPage:
    kinds = kind_of(settings.get(_KIND, "")), settings.get(_TARGET_KIND, "")
    shown = {
        "form": show_step(step, settings, registry_of(*kinds), faults, missing),
        "kinds": Installed().kinds("target") if step == TARGET else (),
        "kind": kinds[step == TARGET],
        "refusal": refusal,
        "differ": differ,
    }
    return StepPage("draft_step.html", shown)
