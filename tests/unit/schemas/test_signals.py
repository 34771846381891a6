"""Signals: Debezium's payloads are taken, everything else is rejected with a reason and no exception."""

import orjson
import pytest

from wrackline.schemas.kafka.signals import (
    SIZE_MAX,
    AcceptedSignal,
    ExecuteSnapshot,
    KeyRange,
    LogSignal,
    PauseSnapshot,
    RejectedSignal,
    ResumeSnapshot,
    Signal,
    SnapshotKind,
    StopSnapshot,
    WindowEdge,
    WindowMark,
    parse_message,
    parse_row,
    row,
    window_row,
)
from wrackline.schemas.language.conditions import ColumnName, Comparison

CANARY = "4929-canary"
BLUE = Comparison(ColumnName("color"), "=", "blue")


def accepted(signal_type: str, data: str | None) -> AcceptedSignal:
    result = parse_row("s1", signal_type, data)
    assert isinstance(result, AcceptedSignal), result
    return result


def executed(data: str) -> ExecuteSnapshot:
    signal = accepted("execute-snapshot", data).signal
    assert isinstance(signal, ExecuteSnapshot)
    return signal


def texts(signal: ExecuteSnapshot | StopSnapshot) -> list[str]:
    return [pattern.text for pattern in signal.tables]


def test_an_incremental_snapshot_as_debezium_writes_it() -> None:
    signal = executed(
        """{"type": "incremental", "data-collections": ["public.orders", "public\\\\.item.*"],
            "additional-conditions": [{"data-collection": "public.orders", "filter": "color='blue'"}],
            "surrogate-key": "shard"}"""
    )
    assert signal.kind is SnapshotKind.INCREMENTAL
    assert texts(signal) == ["public.orders", r"public\.item.*"]
    assert [(c.tables.text, c.condition) for c in signal.conditions] == [("public.orders", BLUE)]
    assert signal.surrogate_key == "shard"


@pytest.mark.parametrize("kind", ['"BLOCKING"', '"blocking"', '" Blocking "'])
def test_a_blocking_snapshot_takes_a_whole_select(kind: str) -> None:
    select = "SELECT * FROM public.orders WHERE color='blue'"
    signal = executed(
        f"""{{"type": {kind}, "data-collections": ["shop.public.orders"],
            "additional-conditions": [{{"data-collection": "public.orders", "filter": "{select}"}}]}}"""
    )
    assert signal.kind is SnapshotKind.BLOCKING
    assert signal.conditions[0].condition == BLUE


def test_the_kind_is_incremental_where_it_is_missing_and_names_are_trimmed() -> None:
    signal = executed('{"data-collections": [" public.orders "]}')
    assert signal == ExecuteSnapshot("s1", SnapshotKind.INCREMENTAL, signal.tables)
    assert texts(signal) == ["public.orders"]


def test_part_of_one_table_by_keys_or_by_range() -> None:
    by_range = executed('{"data-collections": ["t.u"], "key-range": {"from": [1, "a"], "to": [2, "b"]}}')
    assert by_range.key_range == KeyRange((1, "a"), (2, "b"))
    half_open = executed('{"data-collections": ["t.u"], "key-range": {"from": [1]}}')
    assert half_open.key_range == KeyRange((1,), None)
    assert executed('{"data-collections": ["t.u"], "keys": [[1], [2]]}').keys == ((1,), (2,))


@pytest.mark.parametrize(
    "data", [None, "", "  ", "{}", '{"data-collections": []}', '{"data-collections": null}']
)
def test_a_snapshot_of_nothing_does_nothing_and_says_so(data: str | None) -> None:
    result = accepted("execute-snapshot", data)
    assert result.warning is not None
    assert result.warning.code == "signal.nothing_to_do"
    assert isinstance(result.signal, ExecuteSnapshot)
    assert result.signal.tables == ()


@pytest.mark.parametrize(
    ("signal_type", "data", "signal"),
    [
        ("stop-snapshot", None, StopSnapshot("s1", SnapshotKind.INCREMENTAL, ())),
        ("stop-snapshot", '{"type":"incremental"}', StopSnapshot("s1", SnapshotKind.INCREMENTAL, ())),
        ("stop-snapshot", '{"data-collections":[]}', StopSnapshot("s1", SnapshotKind.INCREMENTAL, ())),
        ("pause-snapshot", None, PauseSnapshot("s1")),
        ("pause-snapshot", "whatever", PauseSnapshot("s1")),
        ("resume-snapshot", '{"type":"incremental"}', ResumeSnapshot("s1")),
        ("log", '{"message":"hello"}', LogSignal("s1", "hello")),
    ],
)
def test_the_other_signals(signal_type: str, data: str | None, signal: Signal) -> None:
    assert accepted(signal_type, data) == AcceptedSignal(signal)


def test_a_stop_names_the_tables_that_leave() -> None:
    signal = accepted("stop-snapshot", '{"data-collections":["a.b","c.d"]}').signal
    assert isinstance(signal, StopSnapshot)
    assert texts(signal) == ["a.b", "c.d"]


@pytest.mark.parametrize("edge", WindowEdge)
def test_a_window_row_is_debeziums_and_comes_back_as_its_mark(edge: WindowEdge) -> None:
    mark = window_row(edge, "c0ffee", at="2026-01-02T03:04:05Z", request="s0", table="shop.public.orders")
    assert mark.id == f"c0ffee-{edge.value}"
    assert mark.type == f"snapshot-window-{edge.value}"
    assert orjson.loads(mark.data) == {
        f"{edge.value}WindowTimestamp": "2026-01-02T03:04:05Z",
        "correlationId": "s0",
        "dataCollectionId": "shop.public.orders",
    }
    assert parse_row(*mark) == AcceptedSignal(WindowMark(mark.id, edge, "c0ffee"))
    assert len(mark.id) <= 42
    assert parse_row(mark.id, mark.type, None) == parse_row(*mark)


def test_a_message_carries_data_as_an_object_or_as_text() -> None:
    inner = {"data-collections": ["a.b"]}
    expected = parse_row("x", "execute-snapshot", '{"data-collections":["a.b"]}')
    for data in (inner, orjson.dumps(inner).decode()):
        message = orjson.dumps({"id": "x", "type": "execute-snapshot", "data": data})
        result = parse_message(message, "fallback")
        assert isinstance(result, AcceptedSignal)
        assert isinstance(expected, AcceptedSignal)
        assert isinstance(result.signal, ExecuteSnapshot)
        assert texts(result.signal) == ["a.b"]
        assert result.signal.id == "x"


def test_a_message_without_an_id_takes_the_callers() -> None:
    assert parse_message(b'{"type":"pause-snapshot"}', "signals-0-7") == AcceptedSignal(
        PauseSnapshot("signals-0-7")
    )


@pytest.mark.parametrize(
    "sent",
    [
        ("execute-snapshot", '{"data-collections":["a.b","c\\\\..*"],"surrogate-key":"x"}'),
        ("execute-snapshot", '{"data-collections":["a.b"],"keys":[[1,"x"],[2,"y"]]}'),
        ("execute-snapshot", '{"data-collections":["a.b"],"key-range":{"to":[true]}}'),
        (
            "execute-snapshot",
            (
                '{"type":"blocking","data-collections":["a.b"],"additional-conditions":[{"data-collection":"a.b",'
                "\"filter\":\"selected = 1 AND (x = 'it''s' OR y IS NULL)\"}]}"
            ),
        ),
        ("stop-snapshot", '{"data-collections":["a.b"]}'),
        ("stop-snapshot", None),
        ("pause-snapshot", None),
        ("resume-snapshot", None),
        ("log", '{"message":"hello"}'),
    ],
)
def test_a_signal_that_is_written_down_makes_the_same_request(sent: tuple[str, str | None]) -> None:
    first = accepted(*sent).signal
    assert not isinstance(first, WindowMark)
    assert parse_row(*row(first)) == AcceptedSignal(first)


def tables(**fields: object) -> str:
    return orjson.dumps({"data-collections": ["a.b"], **fields}).decode()


def conditions(*found: object) -> str:
    return tables(**{"additional-conditions": list(found)})


def blocking(select: str) -> str:
    return tables(
        type="blocking", **{"additional-conditions": [{"data-collection": "a.b", "filter": select}]}
    )


# (type, data, code): every row must come back as Rejected with this code
REJECTED_ROWS: list[tuple[str, str | None, str]] = [
    ("", None, "signal.unknown_type"),
    ("execute", "{}", "signal.unknown_type"),
    ("Execute-Snapshot", "{}", "signal.unknown_type"),
    ("execute-snapshot ", "{}", "signal.unknown_type"),
    ("schema-changes", "{}", "signal.unknown_type"),
    ("execute\u2010snapshot", "{}", "signal.unknown_type"),
    ("DROP TABLE x", CANARY, "signal.unknown_type"),
    ("execute-snapshot", CANARY, "signal.not_json"),
    ("execute-snapshot", "{", "signal.not_json"),
    ("execute-snapshot", "[]", "signal.not_json"),
    ("execute-snapshot", '["a.b"]', "signal.not_json"),
    ("execute-snapshot", "null", "signal.not_json"),
    ("execute-snapshot", "1", "signal.not_json"),
    ("execute-snapshot", '"{}"', "signal.not_json"),
    ("execute-snapshot", "{'data-collections': ['a.b']}", "signal.not_json"),
    ("execute-snapshot", '{"data-collections": ["a.b"],}', "signal.not_json"),
    ("execute-snapshot", '{"data-collections": NaN}', "signal.not_json"),
    ("execute-snapshot", "{} {}", "signal.not_json"),
    ("execute-snapshot", '{"x":' * 2000 + "1" + "}" * 2000, "signal.not_json"),
    ("execute-snapshot", '{"data-collections": ["\\ud800"]}', "signal.not_json"),
    ("execute-snapshot", "\ud800", "signal.not_json"),
    ("execute-snapshot", "{" + " " * SIZE_MAX + "}", "signal.too_large"),
    ("execute-snapshot", '{"data-collections": "a.b"}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": {"a": "b"}}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": [1]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["a.b", null]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["a.b", ["c.d"]]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["a.b", true]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": [""]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["  "]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["("]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["(a+)+"]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["(?i)a"]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections": ["' + "a" * 600 + '"]}', "signal.bad_field"),
    ("execute-snapshot", orjson.dumps({"data-collections": ["a.b"] * 10_001}).decode(), "signal.bad_field"),
    ("execute-snapshot", tables(type="initial"), "signal.bad_field"),
    ("execute-snapshot", tables(type=1), "signal.bad_field"),
    ("execute-snapshot", tables(type=["incremental"]), "signal.bad_field"),
    ("execute-snapshot", tables(type=""), "signal.bad_field"),
    ("execute-snapshot", '{"data_collections": ["a.b"]}', "signal.unknown_field"),
    ("execute-snapshot", '{"Data-Collections": ["a.b"]}', "signal.unknown_field"),
    ("execute-snapshot", '{"tables": ["a.b"]}', "signal.unknown_field"),
    ("execute-snapshot", tables(**{CANARY: 1}), "signal.unknown_field"),
    ("execute-snapshot", tables(**{"additional-condition": "x=1"}), "signal.unknown_field"),
    ("execute-snapshot", tables(**{"additional-conditions": "x=1"}), "signal.bad_field"),
    ("execute-snapshot", tables(**{"additional-conditions": {"data-collection": "a.b"}}), "signal.bad_field"),
    ("execute-snapshot", conditions("x=1"), "signal.bad_field"),
    ("execute-snapshot", conditions({}), "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "a.b"}), "signal.bad_field"),
    ("execute-snapshot", conditions({"filter": "x=1"}), "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "a.b", "filter": 1}), "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "a.b", "filter": ""}), "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "a.b", "filter": "1=1"}), "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "a.b", "filter": f"x='{CANARY}'; DROP TABLE t"}),
     "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "a.b", "filter": "SELECT * FROM a.b WHERE x=1"}),
     "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "a.b", "filter": "x=1", CANARY: 1}),
     "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "c.d", "filter": "x=1"}), "signal.bad_field"),
    ("execute-snapshot", conditions({"data-collection": "(", "filter": "x=1"}), "signal.bad_field"),
    ("execute-snapshot",
     blocking("SELECT * FROM c WHERE x=1"),
     "signal.bad_field"),
    ("execute-snapshot",
     blocking("SELECT * FROM a.b"),
     "signal.bad_field"),
    ("execute-snapshot",
     blocking("SELECT x FROM a.b"),
     "signal.bad_field"),
    ("execute-snapshot", tables(**{"surrogate-key": 1}), "signal.bad_field"),
    ("execute-snapshot", tables(**{"surrogate-key": ""}), "signal.bad_field"),
    ("execute-snapshot", tables(**{"surrogate-key": ["a"]}), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[1]], **{"surrogate-key": "a"}), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[]), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[1, 2]), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[]]), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[1.5]]), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[1.0]]), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[None]]), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[{"id": CANARY}]]), "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[1], [1, 2]]), "signal.bad_field"),
    ("execute-snapshot", '{"data-collections":["a.b"],"keys":[[18446744073709551616]]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections":["a.b","c.d"],"keys":[[1]]}', "signal.bad_field"),
    ("execute-snapshot", '{"data-collections":[],"keys":[[1]]}', "signal.bad_field"),
    ("execute-snapshot", tables(keys=[[1]], **{"key-range": {"from": [1]}}), "signal.bad_field"),
    ("execute-snapshot", tables(**{"key-range": {}}), "signal.bad_field"),
    ("execute-snapshot", tables(**{"key-range": [1, 2]}), "signal.bad_field"),
    ("execute-snapshot", tables(**{"key-range": {"from": [1], "to": [1, 2]}}), "signal.bad_field"),
    ("execute-snapshot", tables(**{"key-range": {"low": [1]}}), "signal.bad_field"),
    ("stop-snapshot", CANARY, "signal.not_json"),
    ("stop-snapshot", '{"data-collections": [1]}', "signal.bad_field"),
    ("stop-snapshot", '{"type": "all"}', "signal.bad_field"),
    ("stop-snapshot", '{"tables": []}', "signal.unknown_field"),
    ("log", None, "signal.bad_field"),
    ("log", '{"message": 1}', "signal.bad_field"),
    ("log", '{"message": "' + "x" * 5000 + '"}', "signal.bad_field"),
    ("log", '{"text": "x"}', "signal.unknown_field"),
]  # fmt: skip


@pytest.mark.parametrize(("signal_type", "data", "code"), REJECTED_ROWS, ids=range(len(REJECTED_ROWS)))
def test_a_bad_row_is_rejected_with_a_reason(signal_type: str, data: str | None, code: str) -> None:
    result = parse_row("s1", signal_type, data)
    assert isinstance(result, RejectedSignal)
    assert (result.id, result.reason.code) == ("s1", code)
    assert result.reason.hint
    assert CANARY not in f"{result.reason}"


@pytest.mark.parametrize("signal_id", ["", "x" * 257, "a\nb", "a\0", "\ud800"])
def test_an_unreadable_id_is_rejected_and_not_repeated(signal_id: str) -> None:
    result = parse_row(signal_id, "pause-snapshot", None)
    assert isinstance(result, RejectedSignal)
    assert (result.id, result.reason.code) == ("", "signal.bad_id")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "signal.not_json"),
        (b"", "signal.not_json"),
        (b"\xff\xfe", "signal.not_json"),
        (CANARY.encode(), "signal.not_json"),
        (b"[]", "signal.not_json"),
        (b'{"type":', "signal.not_json"),
        (b"{}", "signal.unknown_type"),
        (b'{"type":null}', "signal.unknown_type"),
        (b'{"type":["pause-snapshot"]}', "signal.unknown_type"),
        (b'{"type":{"a":1}}', "signal.unknown_type"),
        (b'{"type":"pause-snapshot","id":7}', "signal.bad_id"),
        (b'{"type":"pause-snapshot","id":""}', "signal.bad_id"),
        (b'{"type":"pause-snapshot","dat":{}}', "signal.unknown_field"),
        (b'{"type":"execute-snapshot","data":["a.b"]}', "signal.not_json"),
        (b'{"type":"execute-snapshot","data":7}', "signal.not_json"),
        (b'{"type":"execute-snapshot","data":false}', "signal.not_json"),
        (b'{"type":"execute-snapshot","data":"{"}', "signal.not_json"),
        (b" " * (SIZE_MAX + 1), "signal.too_large"),
    ],
)
def test_a_bad_message_is_rejected_with_a_reason(value: bytes | None, code: str) -> None:
    result = parse_message(value, "fallback")
    assert isinstance(result, RejectedSignal)
    assert result.reason.code == code
    assert CANARY not in f"{result.reason}"


def test_a_field_that_is_nearly_known_is_named() -> None:
    result = parse_row("s1", "execute-snapshot", '{"data-colections": ["a.b"]}')
    assert isinstance(result, RejectedSignal)
    assert "did you mean data-collections?" in result.reason.hint


def test_a_condition_may_name_its_table_with_or_without_the_database() -> None:
    for named, filtered in (("shop.a.b", "a.b"), ("a.b", "shop.a.b"), ("a.*", "a.b"), ("a.b", "A.B")):
        condition = {"data-collection": filtered, "filter": "color='blue'"}
        data = {"data-collections": [named], "additional-conditions": [condition]}
        assert executed(orjson.dumps(data).decode()).conditions[0].condition == BLUE


def test_conditions_and_tables_are_compared_up_to_a_bound() -> None:
    tables = [f"{'x' * 20}{number}" for number in range(1000)]
    conditions = [
        {"data-collection": f"{'z' * 20}{number}|{tables[-1]}", "filter": "a=1"} for number in range(200)
    ]
    message = orjson.dumps(
        {
            "id": "1",
            "type": "execute-snapshot",
            "data": {"data-collections": tables, "additional-conditions": conditions},
        }
    )
    rejected = parse_message(message, "f")
    assert isinstance(rejected, RejectedSignal)
    assert "too many patterns" in rejected.reason.sentence


def test_a_condition_for_each_of_many_tables_is_taken() -> None:
    tables = [f"public.{'x' * 5}{number}" for number in range(700)]
    conditions = [{"data-collection": f"shop.{table}", "filter": "a=1"} for table in tables]
    signal = executed(
        orjson.dumps({"data-collections": tables, "additional-conditions": conditions}).decode()
    )
    assert len(signal.conditions) == 700
