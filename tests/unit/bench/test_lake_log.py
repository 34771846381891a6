"""The commits of a lake's table, read from its log alone."""

import json
from collections.abc import Mapping
from pathlib import Path

import fastavro

from bench.lake_log import Commit, added, commits, stored_name

LIST = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        {"name": "manifest_path", "type": "string"},
        {"name": "added_snapshot_id", "type": "long"},
        {"name": "content", "type": "int"},
    ],
}
ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int"},
        {
            "name": "data_file",
            "type": {"type": "record", "name": "r2", "fields": [{"name": "file_path", "type": "string"}]},
        },
    ],
}


def write(file: Path, schema: Mapping[str, object], records: list[dict[str, object]]) -> None:
    with file.open("wb") as content:
        fastavro.writer(content, fastavro.parse_schema(dict(schema)), records)


def log(folder: Path, number: int, *actions: Mapping[str, object]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))


def test_no_table_has_no_commits(tmp_path: Path) -> None:
    assert commits(tmp_path) == []


def test_an_iceberg_commit_brings_the_data_files_that_its_own_manifests_add(tmp_path: Path) -> None:
    folder = tmp_path / "metadata"
    folder.mkdir()
    entries: list[dict[str, object]] = [
        {"status": status, "data_file": {"file_path": f"file:/lake/{status}.parquet"}} for status in range(3)
    ]
    for name in ("own", "old", "deletes"):
        write(folder / f"{name}.avro", ENTRY, entries)
    write(
        folder / "snap-2.avro",
        LIST,
        [
            {"manifest_path": f"file://{folder}/own.avro", "added_snapshot_id": 2, "content": 0},
            {"manifest_path": f"{folder}/old.avro", "added_snapshot_id": 1, "content": 0},
            {"manifest_path": f"{folder}/deletes.avro", "added_snapshot_id": 2, "content": 1},
        ],
    )
    snapshots = [
        {
            "snapshot-id": number,
            "sequence-number": number,
            "timestamp-ms": 1000 * number,
            "manifest-list": f"file:{folder}/snap-{number}.avro",
            "summary": {"total-records": str(10 * number)},
        }
        for number in (2, 1)
    ]
    (folder / "v3.metadata.json").write_text(json.dumps({"snapshots": snapshots}))
    made = commits(tmp_path)
    assert [(one.at_ms, one.rows, one.id) for one in made] == [(1000, 10, 1), (2000, 20, 2)]
    assert list(added(tmp_path, made[1])) == [Path("/lake/1.parquet")]
    assert stored_name(tmp_path, "a") == "a"


def test_a_delta_commit_counts_rows_by_file_and_names_columns_as_they_are_stored(tmp_path: Path) -> None:
    folder = tmp_path / "_delta_log"
    field = {"name": "a", "metadata": {"delta.columnMapping.physicalName": "col-1"}}
    log(
        folder,
        0,
        {"commitInfo": {"timestamp": 1000}},
        {"metaData": {"schemaString": json.dumps({"fields": [field]})}},
        {"add": {"path": "one%20file.parquet", "stats": '{"numRecords": 5}'}},
    )
    log(
        folder,
        1,
        {"commitInfo": {"timestamp": 2000}},
        {"remove": {"path": "one%20file.parquet"}},
        {"add": {"path": "two.parquet", "stats": '{"numRecords": 7}'}},
        {"add": {"path": "three.parquet", "stats": '{"numRecords": 1}'}},
    )
    first, second = commits(tmp_path)
    assert first == Commit(1000, 5, folder / f"{0:020}.json", 0)
    assert (second.at_ms, second.rows) == (2000, 8)
    assert list(added(tmp_path, first)) == [tmp_path / "one file.parquet"]
    assert stored_name(tmp_path, "a") == "col-1"
