"""Java is believed only after it has printed its version."""

import subprocess
from pathlib import Path

import pytest

from wrackline.control.runtime.spark import java
from wrackline.schemas.errors import WracklineError


def _fake(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


def test_java_home_goes_before_path(tmp_path: Path) -> None:
    home, other = _fake(tmp_path / "a", "21.0.8"), _fake(tmp_path / "b", "17.0.15")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert found == java.Java(home, 21)


def test_a_java_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    home, other = _fake(tmp_path / "a", "1.8.0_402"), _fake(tmp_path / "b", "17")
    assert java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}) == java.Java(other, 17)


def test_no_java_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    home = _fake(tmp_path / "a", "11.0.2")
    with pytest.raises(WracklineError) as raised:
        java.find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert raised.value.code == java.JAVA_MISSING.code
    assert f"{home} = 11" in raised.value.sentence


def test_the_wrapper_drops_one_argument_and_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "somebody's runtime"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "bin" / "java").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (runtime / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("WRACKLINE_CACHE", str(tmp_path / "cache"))
    home = java._wrap(runtime)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "*"]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert said.stdout == "-Xmx1g|a b||*|"
