"""How late a change was, from what Kafka and the table wrote down."""

import json
from pathlib import Path

from bench.late import Change, Commit, commits, late_ms
from wrackline.consumers.contract.applied_text import text
from wrackline.consumers.contract.plan import Applied, TopicPartition
from wrackline.consumers.targets.iceberg.direct.snapshot_history import APPLIED_PROPERTY

TOPIC = "s.d.public.t"


def snapshot(number: int, upto: int | None) -> dict[str, object]:
    applied = Applied({TopicPartition(TOPIC, 0): upto or 0})
    summary = {"operation": "append"} if upto is None else {APPLIED_PROPERTY: text(applied)}
    return {"sequence-number": number, "timestamp-ms": 1000 * number, "summary": summary}


def test_a_change_is_late_until_the_first_commit_that_has_it() -> None:
    made = [Commit(3, 1000), Commit(3, 1500), Commit(9, 2000)]
    changes = [Change(0, 400, 410), Change(2, 900, 900), Change(3, 900, 950), Change(8, 1999, 2000)]
    assert late_ms(changes, made) == [600, 100, 1100, 1]


def test_commits_are_read_from_the_newest_metadata(tmp_path: Path) -> None:
    folder = tmp_path / "metadata"
    assert commits(tmp_path, TOPIC) == []
    folder.mkdir()
    old, new = [snapshot(1, 3)], [snapshot(10, 12), snapshot(2, None), snapshot(1, 3)]
    for number, snapshots in ((9, old), (10, new)):
        (folder / f"v{number}.metadata.json").write_text(json.dumps({"snapshots": snapshots}))
    (folder / "version-hint.text").write_text("10")
    assert commits(tmp_path, TOPIC) == [Commit(3, 1000), Commit(12, 10_000)]
    assert commits(tmp_path, "another") == []
