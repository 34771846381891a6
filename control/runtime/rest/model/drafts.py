"""Drafts of pipelines as REST and the console need them: where they are stored, what a worker offers.

In: nothing.  Out: the protocol `Drafts`, which a group and a worker by files have, and what both may
refuse.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from wrackline.control.runtime.rest.model.connectors import GoodSettings, WritableConnectors
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.kafka.draft_records import (
    DRAFT_ID,
    MOST_BYTES,
    MOST_DRAFTS,
    Draft,
    StoredDraft,
    write_draft,
)
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.redaction import shown_name

NO_DRAFT = define(
    "draft.not_found",
    Definite,
    "there is no draft {draft}",
    hint="list the drafts: wrackline draft list; over REST: GET /v1/contexts/default/drafts",
)
BAD_ID = define(
    "draft.bad_id",
    Definite,
    "{draft} can't be the id of a draft",
    hint="use 1 to 100 letters, digits, dots, _ and -, and no dot at the beginning",
)
TOO_LARGE = define(
    "draft.too_large",
    Definite,
    "the draft is larger than {most} bytes",
    hint="name the tables by a pattern: table.include.list",
)
TOO_MANY = define(
    "draft.too_many",
    OperatorNeeded,
    "there are {most} drafts already",
    hint="delete some: wrackline draft list; then by REST: DELETE /v1/contexts/default/drafts/<id>",
)
CHANGED = define(
    "draft.changed",
    OperatorNeeded,
    "the draft {draft} is not as it was when it was read: somebody has changed, made or removed it since",
    hint="put both texts together, and send the result with the new tag of the draft: If-Match: {tag}",
)
NOT_DRAFT = define(
    "draft.not_a_draft",
    Definite,
    "the request's body is not a draft: {why}",
    hint='send {{"config": {{...}}}}, with settings, or with stages and connections',
)
TYPED_SECRET = define(
    "draft.typed_secret",
    OperatorNeeded,
    "the draft has a secret in {places}, and drafts take only references to secrets",
    hint='write a reference: "{reference}"; the secret itself goes where the worker runs: a file'
    " /run/secrets/<key> for ${{secure(<key>)}}, or a variable for ${{env:WRACKLINE_<KEY>}}",
)
MASKED = define(
    "draft.masked",
    Definite,
    "a secret is shown as stars in {places}, and none is stored that they could stand for",
    hint="write a reference to the secret: ${{secure(<key>)}}, ${{env:NAME}}, ${{file:PATH:KEY}} or"
    " ${{dir:PATH:KEY}}",
)
NOT_READY = define(
    "draft.not_ready",
    OperatorNeeded,
    "the draft {draft} has findings that prevent a start: {ids}",
    hint="see them: wrackline draft assess {draft}; correct the draft or the server, then deploy it again",
)
NOT_ACCEPTED = define(
    "draft.not_accepted",
    OperatorNeeded,
    "the draft {draft} has warnings that nobody has confirmed: {ids}",
    hint='correct them, or confirm them by their ids: {{"accept": [{quoted}]}}',
)
NO_FILE = define(
    "draft.no_file",
    Definite,
    "the settings can't be written as a pipeline's file: read back, they would be other settings",
    hint="correct the names of settings that there are not: wrackline draft assess <id>",
)
NOT_THE_OWNER = define(
    "draft.not_the_owner",
    OperatorNeeded,
    "the draft sets {names}, and only the owner of a pipeline's file says what it may read",
    hint="remove it from the draft; then add it to the file by hand, or: export WRACKLINE_SECRETS_ALLOW=…",
)
FILE_EXISTS = define(
    "draft.file_exists",
    OperatorNeeded,
    "{file} is there already, and a draft replaces no file",
    hint="give the draft another name, or move the file away",
)

ANY: Final = None  # whatever is stored
NEW: Final = ""  # nothing is stored


class Drafts(Protocol):
    """Stores drafts; any thread may ask.

    `expected` is the tag of the draft that the caller has seen, or ANY, or NEW.  If something else is stored,
    CHANGED is raised.
    """

    namespaces: Sequence[str]  # the names under which the drafts are found
    typed_secrets: bool  # whether drafts may contain secrets themselves

    def stored(self) -> Mapping[str, StoredDraft]:
        """Return the drafts by their ids."""
        ...

    def put(self, draft_id: str, draft: Draft, expected: str | None) -> StoredDraft:
        """Store a draft."""
        ...

    def remove(self, draft_id: str, expected: str | None) -> None:
        """Forget a draft."""
        ...

    def deploy(
        self, draft_id: str, expected: str | None, good: GoodSettings, wish: DesiredState
    ) -> Mapping[str, Any]:
        """Make the pipeline of these settings, and forget the draft; say what was made."""
        ...


@dataclass(frozen=True, slots=True)
class DraftAccess:
    """What a worker offers for drafts."""

    drafts: Drafts
    names: Callable[[], Sequence[str]]  # of the pipelines that there are
    check: Callable[[Mapping[str, str]], Pipeline]  # settings, as those of a pipeline that is made here
    begin: Callable[..., Begin]  # (main, settings, *more): main(settings, allowed, *more, line) as a process
    group: WritableConnectors | None = None  # None: files say which pipelines there are


def refuse_changed(
    stored: Mapping[str, StoredDraft], draft_id: str, expected: str | None
) -> StoredDraft | None:
    """Return what is stored under an id, if it is what the caller has seen."""
    found = stored.get(draft_id)
    tag = NEW if found is None else found.tag
    if expected not in (ANY, tag):
        raise CHANGED(draft=shown_name(draft_id), tag=f'"{tag}"' if tag else "none; it is not there")
    return found


def storable(stored: Mapping[str, StoredDraft], draft_id: str, draft: Draft) -> bytes:
    """Return a draft as it is written, if there is room for it."""
    if not DRAFT_ID.fullmatch(draft_id):
        raise BAD_ID(draft=shown_name(draft_id))
    value = write_draft(draft)
    if len(value) > MOST_BYTES:
        raise TOO_LARGE(most=MOST_BYTES)
    if draft_id not in stored and len(stored) >= MOST_DRAFTS:
        raise TOO_MANY(most=MOST_DRAFTS)
    return value


def existing(stored: Mapping[str, StoredDraft], draft_id: str) -> StoredDraft:
    """Return the draft of an id, or raise."""
    found = stored.get(draft_id)
    if found is None:
        raise NO_DRAFT(draft=shown_name(draft_id))
    return found
