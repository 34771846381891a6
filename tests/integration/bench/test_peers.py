"""Every bench that needs servers runs through, with all its peers, and writes its figures."""

import json
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.benches.end_to_end import EQUAL, SURPLUS
from bench.peers import flink, iceberg_sink

pytestmark = [pytest.mark.servers, pytest.mark.deep]

PEERS = {
    "pg-latency": ("p50_ms", {"debezium"}),
    "pg-stream": ("changes_per_s", {"debezium", "drain", "produce"}),
    "pg-snapshot": ("rows_per_s", {"debezium", "produce"}),
    "mysql-stream": ("rows_per_s", {"debezium", "produce"}),
    "mysql-snapshot": ("rows_per_s", {"debezium", "produce"}),
}


@pytest.mark.parametrize("name", PEERS)
def test_a_bench_measures_each_of_its_peers(name: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    assert main([name, "--rows", "4000", "--rounds", "1", "--json", str(file)]) == 0
    metric, peers = PEERS[name]
    rows = {row["metric"]: row for row in json.loads(file.read_text())["rows"]}
    assert {f"{peer}.{metric}" for peer in peers} <= rows.keys()
    for row in rows.values():
        assert row["value"] > 0
        assert row["cpu_s"] > 0
        assert row["peak_mb"] > 1


def test_the_copy_of_every_keeper_is_equal_to_the_database(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    assert main(["end-to-end", "--rows", "4000", "--rounds", "1", "--json", str(file)]) == 0
    rows = {row["metric"]: row["value"] for row in json.loads(file.read_text())["rows"]}
    peers = ("wrackline, delta", iceberg_sink.NAME, flink.NAME)
    assert [rows[name] for name in (EQUAL, *(f"{peer}.{EQUAL}" for peer in peers))] == [1] * 4
    assert rows[f"{flink.NAME}.{SURPLUS}"] == 0
