"""The schema registry: canonical schema text to id and back, with our errors.

Comes in: subjects and schemas.  Goes out: the ids that stand in front of each record.  The HTTP
is the Confluent client's; here stands what it leaves open: time limits, who acts on which answer,
the compatibility of subjects that we create, and the proof that an id that was used still means
the schema it was used for (a registry that was emptied gives its ids out again).
No error holds a log-in or a schema.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from time import sleep
from types import TracebackType
from typing import Final, Self, TypeVar

import orjson
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

# the client brings httpx or its successor, whichever is installed; its errors are that one's
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import SchemaRegistryError

from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define
from wrackline.schemas.redaction import Secret, redact_by_look
from wrackline.schemas.settings import Values

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
    hint="see whether it runs: curl {url}/subjects",
)
DENIED = define(
    "registry.denied",
    OperatorNeeded,
    "the schema registry at {url} refuses the log-in",
    hint="set schema.registry.basic.auth.user.info to a user that may write subjects",
)
INCOMPATIBLE = define(
    _INCOMPATIBLE,
    OperatorNeeded,
    "the schema registry refuses a new version of {subject} as incompatible",
    hint="allow it: curl -X PUT -H 'Content-Type: application/json' "
    '-d \'{{"compatibility":"NONE"}}\' {url}/config/{subject}',
)
INVALID_SCHEMA = define(
    "registry.invalid_schema",
    Definite,
    "the schema registry does not take the schema of {subject} for Avro",
    hint="look at what it has: curl {url}/subjects/{subject}/versions/latest",
)
UNKNOWN_ID = define(
    "registry.unknown_id",
    Definite,
    "the schema registry at {url} has no schema of id {id}",
    hint="point schema.registry.url to the registry that the topic was written with",
)
CHANGED = define(
    "registry.changed",
    Definite,
    "id {id} of the schema registry at {url} stands for another schema than the one it was used for",
    hint="restore the registry's own topic or database; or write new topics: set another topic.prefix",
)
REFUSED = define(
    "registry.refused",
    OperatorNeeded,
    "the schema registry at {url} answers {status} where a schema was expected",
    hint="check schema.registry.url, its path included: curl {url}/subjects",
)

_WAITS_FOR_ANOTHER: Final = (0.05, 0.2, 0.5, 1.0)  # seconds, until a refusal is believed
_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500
_SUBJECT_NOT_FOUND: Final = 40401
_SCHEMA_NOT_FOUND: Final = 40403

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a registry; `url` may be several with commas between, tried in turn."""

    url: str
    user_info: Secret | None = None
    ca_location: str | None = None
    compatibility: str = "NONE"  # of subjects that we create
    timeout_seconds: float = TIMEOUT_SECONDS


def access(values: Values) -> Access:
    """Return how a pipeline's settings say to reach it."""
    log_in = "schema.registry.basic.auth.user.info"
    authorities = "schema.registry.ssl.ca.location"
    return Access(
        ",".join(values.listed("schema.registry.url")),
        None if values[log_in] is None else values.secret(log_in),
        None if values[authorities] is None else values.text(authorities),
        values.text("schema.registry.compatibility"),
    )


class Registry:
    """One connection to a registry, with every schema it has sent or fetched remembered."""

    def __init__(self, access: Access) -> None:
        settings: dict[str, object] = {
            "url": access.url,
            "timeout": access.timeout_seconds,  # the client's own default is to wait for ever
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
        self._url = redact_by_look(access.url.partition(",")[0])
        self._compatibility = access.compatibility
        self._known_subjects: set[str] = set()
        self._settles_early = True  # as far as we know it takes one for a subject that is not there
        self._ids: dict[tuple[str, str], int] = {}
        self._one_at_a_time = Lock()  # a subject that two readers meet at once is made by one of them

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
        """The id of a schema under a subject, which is made if it is not there; remembered."""
        known = self._ids.get((subject, text))  # without the lock: who holds it may wait for the registry
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
            # some registries take it only for what is there; a first version is checked against nothing
            self._settles_early = False
            self._set_compatibility(subject)
        self._known_subjects.add(subject)
        return schema_id

    def text(self, schema_id: int) -> str:
        """The schema of an id, for a reader; remembered."""
        try:
            found = self._call(lambda: self._client.get_schema(schema_id), subject="")
        except _NotFoundError as exc:
            raise UNKNOWN_ID(url=self._url, id=schema_id) from exc
        if found.schema_str is None:
            raise REFUSED(url=self._url, status="without a schema")
        return found.schema_str

    def verify(self, used: Mapping[int, str]) -> None:
        """Prove that each id still means the schema it was used for, by the registry and not by memory."""
        self._ids.clear()
        self._client.clear_caches()  # type: ignore[no-untyped-call] # the client leaves it without types
        for schema_id, text in used.items():
            if orjson.loads(self.text(schema_id)) != orjson.loads(text):
                raise CHANGED(url=self._url, id=schema_id)

    def _register(self, subject: str, text: str) -> int:
        """Register; a registry refuses one of two that come at once, as of an owner and its successor."""
        for wait in _WAITS_FOR_ANOTHER:
            try:
                return self._register_once(subject, text)
            except OperatorNeeded as refused:
                if refused.code != _INCOMPATIBLE:
                    raise
                sleep(wait)
        return self._register_once(subject, text)

    def _register_once(self, subject: str, text: str) -> int:
        return self._call(
            lambda: int(self._client.register_schema(subject, Schema(text, "AVRO"))), subject=subject
        )

    def _exists(self, subject: str) -> bool:
        try:
            return bool(self._call(lambda: self._client.get_versions(subject), subject=subject))
        except _NotFoundError:
            return False

    def _set_compatibility(self, subject: str) -> bool:
        try:
            self._call(lambda: self._client.set_compatibility(subject, self._compatibility), subject=subject)
        except _NotFoundError:
            return False
        return True

    def _call(self, ask: Callable[[], _T], *, subject: str) -> _T:
        """Ask, and say in our words what went wrong; the causes hold answers of the registry, no log-in."""
        try:
            return ask()
        except httpx.TransportError as exc:
            raise UNREACHABLE(url=self._url) from exc
        except SchemaRegistryError as exc:
            raise self._meaning(exc, subject) from exc
        except ValueError as exc:
            # an answer that is no JSON: some proxy's page
            raise REFUSED(url=self._url, status="no JSON") from exc

    def _meaning(self, error: SchemaRegistryError, subject: str) -> Exception:
        match error.http_status_code:
            case 404 if error.error_code in {_SUBJECT_NOT_FOUND, _SCHEMA_NOT_FOUND}:
                return _NotFoundError()
            case 401 | 403:
                return DENIED(url=self._url)
            case 409:
                return INCOMPATIBLE(subject=subject, url=self._url)
            case 422:
                return INVALID_SCHEMA(subject=subject, url=self._url)
            case status if (
                status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR
            ):
                return UNREACHABLE(url=self._url)
            case status:
                return REFUSED(url=self._url, status=status)


class _NotFoundError(Exception):
    """The registry works and does not have it; each caller says what that means."""
