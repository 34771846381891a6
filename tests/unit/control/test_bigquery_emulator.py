"""The emulator of BigQuery is installed for the machine that it is to run on."""

import subprocess
import venv
from pathlib import Path

import pytest

from wrackline.control.local.emulators import bigquery


@pytest.mark.parametrize("machine", ["linux_amd64", "linux_arm64"])
def test_the_extension_lies_where_duckdb_of_this_machine_looks_for_it(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extension = "spatial.duckdb_extension"

    def install(command: list[str], **_: object) -> None:
        assert "duckdb-extension-spatial==1.5.5" in command
        folder = tmp_path / "lib/python3/site-packages/duckdb_extension_spatial/extensions/v1.5.5"
        folder.mkdir(parents=True)
        (folder / extension).write_bytes(b"for this machine")

    monkeypatch.setattr(venv, "create", lambda *_, **__: None)
    monkeypatch.setattr(subprocess, "run", install)
    monkeypatch.setattr(subprocess, "check_output", lambda *_, **__: f"{machine}\n")
    bigquery._install(tmp_path)
    assert (tmp_path / ".duckdb/extensions/v1.5.5" / machine / extension).read_bytes() == b"for this machine"
