"""A Spark that the product has started: its secrets, its parts, its variables, and odd folders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wrackline.consumers.targets.iceberg import PLUGIN, connect
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values

CANARY = "c4n4ry:s3cr3t"


def values(warehouse: Path) -> Values:
    read = SettingsRegistry(PLUGIN.settings).read(
        {"target.warehouse": str(warehouse)}, Resolver(Allowed(), {})
    )
    assert read.values is not None
    return read.values


@pytest.mark.spark
def test_nobody_sees_its_secrets_and_a_folder_may_have_any_name(tmp_path: Path) -> None:
    place, old = tmp_path / "é x" / "lake", tmp_path / "%C3%A9%20x" / "lake"
    program = [
        sys.executable,
        "-m",
        "tests.integration.consuming.started",
        str(place),
        f"file://{old}",
        CANARY,
    ]
    # the canary is on the command line of the test's own child, and must be on no other
    with subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "WRACKLINE_DB_PASSWORD": CANARY},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        said = json.loads(child.stdout.readline())
        assert (said["known"], said["java"] >= 1) == (True, True)
        assert said["seen"] == 1, "a secret is on Java's command line"
        assert said["read"].endswith(".conf")
        assert said["left"] == [False, False], "the file with the secrets, and the variable that named it"
        assert said["notes_callers"] is False, "each column that Python makes asks Java several times"
        assert said["partitions"] == str(os.cpu_count())
        name = "${env:WRACKLINE_DB_PASSWORD}"
        assert said["odd"][1:] == [name, name, 1]
        assert said["rows"] == [1, 2]
        assert [file.name for file in place.iterdir()] == ["s"]
        kept = place.rename(place.with_name("kept"))  # only what an older version wrote is there
        with pytest.raises(OperatorNeeded) as caught:
            connect.check_place(values(place))
        command = caught.value.hint.partition("metadata: ")[2].partition("; or")[0]
        subprocess.run(command, shell=True, check=True)  # noqa: S602 - as an operator runs it
        child.stdin.write("\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline()) == [1, 2]
        assert (kept / "s" / "t").is_dir()
        assert child.wait(60) == 0
