"""The example of docs/plugins.md is built, installed and found, keeps both contracts, and copies rows."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.consuming.world import SPARK_PATIENCE
from tests.integration.running.world import COMMAND, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs/examples/wrackline-jsonl"
COLUMNS = [["id", "int32", False], ["label", "string", True]]
FILE = """
name = "{prefix}"
topic.prefix = "{prefix}"
metrics.port = 0
secrets.allow.folders = ["{folder}"]
[source]
connector.class = "journal"
journal.path = "{folder}/shop.jsonl"
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
[target]
kind = "jsonl"
jsonl.folder = "{folder}/copy"
[consume]
trigger.interval.ms = 200
[spark]
master = "local[2]"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built package, as pip leaves it."""
    place, sources = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("sources") / EXAMPLE.name
    shutil.copytree(EXAMPLE, sources)
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps"]
    done([*pip, "-q", "--target", str(place), str(sources)])
    return place


def environment(installed: Path | None = None) -> dict[str, str]:
    paths = [str(ROOT), *([] if installed is None else [str(installed)])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def done(command: list[str], installed: Path | None = None, cwd: Path = ROOT) -> str:
    ran = subprocess.run(
        command, cwd=cwd, env=environment(installed), capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_example_keeps_both_contracts_with_the_suites_that_are_shipped(
    installed: Path, tmp_path: Path
) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    pytest_alone = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]
    said = done([*pytest_alone, str(tmp_path / "tests")], installed, cwd=tmp_path)
    passed = int(said.split(" passed")[0].split()[-1])
    assert passed > 60, said


def test_the_example_is_found_by_its_entry_points(installed: Path) -> None:
    found = {
        fact["name"]: fact for fact in json.loads(done([*COMMAND, "doctor", "--json"], installed))["facts"]
    }
    for name in ("source journal", "target jsonl"):
        assert (found[name]["found"], found[name]["good"]) == ("wrackline-jsonl 1.0", True)


class Shop:
    """An application with a journal."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.commit({"table": "orders", "columns": COLUMNS, "key": ["id"]})

    def commit(self, *changes: dict[str, object]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps({"tx": "t", "ms": 1_700_000_000_000, "changes": changes}) + "\n")


@pytest.mark.full
def test_the_example_copies_rows_that_were_there_and_changes(
    installed: Path, tmp_path: Path, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> None:
    shop, file = Shop(tmp_path / "shop.jsonl"), tmp_path / "pipeline.toml"
    file.write_text(
        FILE.format(prefix=topic_prefix, folder=tmp_path, brokers=kafka.bootstrap, registry=registry.url)
    )
    old: list[dict[str, object]] = [{"id": number, "label": f"old {number}"} for number in range(50)]
    made: list[dict[str, object]] = [{"table": "orders", "op": "c", "after": row} for row in old]
    shop.commit(*made)

    rows = tmp_path / "copy/shop.main.orders.rows.jsonl"

    def copied() -> dict[int, str]:
        found = map(json.loads, rows.read_text().splitlines()[1:]) if rows.exists() else ()
        return {row["values"]["id"]: row["values"]["label"] for row in found if not row["deleted"]}

    with ExitStack() as ending:
        for half in ("run", "consume"):
            out = ending.enter_context((tmp_path / half).open("wb"))
            command = [*COMMAND, half, str(file)]
            started = subprocess.Popen(
                command, stdout=out, stderr=out, env=environment(installed), cwd=tmp_path
            )
            ending.callback(started.wait, 60)
            ending.callback(started.terminate)
        wanted = {n: f"old {n}" for n in range(50)}
        wait_until(lambda: copied() == wanted, patience=SPARK_PATIENCE)
        before = {"id": 7, "label": "old 7"}
        shop.commit(
            {"table": "orders", "op": "u", "before": before, "after": {"id": 7, "label": "é"}},
            {"table": "orders", "op": "d", "before": {"id": 8, "label": "old 8"}},
            {"table": "orders", "op": "c", "after": {"id": 99, "label": "new"}},
        )
        del wanted[8]
        wait_until(lambda: copied() == {**wanted, 7: "é", 99: "new"})
