"""Fetches artifacts from Maven Central with the Ivy that ships inside PySpark; no Maven is needed.

In: coordinates. Out: the files, in Ivy's order, with what they depend on. It is right because the only
resolver is Central, so a half-filled local repository can't break it, and because a set of coordinates counts
as fetched only if all its files exist; then the network is not used again. A file is returned only if it has
the sha256 that schemas/jar_hashes.py lists, whether it was fetched now or long ago.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache as remembered
from pathlib import Path
from xml.sax.saxutils import quoteattr

from wrackline.control.runtime.spark.cache import folder, hold_lock
from wrackline.control.runtime.spark.java import find_java
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.jar_hashes import SHA256
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
JAR_ALTERED = define(
    "stack.jar_altered",
    OperatorNeeded,
    "{file} is not the file that schemas/jar_hashes.py names",
    hint="delete it, so that it is fetched again: rm {file}; if the error comes again, the file is replaced"
    " on its way from Maven Central",
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
# what Ivy logs of a server that it did not reach, or that has a fault; it logs "not found" of the jar, too
_CUT_OFF = ("Server access error at url", " not found. url=", "SERVER ERROR: ")


def fetch(coordinates: Sequence[Coordinate], *, cache: Path | None = None) -> list[Path]:
    """Return the files of these coordinates, from the cache or else from Maven Central."""
    files = fetch_unverified(coordinates, cache=cache)
    for file in files:
        if sha256(file) != SHA256.get(jar_name(file)):
            raise JAR_ALTERED(file=file)
    return files


def fetch_unverified(coordinates: Sequence[Coordinate], *, cache: Path | None = None) -> list[Path]:
    """Do the same without a check of the files' content."""
    top = cache or folder()
    module, known = _set(coordinates, top)
    files = _read_list(known)
    if files is None:
        with hold_lock(top / "ivy.lock"):  # Ivy's cache has one writer at a time
            if (files := _read_list(known)) is None:
                _resolve(coordinates, module, known)
                files = _read_list(known)
    if files is None:
        raise FETCH_FAILED(coordinates=_text_of(coordinates), log=known.with_suffix(".log"))
    return files


def jar_name(file: Path) -> str:
    """Name a file of Ivy's cache by its group and its own name."""
    return f"{file.parents[2].name}/{file.name}"


def sha256(file: Path) -> str:
    """Return a file's hash; a file that has not changed is not read twice in a process."""
    told = file.stat()
    return _sha256(file, told.st_size, told.st_mtime_ns)


@remembered
def _sha256(file: Path, _size: int, _changed: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def are_fetched(coordinates: Sequence[Coordinate], *, cache: Path | None = None) -> bool:
    """Whether these coordinates are in the cache, so that no network is needed."""
    return _read_list(_set(coordinates, cache or folder())[1]) is not None


def spark_jars(coordinates: Sequence[Coordinate], *, cache: Path | None = None) -> list[Path]:
    """Fetch for Spark's `spark.jars`, without the jars that Spark brings itself."""
    own = {path.name for path in (_pyspark() / "jars").iterdir()}
    return [path for path in fetch(coordinates, cache=cache) if path.name not in own]


def classpath(files: Sequence[Path]) -> str:
    """Join files for Java's -cp."""
    return os.pathsep.join(map(str, files))


def _set(coordinates: Sequence[Coordinate], top: Path) -> tuple[str, Path]:
    """Return Ivy's module for these coordinates, and the path of the list of its files."""
    module = _MODULE.format(dependencies="\n".join(map(_dependency, coordinates)))
    return module, top / "sets" / hashlib.sha256(module.encode()).hexdigest()[:16]


def _read_list(known: Path) -> list[Path] | None:
    """Read a fetched set's list; None if it does not exist or one of its files has gone."""
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
    command = [find_java().program, "-jar", str(_ivy()), "-settings", str(settings), "-ivy", str(wanted)]
    command += ["-confs", "default", "-cachepath", str(found)]
    with log.open("w") as out:
        try:
            ended = subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, timeout=_PATIENCE, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise FETCH_FAILED(coordinates=_text_of(coordinates), log=log) from exc
    if ended.returncode != 0:
        said = log.read_text()
        unknown = [c for c in coordinates if f"{c.group}#{c.artifact};{c.version}: not found" in said]
        if unknown and not any(words in said for words in _CUT_OFF):
            raise JAR_UNKNOWN(coordinates=_text_of(unknown), log=log)
        raise FETCH_FAILED(coordinates=_text_of(coordinates), log=log)
    found.write_text(found.read_text().strip())
    found.rename(known)  # the list appears only once it is whole


def _dependency(of: Coordinate) -> str:
    # Maven's scopes: what is needed to run, unless only the artifact is wanted.
    reach = "default->default" if of.transitive else "default->master"
    artifact = ""
    if of.classifier or of.type != "jar":
        classifier = f" m:classifier={quoteattr(of.classifier)}" if of.classifier else ""
        artifact = f"<artifact name={quoteattr(of.artifact)} type={quoteattr(of.type)}{classifier}/>"
    return (
        f"    <dependency org={quoteattr(of.group)} name={quoteattr(of.artifact)} rev={quoteattr(of.version)}"
        f' conf="{reach}" transitive="{str(of.transitive).lower()}">{artifact}</dependency>'
    )


def _text_of(coordinates: Sequence[Coordinate]) -> str:
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
