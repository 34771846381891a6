"""Requests to a running connector: Debezium's signals, read strictly.

Comes in: a row of the signal table (`id, type, data`) or a message of the signal topic or of REST (the same
three fields as JSON).  Goes out: a frozen value, or a rejection with code, sentence and hint for a receipt;
these functions never raise for their input.
A request that would be half understood is rejected whole: an ignored filter would read a whole table.  In
addition to Debezium's fields a snapshot takes `key-range` or `keys` of one table.
Sentences contain nothing of the payload but the names of its fields.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.language import conditions
from wrackline.schemas.language.patterns import Among, TablePattern, compile_pattern

SIZE_MAX: Final = 1 << 20
ID_MAX: Final = 256

_SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE)

TOO_LARGE = define(
    "signal.too_large",
    Definite,
    "the signal has {size} bytes; the limit is {limit}",
    hint="split it into several signals, with fewer tables or keys each",
)
NOT_JSON = define(
    "signal.not_json",
    Definite,
    "the signal's {part} is not a JSON object",
    hint='write it as {{"type":"incremental","data-collections":["schema.table"]}}',
)
BAD_ID = define(
    "signal.bad_id",
    Definite,
    "the signal's id is not a text of 1 to {limit} printable characters",
    hint="give each signal an id of its own, such as a UUID",
)
UNKNOWN_TYPE = define(
    "signal.unknown_type",
    Definite,
    "the signal's type is unknown",
    hint="one of: {known}",
)
UNKNOWN_FIELD = define(
    "signal.unknown_field",
    Definite,
    "{what} has an unknown field",
    hint="did you mean {nearest}? the known fields are: {known}",
)
BAD_FIELD = define(
    "signal.bad_field",
    Definite,
    "{field} of a {type} signal is refused: {reason}",
    hint="correct {field} and send the signal again, with a new id",
)
NOTHING_TO_DO = define(
    "signal.nothing_to_do",
    Definite,
    "an execute-snapshot signal names no tables, so nothing is read",
    hint='name them: "data-collections": ["schema.table"]',
)


class SnapshotKind(Enum):
    """How existing rows are read."""

    INCREMENTAL = "incremental"  # in chunks, while the log streams on
    BLOCKING = "blocking"  # the log waits


@dataclass(frozen=True, slots=True)
class TableCondition:
    """A filter for the tables that a pattern means."""

    tables: TablePattern
    condition: conditions.Condition


KeyValue = int | str | bool


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from `low` to `high`, both included; None is open."""

    low: tuple[KeyValue, ...] | None
    high: tuple[KeyValue, ...] | None


@dataclass(frozen=True, slots=True)
class ExecuteSnapshot:
    """Read tables, or the part of a table that `key_range` or `keys` select."""

    id: str
    kind: SnapshotKind
    tables: tuple[TablePattern, ...]
    conditions: tuple[TableCondition, ...] = ()
    surrogate_key: str | None = None
    key_range: KeyRange | None = None
    keys: tuple[tuple[KeyValue, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class StopSnapshot:
    """Stop reading these tables; if none is named, all."""

    id: str
    kind: SnapshotKind
    tables: tuple[TablePattern, ...]


@dataclass(frozen=True, slots=True)
class PauseSnapshot:
    """Read no further chunk until a resume."""

    id: str


@dataclass(frozen=True, slots=True)
class ResumeSnapshot:
    """Continue to read."""

    id: str


class WindowEdge(Enum):
    """The end of a window that a mark means."""

    OPEN = "open"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class WindowMark:
    """A row that the connector itself wrote; it counts only if its chunk is the one in flight."""

    id: str
    edge: WindowEdge
    chunk: str


@dataclass(frozen=True, slots=True)
class LogSignal:
    """Write a sentence into the worker's log, to see that signals arrive."""

    id: str
    message: str


Signal = ExecuteSnapshot | StopSnapshot | PauseSnapshot | ResumeSnapshot | WindowMark | LogSignal


@dataclass(frozen=True, slots=True)
class SignalReason:
    """Why a signal was rejected, or does nothing."""

    code: str
    sentence: str
    hint: str


@dataclass(frozen=True, slots=True)
class AcceptedSignal:
    """A signal that can be carried out, perhaps with a warning for its sender."""

    signal: Signal
    warning: SignalReason | None = None


@dataclass(frozen=True, slots=True)
class RejectedSignal:
    """A signal that changes nothing; `id` is empty if it could not be read."""

    id: str
    reason: SignalReason


class SignalRow(NamedTuple):
    """A row for the signal table."""

    id: str
    type: str
    data: str


def parse_row(signal_id: str, signal_type: str, data: str | None) -> AcceptedSignal | RejectedSignal:
    """Read a row of the signal table."""
    try:
        return AcceptedSignal(*_signal(signal_id, signal_type, data))
    except WracklineError as error:
        return _rejected(signal_id, error)


def parse_message(value: bytes | None, fallback_id: str) -> AcceptedSignal | RejectedSignal:
    """Read a message of the signal topic, or a REST body; it may come without an id of its own."""
    signal_id: object = fallback_id
    try:
        if value is None:
            raise NOT_JSON(part="message")
        _check_size(len(value))
        message = _object(value, "message")
        signal_id = message.get("id")
        if signal_id is None:
            signal_id = fallback_id
        if not message.keys() <= {"id", "type", "data"}:
            raise UNKNOWN_FIELD(what="the message", nearest="data", known="id, type, data")
        return AcceptedSignal(*_signal(signal_id, message.get("type"), message.get("data")))
    except WracklineError as error:
        return _rejected(signal_id, error)


def window_row(edge: WindowEdge, chunk: str, *, at: str, request: str, table: str) -> SignalRow:
    """The row that opens or closes a chunk's window, as Debezium writes it; `at` is an ISO instant."""
    data = {f"{edge.value}WindowTimestamp": at, "correlationId": request, "dataCollectionId": table}
    return SignalRow(f"{chunk}-{edge.value}", f"snapshot-window-{edge.value}", orjson.dumps(data).decode())


def row(signal: ExecuteSnapshot | StopSnapshot | PauseSnapshot | ResumeSnapshot | LogSignal) -> SignalRow:
    """The row that requests this, in the fields above: to send it, or to save it and read it again."""
    data: dict[str, object] = {}
    match signal:
        case ExecuteSnapshot():
            signal_type, data = "execute-snapshot", _execute_data(signal)
        case StopSnapshot():
            signal_type = "stop-snapshot"
            data = {"type": signal.kind.value, "data-collections": [table.text for table in signal.tables]}
        case PauseSnapshot():
            signal_type = "pause-snapshot"
        case ResumeSnapshot():
            signal_type = "resume-snapshot"
        case LogSignal():
            signal_type, data = "log", {"message": signal.message}
    return SignalRow(signal.id, signal_type, orjson.dumps(data).decode())


def _execute_data(signal: ExecuteSnapshot) -> dict[str, object]:
    filters = [
        {"data-collection": c.tables.text, "filter": conditions.render(c.condition)}
        for c in signal.conditions
    ]
    bounds = signal.key_range
    data = {
        "type": signal.kind.value,
        "data-collections": [table.text for table in signal.tables],
        "additional-conditions": filters or None,
        "surrogate-key": signal.surrogate_key,
        "key-range": None if bounds is None else {"from": bounds.low, "to": bounds.high},
        "keys": signal.keys or None,
    }
    return {name: value for name, value in data.items() if value is not None}


def _rejected(signal_id: object, error: WracklineError) -> RejectedSignal:
    readable = signal_id if isinstance(signal_id, str) and _id_is_fine(signal_id) else ""
    return RejectedSignal(readable, _reason(error))


def _reason(error: WracklineError) -> SignalReason:
    return SignalReason(error.code, error.sentence, error.hint)


def _id_is_fine(signal_id: str) -> bool:
    return 0 < len(signal_id) <= ID_MAX and signal_id.isprintable()


def _check_size(size: int) -> None:
    if size > SIZE_MAX:
        raise TOO_LARGE(size=size, limit=SIZE_MAX)


def _object(text: bytes | str, part: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None  # the decoder's error holds the text, so it is not raised on
    if not isinstance(value, dict):
        raise NOT_JSON(part=part)
    return value


def _signal(signal_id: object, signal_type: object, data: object) -> tuple[Signal, SignalReason | None]:
    if not isinstance(signal_id, str) or not _id_is_fine(signal_id):
        raise BAD_ID(limit=ID_MAX)
    read = _READERS.get(signal_type) if isinstance(signal_type, str) else None
    if read is None:
        raise UNKNOWN_TYPE(known=", ".join(sorted(_READERS)))
    if isinstance(data, str):
        _check_size(len(data.encode("utf-8", "surrogatepass")))
    return read(signal_id, data)


class _Payload(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _lowered(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else "incremental" if value is None else value


_Kind = Annotated[str, BeforeValidator(_lowered), Field(pattern="^(incremental|blocking)$")]
_KeyValue = Annotated[int | str | bool, Field()]
_Key = Annotated[list[_KeyValue], Field(min_length=1, max_length=64)]


class _ConditionPayload(_Payload):
    tables: Annotated[str, Field(alias="data-collection")]
    filter: str


class _KeyRangePayload(_Payload):
    low: Annotated[_Key | None, Field(alias="from")] = None
    high: Annotated[_Key | None, Field(alias="to")] = None


class _StopPayload(_Payload):
    kind: Annotated[_Kind, Field(alias="type")] = "incremental"
    tables: Annotated[list[str] | None, Field(alias="data-collections", max_length=10_000)] = None


class _ExecutePayload(_StopPayload):
    conditions: Annotated[
        list[_ConditionPayload] | None, Field(alias="additional-conditions", max_length=10_000)
    ] = None
    surrogate_key: Annotated[str | None, Field(alias="surrogate-key", min_length=1, max_length=256)] = None
    key_range: Annotated[_KeyRangePayload | None, Field(alias="key-range")] = None
    keys: Annotated[list[_Key] | None, Field(min_length=1, max_length=10_000)] = None


class _LogPayload(_Payload):
    message: Annotated[str, Field(max_length=4096)]


_P = TypeVar("_P", bound=_Payload)


def _payload(model: type[_P], signal_type: str, data: object) -> _P:
    if isinstance(data, str):
        data = _object(data, "data") if data.strip() else {}
    elif data is None:
        data = {}
    if not isinstance(data, dict):
        raise NOT_JSON(part="data")
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        found = exc.errors(include_input=False, include_url=False, include_context=False)
    # raised outside the except clause: the validation error holds the payload, and so would the chain
    raise _refused_field(model, signal_type, found)


def _refused_field(model: type[_Payload], signal_type: str, found: Sequence[ErrorDetails]) -> WracklineError:
    unknown = [error for error in found if error["type"] == "extra_forbidden"]
    path, message = (unknown or found)[0]["loc"], found[0]["msg"]
    if unknown and len(path) == 1:
        known = [field.alias or name for name, field in model.model_fields.items()]
        nearest = difflib.get_close_matches(str(path[0]), known, n=1, cutoff=0) or known
        return UNKNOWN_FIELD(what=f"the data of {signal_type}", nearest=nearest[0], known=", ".join(known))
    if unknown:
        # the last step is the unknown name itself, which may be anything
        path, message = path[:-1], "it has an unknown field"
    return BAD_FIELD(type=signal_type, field=".".join(map(str, path)), reason=message)


def _patterns(texts: list[str] | None, signal_type: str) -> tuple[TablePattern, ...]:
    return tuple(
        _checked(partial(compile_pattern, text.strip()), signal_type, f"data-collections.{number}")
        for number, text in enumerate(texts or ())
    )


_T = TypeVar("_T")


def _checked(read: Callable[[], _T], signal_type: str, field: str) -> _T:
    """Add to a refusal the field that contained the pattern or condition."""
    try:
        return read()
    except WracklineError as error:
        raise BAD_FIELD(type=signal_type, field=field, reason=error.sentence) from error


def _execute(signal_id: str, data: object) -> tuple[Signal, SignalReason | None]:
    payload = _payload(_ExecutePayload, "execute-snapshot", data)
    kind = SnapshotKind(payload.kind)
    tables = _patterns(payload.tables, "execute-snapshot")
    among = Among(tables)
    signal = ExecuteSnapshot(
        signal_id,
        kind,
        tables,
        tuple(_condition(c, number, kind, among) for number, c in enumerate(payload.conditions or ())),
        payload.surrogate_key,
        _key_range(payload.key_range),
        tuple(tuple(key) for key in payload.keys or ()),
    )
    if (signal.key_range or signal.keys) and len(tables) != 1:
        raise _bad("key-range" if signal.key_range else "keys", "it needs exactly one table")
    if (signal.key_range or signal.keys) and signal.surrogate_key:
        raise _bad("surrogate-key", "it can't be combined with keys, which belong to the table's own key")
    if signal.key_range and signal.keys:
        raise _bad("keys", "it can't be combined with key-range")
    if len({len(key) for key in signal.keys}) > 1:
        raise _bad("keys", "some have more values than others")
    return signal, None if tables else _reason(NOTHING_TO_DO())


def _condition(payload: _ConditionPayload, number: int, kind: SnapshotKind, among: Among) -> TableCondition:
    field = f"additional-conditions.{number}"
    meant = _checked(
        partial(compile_pattern, payload.tables.strip()), "execute-snapshot", f"{field}.data-collection"
    )
    if not _checked(partial(among.meets, meant), "execute-snapshot", f"{field}.data-collection"):
        raise _bad(f"{field}.data-collection", "it matches no table in data-collections")
    whole = kind is SnapshotKind.BLOCKING and _SELECT.match(payload.filter)
    if not whole:
        condition = _checked(partial(conditions.parse, payload.filter), "execute-snapshot", f"{field}.filter")
        return TableCondition(meant, condition)
    select = _checked(partial(conditions.parse_select, payload.filter), "execute-snapshot", f"{field}.filter")
    name = ".".join(select.table)
    if not meant.matches_name(name) and not meant.text.lower().endswith(f".{name.lower()}"):
        raise _bad(f"{field}.filter", "it selects from another table than its data-collection")
    if select.condition is None:
        raise _bad(f"{field}.filter", "it has no WHERE; leave it out to read the whole table")
    return TableCondition(meant, select.condition)


def _key_range(payload: _KeyRangePayload | None) -> KeyRange | None:
    if payload is None:
        return None
    low, high = payload.low, payload.high
    if low is None and high is None:
        raise _bad("key-range", "it has neither from nor to")
    if low is not None and high is not None and len(low) != len(high):
        raise _bad("key-range", "from and to have different numbers of values")
    return KeyRange(None if low is None else tuple(low), None if high is None else tuple(high))


def _bad(field: str, reason: str) -> WracklineError:
    return BAD_FIELD(type="execute-snapshot", field=field, reason=reason)


def _stop(signal_id: str, data: object) -> tuple[Signal, SignalReason | None]:
    payload = _payload(_StopPayload, "stop-snapshot", data)
    return StopSnapshot(
        signal_id, SnapshotKind(payload.kind), _patterns(payload.tables, "stop-snapshot")
    ), None


def _log(signal_id: str, data: object) -> tuple[Signal, SignalReason | None]:
    return LogSignal(signal_id, _payload(_LogPayload, "log", data).message), None


_READERS: Mapping[str, Callable[[str, object], tuple[Signal, SignalReason | None]]] = MappingProxyType(
    {
        "execute-snapshot": _execute,
        "stop-snapshot": _stop,
        "pause-snapshot": lambda signal_id, _: (
            PauseSnapshot(signal_id),
            None,
        ),  # Debezium ignores their data
        "resume-snapshot": lambda signal_id, _: (ResumeSnapshot(signal_id), None),
        # only a mark's id shows which chunk it belongs to; its data is for people
        "snapshot-window-open": lambda i, _: (WindowMark(i, WindowEdge.OPEN, i.removesuffix("-open")), None),
        "snapshot-window-close": lambda i, _: (
            WindowMark(i, WindowEdge.CLOSE, i.removesuffix("-close")),
            None,
        ),
        "log": _log,
    }
)
