"""What the log of a lake's table says, read without an engine: when each commit was made and what it brought.

metadata/vN.metadata.json -> manifest list -> manifests -> files        (Iceberg)
_delta_log/0...N.json -> files                                          (Delta)
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

import fastavro

_VERSION = re.compile(r"v(\d+)\.metadata\.json$")
_ADDED, _DATA = 1, 0  # an entry's status, a manifest's content


class Commit(NamedTuple):
    """One commit of a table."""

    at_ms: int
    rows: int  # in all data files of the table, deleted ones among them
    told_in: Path  # the file that lists what it brought
    id: int


def commits(table: Path) -> list[Commit]:
    """Read all commits, oldest first; none while there is no table."""
    if (table / "_delta_log").is_dir():
        return list(_delta(table))
    return list(_iceberg(table))


def added(table: Path, commit: Commit) -> Iterator[Path]:
    """Name the data files that a commit brought."""
    if commit.told_in.suffix == ".json":
        for action in _actions(commit.told_in):
            if "add" in action:
                yield table / unquote(action["add"]["path"])
        return
    for manifest in _avro(commit.told_in):
        if manifest["added_snapshot_id"] == commit.id and manifest["content"] == _DATA:
            for entry in _avro(_path(manifest["manifest_path"])):
                if entry["status"] == _ADDED:
                    yield _path(entry["data_file"]["file_path"])


def stored_name(table: Path, column: str) -> str:
    """Return a column's name in the data files, which Delta may have chosen."""
    for file in sorted(table.glob("_delta_log/*.json")):
        for action in _actions(file):
            for field in json.loads(action.get("metaData", {}).get("schemaString", '{"fields": []}'))[
                "fields"
            ]:
                if field["name"] == column:
                    return str(field["metadata"].get("delta.columnMapping.physicalName", column))
    return column


def _iceberg(table: Path) -> Iterator[Commit]:
    files = {
        int(found[1]): file for file in table.glob("metadata/*") if (found := _VERSION.search(file.name))
    }
    if not files:
        return
    said: dict[str, Any] = json.loads(files[max(files)].read_text())
    for one in sorted(said.get("snapshots", []), key=lambda one: int(one["sequence-number"])):
        rows = int(one["summary"].get("total-records", 0))
        yield Commit(one["timestamp-ms"], rows, _path(one["manifest-list"]), one["snapshot-id"])


def _delta(table: Path) -> Iterator[Commit]:
    rows = dict[str, int]()
    for file in sorted(table.glob("_delta_log/*.json")):
        at_ms = 0
        for action in _actions(file):
            if "commitInfo" in action:
                at_ms = action["commitInfo"]["timestamp"]
            elif "add" in action:
                stats = json.loads(action["add"].get("stats") or "{}")
                rows[action["add"]["path"]] = stats.get("numRecords", 0)
            elif "remove" in action:
                rows.pop(action["remove"]["path"], None)
        yield Commit(at_ms, sum(rows.values()), file, int(file.stem))


def _actions(file: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, file.read_text().splitlines())


def _avro(file: Path) -> Iterator[Any]:
    with file.open("rb") as content:
        yield from fastavro.reader(content)


def _path(address: str) -> Path:
    return Path(urlparse(address).path)
