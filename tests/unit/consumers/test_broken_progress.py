"""What a target's table says of itself may have been changed by a user who can write there: it has a code."""

import json
from typing import Any

import pytest

from wrackline.consumers.contract import applied_text
from wrackline.consumers.contract.plan import Applied, NewestChange, OurColumns, TopicPartition
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.lake.table_shape import TableAddress, TableOrigin
from wrackline.consumers.targets.delta import applied as delta
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergSnapshot, walk_snapshots
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import TableId

CANARY = "c4n4ry-of-a-row"
DEEP = "[" * 200_000
GOOD = Applied({TopicPartition("s.d.p.a", 0): 5}, "07", NewestChange("09", 1, 2), {"s.d.p.a": "0a"})


def but(**said: object) -> str:
    """A text of ours in which something was changed."""
    return json.dumps({**json.loads(applied_text.text(GOOD)), **said})


TEXTS = {
    "nothing": "",
    "no JSON": CANARY,
    "cut in the middle": applied_text.text(GOOD)[:-9],
    "no object": "[1]",
    "null": "null",
    "a text": f'"{CANARY}"',
    "as deep as nobody writes": DEEP,
    "deep below a name": '{"version": 2, "offsets": ' + DEEP,
    "digits without end": '{"version": ' + "9" * 5000 + "}",
    "no version": "{}",
    "a text as version": but(version="2"),
    "no offsets": '{"version": 2, "floor": null, "newest": null}',
    "a list of offsets": but(offsets=[CANARY]),
    "offsets of no topic": but(offsets={"s.d.p.a": 5}),
    "a partition in letters": but(offsets={"s.d.p.a": {CANARY: 5}}),
    "a partition below none": but(offsets={"s.d.p.a": {"-1": 5}}),
    "an offset in letters": but(offsets={"s.d.p.a": {"0": CANARY}}),
    "an offset beyond 63 bits": but(offsets={"s.d.p.a": {"0": 1 << 63}}),
    "a floor that is a number": but(floor=7),
    "a floor that is a list": but(floor=[]),
    "a newest that is a text": but(newest="abc"),
    "a newest that is too short": but(newest=["09", 1]),
    "a newest that is too long": but(newest=["09", 1, 2, CANARY]),
    "a newest that is empty": but(newest=[]),
    "a newest without a seq": but(newest=[None, 1, 2]),
    "a newest whose schema is a text": but(newest=["09", 1, CANARY]),
    "a newest that is an object": but(newest={"a": 1, "b": 2, "c": 3}),
    "ids that are a list": but(topic_ids=[CANARY]),
    "an id that is a number": but(topic_ids={"s.d.p.a": 5}),
}


def refused(caught: pytest.ExceptionInfo[OperatorNeeded], code: str) -> None:
    error = caught.value
    assert error.code == code
    assert "lake.orders" in error.sentence
    assert "wrackline snapshot start <pipeline.toml>" in error.hint
    assert CANARY not in f"{error} {error.__cause__} {error.hint}"
    assert error.__suppress_context__ or error.__context__ is None, "no trace shows what was read"


@pytest.mark.parametrize("written", TEXTS.values(), ids=TEXTS)
def test_a_broken_text_is_refused(written: str) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        applied_text.parse(written, "lake.orders", "DROP TABLE lake.orders")
    refused(caught, "target.progress_broken")
    assert "DROP TABLE lake.orders" in caught.value.hint
    with pytest.raises(OperatorNeeded) as caught:
        walk_snapshots({1: IcebergSnapshot(None, 0, written)}, 1, "lake.orders")
    refused(caught, "target.progress_broken")


def in_delta(**said: object) -> str:
    return json.dumps({"wrackline": applied_text.text(GOOD), "number": 1, "made_from": 0, **said})


@pytest.mark.parametrize(
    "said",
    [
        {"wrackline": None},
        {"wrackline": {"version": 2}},
        {"number": "1"},
        {"number": 1 << 63},
        {"number": [CANARY]},
        {"made_from": "0"},
        {"made_from": None},
        {"made_from": -2},
        {"made_from": 0.5},
    ],
    ids=str,
)
def test_a_broken_commit_of_ours_stops_the_table(said: dict[str, object]) -> None:
    """T-K05."""
    commits = [delta.DeltaCommit(1, 0, *delta._read_text(in_delta(**said)))]
    commits.append(delta.DeltaCommit(0, 0, *delta._read_text(in_delta(number=0, made_from=-1))))
    with pytest.raises(delta.DeltaTextBroken):
        delta.walk_commits(commits)
    restored = [delta.DeltaCommit(2, 0, None, set_back=True, set_back_to=0), *commits]
    found = delta.walk_commits(restored)
    assert found is not None, "set back to before it, the table continues, as the hint says"
    assert found[0].made_from == -1


@pytest.mark.parametrize(
    "text", [None, "", CANARY, DEEP, "[1]", "null", '"wrackline"', '{"number": "x"}', "9" * 5000]
)
def test_a_text_of_others_says_nothing(text: str | None) -> None:
    assert delta._read_text(text) == (None, False)


def test_the_table_of_a_broken_commit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken: Any = [delta.DeltaCommit(0, 0, *delta._read_text(in_delta(number=CANARY)))]
    monkeypatch.setattr(delta, "history", lambda *_: broken)
    orders = TableOrigin(TableId("a", "b", "orders"), OurColumns.prefixed("_wl_"))
    table = LakeTable(TableAddress("lake.orders", "rm -r orders"), {}, orders)
    with pytest.raises(OperatorNeeded) as caught:
        delta.read_applied(None, table)  # type: ignore[arg-type]
    refused(caught, "target.progress_broken")
    assert "rm -r orders" in caught.value.hint


OWN = {"table": ["d", "p", "orders"], "ours": {}, "mode": "upsert"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        CANARY,
        DEEP,
        "[]",
        "null",
        "{}",
        json.dumps({**OWN, "table": 5}),
        json.dumps({**OWN, "table": ["d"]}),
        json.dumps({**OWN, "ours": [CANARY]}),
        json.dumps({**OWN, "ours": {CANARY: "x"}}),
        json.dumps({**OWN, "mode": CANARY}),
        json.dumps({**OWN, "mode": [CANARY]}),
    ],
    ids=lambda text: text[:40] or "nothing",
)
def test_what_a_table_says_of_itself_may_be_broken(text: str) -> None:
    """T-K05."""
    with pytest.raises(OperatorNeeded) as caught:
        table_shape.check_own(
            {"wrackline.table": text},
            TableId("d", "p", "orders"),
            TableAddress("lake.orders", "DROP TABLE lake.orders"),
        )
    refused(caught, "target.property_broken")
