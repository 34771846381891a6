"""The schema registry: canonical schema text to id and back, with our errors.

Comes in: subjects and schemas.  Goes out: the ids in front of each record.  The HTTP is the Confluent
client's.  This module adds what the client leaves open: time limits, who acts on which answer, the
compatibility of subjects that we create, and the proof that an id still means the schema it was used for
(a registry that was emptied assigns its ids again).  No error contains a log-in or a schema.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import sleep
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar

import orjson
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

# the client brings httpx or its successor, whichever is installed, and raises that one's errors
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import SchemaRegistryError

from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define
from wrackline.schemas.redaction import Secret, redact_by_look
from wrackline.schemas.settings.settings_registry import Values

TIMEOUT_SECONDS: Final = 10
RETRIES: Final = 2
RETRY_WAIT_MS: Final = 100
RETRY_WAIT_MAX_MS: Final = 1000
CACHED_SCHEMAS: Final = 10_000

_INCOMPATIBLE: Final = "registry.incompatible"

UNREACHABLE = define(
    "registry.unreachable",
    Transient,
    "the schema registry at {url} does not answer",
    hint="see whether it runs: curl '{url}/subjects'",
    connects=True,
)
DENIED = define(
    "registry.denied",
    OperatorNeeded,
    "the schema registry at {url} rejects the login",
    hint="set schema.registry.basic.auth.user.info to a user that may write subjects",
    connects=True,
)
INCOMPATIBLE = define(
    _INCOMPATIBLE,
    OperatorNeeded,
    "the schema registry rejects a new version of {subject} as incompatible",
    hint="allow it: curl -X PUT -H 'Content-Type: application/json' "
    "-d '{{\"compatibility\":\"NONE\"}}' '{url}/config/{subject}'",
)
INVALID_SCHEMA = define(
    "registry.invalid_schema",
    Definite,
    "the schema registry does not accept the schema of {subject} as Avro",
    hint="look at what it contains: curl '{url}/subjects/{subject}/versions/latest'",
)
UNKNOWN_ID = define(
    "registry.unknown_id",
    Definite,
    "the schema registry at {url} has no schema of id {id}",
    hint="point schema.registry.url to the registry that the topic was written with",
)
READ_ONLY = define(
    "registry.read_only",
    OperatorNeeded,
    "the schema registry at {url} accepts no schema for {subject}, because it is in read-only mode",
    hint="let it accept schemas: curl -X PUT -H 'Content-Type: application/json' -d"
    " '{{\"mode\":\"READWRITE\"}}' '{url}/mode'",
)
CHANGED = define(
    "registry.changed",
    Definite,
    "id {id} of the schema registry at {url} now belongs to another schema than the one it was used for",
    hint="restore the registry's own topic or database; or write new topics: set another topic.prefix",
)
REFUSED = define(
    "registry.refused",
    OperatorNeeded,
    "the schema registry at {url} answered {status} where {expected} was expected",
    hint="check schema.registry.url, its path included: curl '{url}/subjects'",
)

_WAITS_FOR_ANOTHER: Final = (0.05, 0.2, 0.5, 1.0)  # seconds, until a refusal counts
_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500
_SUBJECT_NOT_FOUND: Final = 40401
_SCHEMA_NOT_FOUND: Final = 40403
_MODE_REFUSES: Final = 42205
_NO_LEVEL: Final = 40408
_READ_ONLY_ALWAYS: Final = "READONLY_OVERRIDE"  # of the registry, overrides a subject's own mode
_READ_ONLY_MODES: Final = frozenset({"READONLY", _READ_ONLY_ALWAYS})

_T = TypeVar("_T")
_MOST_ID: Final = (1 << 31) - 1  # a number of 31 bits is in front of each record


class _WantedAnswer(NamedTuple):
    """What an answer has to be, in words, and whether a given answer is that."""

    words: str
    holds: Callable[[object], bool]


def _is_id(found: object) -> bool:
    return type(found) is int and 0 <= found <= _MOST_ID


def _is_word(found: object) -> bool:
    return isinstance(found, str)


_ID: Final = _WantedAnswer("an id", _is_id)
_SCHEMA: Final = _WantedAnswer("a schema", _is_word)
_MODE: Final = _WantedAnswer("a mode", _is_word)
_LEVEL: Final = _WantedAnswer("a level of compatibility", _is_word)
_SUBJECTS: Final = _WantedAnswer(
    "a list of subjects", lambda it: isinstance(it, list) and all(map(_is_word, it))
)
_VERSIONS: Final = _WantedAnswer(
    "a list of versions", lambda it: isinstance(it, list) and all(map(_is_id, it))
)
_ANYTHING: Final = _WantedAnswer("an answer in JSON", lambda _: True)


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """How to reach a registry; `url` may be several with commas between, tried in turn."""

    url: str
    user_info: Secret | None = None
    ca_location: str | None = None
    compatibility: str = "NONE"  # of subjects that we create
    timeout_seconds: float = TIMEOUT_SECONDS

    @property
    def shown(self) -> str:
        """The first address, without a log-in that is in it."""
        return redact_by_look(self.url.partition(",")[0])


def registry_access(values: Values) -> RegistryAccess:
    """Return the access that a pipeline's settings define."""
    log_in = "schema.registry.basic.auth.user.info"
    authorities = "schema.registry.ssl.ca.location"
    return RegistryAccess(
        ",".join(values.listed("schema.registry.url")),
        None if values[log_in] is None else values.secret(log_in),
        None if values[authorities] is None else values.text(authorities),
        values.text("schema.registry.compatibility"),
    )


class RegistryClient:
    """One connection to a registry, with every schema it has sent or fetched remembered."""

    def __init__(self, access: RegistryAccess) -> None:
        settings: dict[str, object] = {
            "url": access.url,
            "timeout": access.timeout_seconds,  # the client's own default waits for ever
            "max.retries": RETRIES,
            "retries.wait.ms": RETRY_WAIT_MS,
            "retries.max.wait.ms": RETRY_WAIT_MAX_MS,
            "cache.capacity": CACHED_SCHEMAS,
        }
        if access.user_info is not None:
            settings["basic.auth.user.info"] = access.user_info.reveal()
        if access.ca_location is not None:
            settings["ssl.ca.location"] = access.ca_location
        self._client = SchemaRegistryClient(settings)
        self._url = access.shown
        self._compatibility = access.compatibility
        self._known_subjects: set[str] = set()
        self._settles_early = True  # as far as we know, it accepts a level for a subject that does not exist
        self._ids: dict[tuple[str, str], int] = {}
        self._one_at_a_time = Lock()  # if two readers meet a subject at once, one makes it

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def register(self, subject: str, text: str) -> int:
        """The id of a schema under a subject, which is made if it does not exist; remembered."""
        known = self._ids.get((subject, text))  # without the lock: its holder may wait for the registry
        if known is None:
            with self._one_at_a_time:
                known = self._ids[subject, text] = self._registered(subject, text)
        return known

    def _registered(self, subject: str, text: str) -> int:
        if subject in self._known_subjects:
            return self._register(subject, text)
        ours = not self._exists(subject)
        settled = ours and self._settles_early and self._set_compatibility(subject)
        schema_id = self._register(subject, text)
        if ours and not settled:
            # some registries accept it only for existing subjects; a first version is checked against nothing
            self._settles_early = False
            self._set_compatibility(subject)
        self._known_subjects.add(subject)
        return schema_id

    def text(self, schema_id: int) -> str:
        """The schema of an id, for a reader; remembered."""
        try:
            return str(self._call(lambda: self._client.get_schema(schema_id).schema_str, _SCHEMA))
        except _NotFoundError as exc:
            raise UNKNOWN_ID(url=self._url, id=schema_id) from exc

    def subjects(self) -> frozenset[str]:
        """Return the names of the existing subjects."""
        return frozenset(self._call(self._client.get_subjects, _SUBJECTS))

    def remove(self, subject: str) -> None:
        """Remove a subject with all its versions for good; one that does not exist is left alone.

        A registry first marks it, so a removal that was interrupted is finished by the next.
        """
        for permanent in (False, True):
            delete = partial(self._client.delete_subject, subject, permanent=permanent)
            with suppress(_NotFoundError):
                self._call(delete, _ANYTHING, subject)
        self._known_subjects.discard(subject)
        self._ids = {known: id_ for known, id_ in self._ids.items() if known[0] != subject}

    def versions(self, subject: str) -> list[int]:
        """Return the numbers of a subject's versions, in order; none for one that does not exist."""
        try:
            return sorted(self._call(lambda: self._client.get_versions(subject), _VERSIONS, subject))
        except _NotFoundError:
            return []

    def version(self, subject: str, number: int) -> tuple[int, str]:
        """Return the id and the text of a version."""
        read = self._call(lambda: self._client.get_version(subject, number), _ANYTHING, subject)
        return int(read.schema_id or 0), str(read.schema.schema_str if read.schema else "")

    def may_register(self, subject: str) -> None:
        """Raise if the registry says that it accepts no schema for a subject; nothing is written to it."""
        of_all, own = self._mode(None), self._mode(subject)
        if of_all == _READ_ONLY_ALWAYS or (own or of_all) in _READ_ONLY_MODES:
            raise READ_ONLY(url=self._url, subject=subject)

    def compatibility(self, subject: str) -> str | None:
        """Return the level of a subject: its own, or the registry's; None: the registry has no levels."""
        for asked in (subject, None):
            with suppress(_NotFoundError):
                return self._call(partial(self._client.get_compatibility, asked), _LEVEL, subject)
        return None

    def verify(self, used: Mapping[int, str]) -> None:
        """Prove that each id still means the schema it was used for, by the registry and not by the cache."""
        self._ids.clear()
        self._client.clear_caches()  # type: ignore[no-untyped-call] # the client leaves it without types
        for schema_id, text in used.items():
            if _parsed(self.text(schema_id)) != orjson.loads(text):
                raise CHANGED(url=self._url, id=schema_id)

    def _mode(self, subject: str | None) -> str | None:
        """Return the mode of a subject or of the registry; None: it has no mode, or does not show it."""
        ask = self._client.get_global_mode if subject is None else partial(self._client.get_mode, subject)
        with suppress(_NotFoundError, OperatorNeeded):  # a user that may register need not see modes
            return self._call(ask, _MODE, subject or "")
        return None

    def _register(self, subject: str, text: str) -> int:
        """Register; a registry refuses one of two concurrent requests, as of an owner and its successor."""
        for wait in _WAITS_FOR_ANOTHER:
            try:
                return self._register_once(subject, Schema(text, "AVRO"))
            except OperatorNeeded as refused:
                if refused.code != _INCOMPATIBLE:
                    raise
                sleep(wait)
        return self._register_once(subject, Schema(text, "AVRO"))

    def _register_once(self, subject: str, schema: Schema) -> int:
        return self._call(lambda: self._client.register_schema(subject, schema), _ID, subject)

    def _exists(self, subject: str) -> bool:
        try:
            return bool(self._call(lambda: self._client.get_versions(subject), _VERSIONS, subject))
        except _NotFoundError:
            return False

    def _set_compatibility(self, subject: str) -> bool:
        try:
            ask = partial(self._client.set_compatibility, subject, self._compatibility)
            self._call(ask, _ANYTHING, subject)
        except _NotFoundError:
            return False
        return True

    def _call(self, ask: Callable[[], _T], wanted: _WantedAnswer, subject: str = "") -> _T:
        """Ask, and raise our error for a failure; its cause contains the registry's answer, no log-in."""
        try:
            found = ask()
        except httpx.TransportError as exc:
            raise UNREACHABLE(url=self._url) from exc
        except SchemaRegistryError as exc:
            raise self._meaning(exc, wanted, subject) from exc
        except (ValueError, RecursionError, httpx.DecodingError, httpx.TooManyRedirects) as exc:
            # an answer that is not JSON, or not encoded as declared: a proxy's page
            raise REFUSED(url=self._url, status="no JSON", expected=wanted.words) from exc
        except (KeyError, TypeError, AttributeError) as exc:  # the client looks for a field that is not in it
            raise self._other(wanted) from exc
        if not wanted.holds(found):
            raise self._other(wanted)
        return found

    def _other(self, wanted: _WantedAnswer) -> Exception:
        """Report an answer that is not what it has to be, and forget it, because the client has cached it."""
        self._client.clear_caches()  # type: ignore[no-untyped-call] # the client leaves it without types
        return REFUSED(url=self._url, status="something else", expected=wanted.words)

    def _meaning(self, error: SchemaRegistryError, wanted: _WantedAnswer, subject: str) -> Exception:
        match error.http_status_code:
            case 404 if error.error_code in (_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND, _NO_LEVEL):
                return _NotFoundError()
            case 401 | 403:
                return DENIED(url=self._url)
            case 409 if wanted is _ID:
                return INCOMPATIBLE(subject=subject, url=self._url)
            case 422 if wanted is _ID or wanted is _ANYTHING:
                read_only = error.error_code == _MODE_REFUSES
                return (READ_ONLY if read_only else INVALID_SCHEMA)(subject=subject, url=self._url)
            case status if (
                status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR
            ):
                return UNREACHABLE(url=self._url)
            case status:
                return REFUSED(url=self._url, status=status, expected=wanted.words)


def _parsed(text: str) -> object:
    """Return what a schema's text contains; None if it is not JSON, for example Protobuf."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


class _NotFoundError(Exception):
    """The registry works but does not have it; each caller decides what that means."""
