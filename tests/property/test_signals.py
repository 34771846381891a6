"""Whatever arrives as a signal, the answer is a value: never an exception, never half a request."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from wrackline.schemas.kafka.signals import (
    AcceptedSignal,
    ExecuteSnapshot,
    RejectedSignal,
    parse_message,
    parse_row,
)

TYPES = ["execute-snapshot", "stop-snapshot", "pause-snapshot", "snapshot-window-open", "log"]
NAMES = ["data-collections", "type", "additional-conditions", "surrogate-key", "keys", "key-range", "message"]
JSON: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*NAMES, "filter", "data-collection", "from"]), inner, max_size=3)
    ),
    max_leaves=10,
)
PAYLOADS = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4)


@given(st.text(), st.sampled_from(TYPES) | st.text(), st.none() | st.text())
def test_any_row_is_answered(signal_id: str, signal_type: str, data: str | None) -> None:
    assert isinstance(parse_row(signal_id, signal_type, data), AcceptedSignal | RejectedSignal)


@given(st.binary())
def test_any_bytes_are_answered(value: bytes) -> None:
    assert isinstance(parse_message(value, "f"), AcceptedSignal | RejectedSignal)


@given(st.sampled_from(TYPES), PAYLOADS)
def test_any_payload_is_answered_alike_as_object_and_as_text(
    signal_type: str, payload: dict[str, object]
) -> None:
    text = orjson.dumps(payload).decode()
    as_row = parse_row("s", signal_type, text)
    as_object = parse_message(orjson.dumps({"id": "s", "type": signal_type, "data": payload}), "f")
    assert type(as_row) is type(as_object)
    if isinstance(as_row, RejectedSignal):
        assert as_row == as_object


@given(PAYLOADS)
def test_an_accepted_snapshot_dropped_nothing_that_was_asked(payload: dict[str, object]) -> None:
    result = parse_row("s", "execute-snapshot", orjson.dumps(payload).decode())
    if isinstance(result, AcceptedSignal):
        assert isinstance(result.signal, ExecuteSnapshot)
        assert len(result.signal.tables) == len(payload.get("data-collections") or ())  # type: ignore[arg-type] # a list, for it was accepted
        assert len(result.signal.keys) == len(payload.get("keys") or ())  # type: ignore[arg-type] # the same
        assert (result.signal.surrogate_key is None) == (payload.get("surrogate-key") is None)
