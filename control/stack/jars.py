"""Fetches artifacts from Maven Central with the Ivy that ships inside PySpark; no Maven is needed.

In: coordinates. Out: the files, in Ivy's order, with what they depend on. It is right because the only
resolver is Central, so a half-filled local repository can't break it, and because a set of coordinates
counts as fetched only when all its files are there; then no network is touched again.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from wrackline.control.stack.cache import folder, locked
from wrackline.control.stack.java import find
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.versions import Coordinate

JAR_UNKNOWN = define(
    "stack.jar_unknown",
    OperatorNeeded,
    "Maven Central does not give {coordinates}",
    hint="check the version in schemas/versions.py, and the way to Central: less {log}",
)
FETCH_FAILED = define(
    "stack.fetch_failed",
    Transient,
    "fetching {coordinates} from Maven Central did not work",
    hint="check the network, then try again; Ivy's own words: less {log}",
)
PYSPARK_MISSING = define(
    "stack.pyspark_missing",
    OperatorNeeded,
    "PySpark is not installed, and with it the Ivy that fetches jars",
    hint="in the clone: {python} -m pip install -e '.[spark]'",
)

_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir={cache}/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
_MODULE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="wrackline" module="stack"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_PATIENCE = 1200  # seconds; a first fetch over a slow line takes minutes


def fetch(coordinates: Sequence[Coordinate], *, cache: Path | None = None) -> list[Path]:
    """Return the files of these coordinates, from the cache or else from Maven Central."""
    top = cache or folder()
    module, known = _set(coordinates, top)
    if (files := _listed(known)) is not None:
        return files
    with locked(top / "ivy.lock"):  # Ivy's cache has one writer at a time
        if (files := _listed(known)) is None:
            _resolve(coordinates, module, known)
            files = _listed(known)
    if files is None:
        raise FETCH_FAILED(coordinates=_named(coordinates), log=known.with_suffix(".log"))
    return files


def fetched(coordinates: Sequence[Coordinate], *, cache: Path | None = None) -> bool:
    """Whether these coordinates are here, so that no network is needed."""
    return _listed(_set(coordinates, cache or folder())[1]) is not None


def spark_jars(coordinates: Sequence[Coordinate], *, cache: Path | None = None) -> list[Path]:
    """Fetch for Spark's `spark.jars`, without the jars that Spark brings itself."""
    own = {path.name for path in (_pyspark() / "jars").iterdir()}
    return [path for path in fetch(coordinates, cache=cache) if path.name not in own]


def classpath(files: Sequence[Path]) -> str:
    """Join files as Java's -cp wants them."""
    return os.pathsep.join(map(str, files))


def _set(coordinates: Sequence[Coordinate], top: Path) -> tuple[str, Path]:
    """Return Ivy's module for these coordinates, and where the list of its files stands."""
    module = _MODULE.format(dependencies="\n".join(map(_dependency, coordinates)))
    return module, top / "sets" / hashlib.sha256(module.encode()).hexdigest()[:16]


def _listed(known: Path) -> list[Path] | None:
    """Read a fetched set's list; None when it isn't there or a file of it has gone."""
    try:
        files = [Path(name) for name in known.read_text().split(os.pathsep)]
    except FileNotFoundError:
        return None
    return files if all(path.is_file() for path in files) else None


def _resolve(coordinates: Sequence[Coordinate], module: str, known: Path) -> None:
    known.parent.mkdir(parents=True, exist_ok=True)
    settings = known.with_suffix(".settings.xml")
    settings.write_text(_SETTINGS.format(cache=quoteattr(str(known.parent.parent / "ivy"))))
    wanted = known.with_suffix(".xml")
    wanted.write_text(module)
    found = known.with_suffix(".part")
    log = known.with_suffix(".log")
    command = [find().program, "-jar", str(_ivy()), "-settings", str(settings), "-ivy", str(wanted)]
    command += ["-confs", "default", "-cachepath", str(found)]
    with log.open("w") as out:
        try:
            ended = subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, timeout=_PATIENCE, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise FETCH_FAILED(coordinates=_named(coordinates), log=log) from exc
    if ended.returncode != 0:
        unknown = [
            c for c in coordinates if f"{c.group}#{c.artifact};{c.version}: not found" in log.read_text()
        ]
        code = JAR_UNKNOWN if unknown else FETCH_FAILED
        raise code(coordinates=_named(unknown or coordinates), log=log)
    found.write_text(found.read_text().strip())
    found.rename(known)  # the list appears only when it is whole


def _dependency(of: Coordinate) -> str:
    # Maven's scopes: what is needed to run, unless the artifact is wanted alone.
    reach = "default->default" if of.transitive else "default->master"
    artifact = ""
    if of.classifier or of.type != "jar":
        classifier = f" m:classifier={quoteattr(of.classifier)}" if of.classifier else ""
        artifact = f"<artifact name={quoteattr(of.artifact)} type={quoteattr(of.type)}{classifier}/>"
    return (
        f"    <dependency org={quoteattr(of.group)} name={quoteattr(of.artifact)} rev={quoteattr(of.version)}"
        f' conf="{reach}" transitive="{str(of.transitive).lower()}">{artifact}</dependency>'
    )


def _named(coordinates: Sequence[Coordinate]) -> str:
    return ", ".join(map(str, coordinates))


def _ivy() -> Path:
    for path in sorted((_pyspark() / "jars").glob("ivy-*.jar")):
        return path
    raise PYSPARK_MISSING(python=sys.executable)


def _pyspark() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise PYSPARK_MISSING(python=sys.executable)
    return Path(spec.origin).parent
