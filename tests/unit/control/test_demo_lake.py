"""The demo's reader of the copy as a child process, played by a script."""

import sys
from pathlib import Path

import pytest

from wrackline.control.local.demo.parts import lake
from wrackline.control.local.demo.parts.comparison import CopyComparison
from wrackline.control.local.demo.parts.lake import LakeProcess

ANSWER = '{"verdict": {"rows": 2, "columns": 3, "missing": [%s], "surplus": [], "changed": [], "absent": []}}'
SCRIPT = """#!/bin/sh
read asked; echo '{first}'
read asked; echo '{second}'
cat
"""


def test_each_comparison_is_of_what_is_there_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row may be on its way at the first one; the demo then compares again."""
    script = tmp_path / "python"
    script.write_text(SCRIPT.format(first=ANSWER % '"7"', second=ANSWER % ""))
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(lake, "java_environment", dict)
    with LakeProcess("iceberg", tmp_path / "lake", tmp_path / "pipeline.toml") as process:
        assert process.compare() == CopyComparison(2, 3, missing=("7",))
        assert process.compare() == CopyComparison(2, 3)
