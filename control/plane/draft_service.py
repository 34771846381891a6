"""What can be done with drafts: for REST, and for the console's pages, which call the same functions.

In: a worker's `DraftAccess`.  Out: documents as `draft_documents.py` makes them.  `list_tables` and what
asks servers are for the event loop: each question is asked once at a time, in a process of its own, and its
answer is shared for a while.  The other functions may wait for Kafka, so they belong on a thread.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from starlette.concurrency import run_in_threadpool

from wrackline.control.plane import draft_documents, table_questions
from wrackline.control.plane.draft_forms import DraftForms, storable_config
from wrackline.control.runtime.check.assessment import PROBE_PATIENCE, assess
from wrackline.control.runtime.ground.plain_json import plain_values
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.contexts.namespaces import NO_NAMESPACE
from wrackline.control.runtime.rest.model.connectors import GoodSettings, refuse_existing
from wrackline.control.runtime.rest.model.drafts import (
    ANY,
    BAD_ID,
    NOT_ACCEPTED,
    NOT_DRAFT,
    NOT_READY,
    DraftAccess,
    existing,
    refuse_changed,
)
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.rest.routes.connector_routes import BY_FILE
from wrackline.control.runtime.rest.routes.write_routes import good_settings
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.kafka.draft_records import DRAFT_ID, MOST_DRAFTS, Draft, StoredDraft
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import MISSING

_FRESH_S: Final = 30.0  # seconds that an answer is valid
_PATIENCE_S: Final = 60.0  # for a source's catalogue
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class DraftSubject:
    """A configuration that questions are asked about: a draft's, or one that is not stored."""

    name: str
    forms: DraftForms


class DraftService:
    """The drafts of one worker; it keeps nothing but answers."""

    def __init__(self, access: DraftAccess, answers: AnswerCache | None = None) -> None:
        self._access, self._answers = access, answers or AnswerCache()
        self._listed: dict[str, tuple[str, dict[str, Any]]] = {}  # documents by id, each with its draft's tag

    def enter(self, namespace: str) -> None:
        """Raise unless there is such a namespace."""
        known = self._access.drafts.namespaces
        if namespace not in known:
            raise NO_NAMESPACE(name=shown_name(namespace), known=", ".join(known))

    def list_all(self, limit: int = MOST_DRAFTS, after: str = "") -> tuple[list[dict[str, Any]], str | None]:
        """Return the drafts after an id, without secrets, and after which id the next page begins, if any."""
        stored = self._access.drafts.stored()
        known = {draft_id: one for draft_id, one in self._listed.items() if draft_id in stored}
        ids = sorted(draft_id for draft_id in stored if draft_id > after)
        for draft_id in ids[:limit]:
            tag = stored[draft_id].tag
            if draft_id not in known or known[draft_id][0] != tag:  # to translate one takes a millisecond
                known[draft_id] = tag, draft_documents.draft(draft_id, stored[draft_id])
        self._listed = known
        return [known[draft_id][1] for draft_id in ids[:limit]], ids[limit - 1] if len(ids) > limit else None

    def show(self, draft_id: str, form: str | None = None) -> tuple[dict[str, Any], str]:
        """Return a draft, as it was sent or in another form, and its tag."""
        found = self._existing(draft_id)
        return draft_documents.draft(draft_id, found, form), found.tag

    def put(
        self, draft_id: str, sent: Mapping[str, Any], by: str, expected: str | None = ANY
    ) -> tuple[dict[str, Any], str]:
        """Store a draft; return it, and its tag."""
        if not DRAFT_ID.fullmatch(draft_id):
            raise BAD_ID(draft=shown_name(draft_id))
        config = draft_documents.sent_config(sent)
        drafts = self._access.drafts
        before = drafts.stored().get(draft_id)
        name = _name_of(sent, config, draft_id if before is None else before.draft.name)
        known = None if before is None else DraftForms.of(before.draft.config, before.draft.name)
        whole = storable_config(config, name, known, typed=drafts.typed_secrets)
        now = now_ms()
        made = Draft(name, now if before is None else before.draft.created_ms, now, by, whole)
        stored = drafts.put(draft_id, made, expected)
        return draft_documents.draft(draft_id, stored), stored.tag

    def shown_conflict(self, draft_id: str, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return both texts of two editors: what is stored now, and what was sent; without secrets."""
        stored = self._access.drafts.stored().get(draft_id)
        config = draft_documents.sent_config(sent)
        forms = DraftForms.of(config, _name_of(sent, config, draft_id))
        return {
            "stored": None if stored is None else draft_documents.draft(draft_id, stored),
            "sent": {"config": forms.shown("stages" if "stages" in config else "flat")},
        }

    def missing(self, settings: Mapping[str, str]) -> frozenset[str]:
        """Return the settings that a start needs, and that neither these nor the worker's group give."""
        problems = self._access.check(settings).problems
        return frozenset(one.setting for one in problems if one.error.code == MISSING.code)

    def remove(self, draft_id: str, expected: str | None = ANY) -> None:
        """Forget a draft."""
        self._access.drafts.remove(draft_id, expected)

    def subject(self, draft_id: str) -> DraftSubject:
        """Return the configuration of a draft."""
        draft = self._existing(draft_id).draft
        return DraftSubject(draft_id, DraftForms.of(draft.config, draft.name))

    def subject_of(self, sent: Mapping[str, Any]) -> DraftSubject:
        """Return a configuration that is not stored."""
        config = draft_documents.sent_config(sent)
        return DraftSubject("the configuration", DraftForms.of(config, _name_of(sent, config, "draft")))

    async def list_tables(
        self, of: DraftSubject, search: str = "", limit: int = 1000, after: int = 0
    ) -> dict[str, Any]:
        """Return the source's tables whose name contains a text, and where the next page begins."""
        found = await self._ask(of, table_questions.list_tables, ())
        return draft_documents.table_page(found, search, limit, after)

    async def describe_table(self, of: DraftSubject, wanted: Sequence[str]) -> dict[str, Any]:
        """Return a table's columns."""
        return dict(await self._ask(of, table_questions.describe_table, (tuple(wanted),)))

    async def assess_table(self, of: DraftSubject, wanted: Sequence[str]) -> dict[str, Any]:
        """Return what each column of a table is in the target."""
        return dict(await self._ask(of, table_questions.assess_table, (tuple(wanted),)))

    async def assess(
        self, of: DraftSubject, *, probe: bool = False, ask_again: bool = False
    ) -> dict[str, Any]:
        """Return the findings of a whole configuration, and the numbers of its tables.

        With `probe`, each server is tried too: that takes minutes, and leaves nothing behind.  With
        `ask_again`, servers are asked even if a caller has just received an answer, because something may
        have been repaired since.
        """
        found = await self._ask(of, table_questions.assess_draft, (probe,), ask_again=ask_again)
        return draft_documents.assessment(found, plain_values(of.forms.findings))

    async def deploy(
        self,
        draft_id: str,
        wish: DesiredState = DesiredState.RUN,
        accepted: Collection[str] = (),
        expected: str | None = ANY,
    ) -> dict[str, Any]:
        """Make the pipeline, if it is good and all its warnings are accepted, and forget the draft."""
        stored = self._access.drafts.stored()
        found = existing(stored, draft_id)
        refuse_changed(stored, draft_id, expected)
        of = DraftSubject(draft_id, DraftForms.of(found.draft.config, found.draft.name))
        name = of.forms.settings.get("name", "")
        good = await run_in_threadpool(self._good, name, of.forms.settings)
        told = await self.assess(of)
        shown = shown_name(draft_id)
        if errors := _ids(told["findings"], "ERROR"):
            raise NOT_READY(draft=shown, ids=", ".join(errors))
        confirmed = {*accepted, *(one["id"] for one in told["accepted"])}
        if left := [one for one in _ids(told["findings"], "WARNING") if one not in confirmed]:
            quoted = ", ".join(f'"{one}"' for one in left)
            raise NOT_ACCEPTED(draft=shown, ids=", ".join(left), quoted=quoted)
        deploy = self._access.drafts.deploy  # of what was assessed, and nothing newer
        return dict(await run_in_threadpool(deploy, draft_id, found.tag, good, wish))

    def put_app(self, name: str, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Make a pipeline that is stopped, as CDAP makes an application, or give it other settings.

        No server is asked: CDAP assesses a draft, and never an application.
        """
        group = self._access.group
        if group is None:
            raise BY_FILE(method="PUT of an application")
        with group.turn:
            new, config = name not in group.names(), draft_documents.sent_config(sent)
            known = None if new else DraftForms.of(group.stored_settings(name), name)
            whole = storable_config(config, name, known, typed=self._access.drafts.typed_secrets)
            forms = DraftForms.of(whole, name)
            if wrong := [one for one in forms.findings if one.severity is Severity.ERROR]:
                raise NOT_DRAFT(why=wrong[0].description)
            good, _ = good_settings(self._access.check, name, forms.settings)
            group.put(name, good, DesiredState.STOP, new=new)
        return {"name": name, "ignored": draft_documents.ignored(forms)}

    def _good(self, name: str, settings: Mapping[str, str]) -> GoodSettings:
        good, _ = good_settings(self._access.check, name, settings)
        refuse_existing(self._access.names(), name)
        return good

    def _existing(self, draft_id: str) -> StoredDraft:
        return existing(self._access.drafts.stored(), draft_id)

    async def _ask(
        self,
        of: DraftSubject,
        main: Callable[..., None],
        more: tuple[object, ...],
        *,
        ask_again: bool = False,
    ) -> Any:  # noqa: ANN401 - the question's
        settings = dict(of.forms.settings)
        digest = hashlib.sha256(orjson.dumps([settings, more], option=orjson.OPT_SORT_KEYS)).hexdigest()

        def ask() -> Any:  # noqa: ANN401
            patience = PROBE_PATIENCE if True in more else _PATIENCE_S
            return assess(of.name, self._access.begin(main, settings, *more), patience)

        return await self._answers.answer((main.__name__, digest), ask, _FRESH_S, ask_again=ask_again)


def _ids(findings: Sequence[Mapping[str, Any]], severity: str) -> list[str]:
    return list(dict.fromkeys(one["id"] for one in findings if one["severity"] == severity))


def _name_of(sent: Mapping[str, Any], config: Mapping[str, Any], otherwise: str) -> str:
    name = config.get("name") or sent.get("name") or otherwise
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        raise NOT_DRAFT(why=f"its name is no text of at most {_LONGEST_NAME} characters")
    return name
