"""Checks the machine: which of the things exist that a pipeline, the demo and the tests need.

Nothing comes in but the machine itself; facts go out.  It installs and changes nothing.
"""

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from wrackline.control.runtime.ground.installed import others
from wrackline.control.runtime.spark import java
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.versions import PYSPARK_LINE

LEAST_DISK = 6_000_000_000  # as `run` requires: the packages, the servers' jars and a demo's data
LEAST_MEMORY = 4 << 30  # Kafka, a registry, a database and Spark side by side
DEBIAN_POSTGRES = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was checked; `needed` means that nothing runs without it."""

    name: str
    found: str
    good: bool
    hint: str = ""
    needed: bool = False


def examine() -> Iterator[Fact]:
    """Look at one thing after the other."""
    version = platform.python_version()
    yield Fact("Python", version, sys.version_info >= (3, 11), "install Python 3.11 or newer", needed=True)
    system, only = platform.platform(terse=True), "the servers of demo and tests need Linux 5.3 or newer"
    yield Fact("platform", system, hasattr(os, "pidfd_open"), only)
    yield from (
        look() for look in (_java, _pyspark, _compiler, _codec, _librdkafka, _disk, _memory, _postgres)
    )
    yield from _plugins_of_others()


def _java() -> Fact:
    try:
        found = java.find_java()
    except WracklineError as error:
        return Fact("Java", "not found", good=False, hint=error.hint)
    return Fact("Java", f"{found.major} in {found.home}", good=True)


def _pyspark() -> Fact:
    hint = f"wrackline consume needs PySpark {PYSPARK_LINE}: pip install 'pyspark~={PYSPARK_LINE}.0'"
    try:
        version = str(import_module("pyspark").__version__)
    except ImportError:
        return Fact("PySpark", "not found", good=False, hint=hint)
    return Fact("PySpark", version, version.startswith(f"{PYSPARK_LINE}."), hint)


def _compiler() -> Fact:
    configured = (sysconfig.get_config_var("CC") or "").split()
    names = [*configured[:1], "cc", "gcc", "clang"]
    program = next(filter(None, map(shutil.which, names)), None)
    hint = "apt-get install build-essential; the next ./run in the clone compiles the codec"
    return Fact("C compiler", program or "not found", program is not None, hint)


def _codec() -> Fact:
    try:
        compiled = import_module("wrackline.schemas.events.avro_writer").COMPILED
    except ImportError:
        return Fact(
            "codec", "not built", good=False, hint="rm -rf .venv; the next ./run reinstalls it", needed=True
        )
    hint = "apt-get install build-essential; the next ./run in the clone compiles it"
    return Fact("codec", "compiled" if compiled else "plain Python, many times slower", bool(compiled), hint)


def _librdkafka() -> Fact:
    try:
        version = import_module("confluent_kafka").libversion()[0]
    except ImportError:
        return Fact("librdkafka", "not found", good=False, hint="pip install confluent-kafka", needed=True)
    return Fact("librdkafka", str(version), good=True)


def _disk() -> Fact:
    free = shutil.disk_usage(Path.cwd()).free
    return Fact("disk free", _size(free), free >= LEAST_DISK, f"the demo needs about {_size(LEAST_DISK)}")


def _memory() -> Fact:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):  # a platform that does not report it
        return Fact("memory", "not known", good=True)
    return Fact("memory", _size(total), total >= LEAST_MEMORY, f"the demo needs about {_size(LEAST_MEMORY)}")


def _postgres() -> Fact:
    on_path = shutil.which("postgres")
    folders = sorted(DEBIAN_POSTGRES.glob("*/bin/postgres"), key=_major_of_folder)
    program = on_path or next((str(path) for path in reversed(folders)), None)
    hint = "none is needed: the demo and the tests fetch their own"
    return Fact("PostgreSQL", program or "not found", program is not None, hint)


def _plugins_of_others() -> Iterator[Fact]:
    for other in others():
        error = other.error()
        wrong = "" if error is None else f": {error.sentence}"
        found = f"{other.package} {other.version}{wrong}"
        hint = "" if error is None else error.hint
        yield Fact(f"{other.side.name} {other.kind}", found, good=error is None, hint=hint)


def _major_of_folder(program: Path) -> int:
    name = program.parent.parent.name
    return int(name) if name.isdecimal() else 0


def _size(count: int) -> str:
    return f"{count / 1_000_000_000:.1f} GB"
