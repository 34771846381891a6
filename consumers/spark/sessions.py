"""The Spark session that consumers work in.

In: jar files, what the target needs, and what the pipeline says of Spark.  Out: a session with the Kafka
reader, Avro and the target's catalogues.  It is right for values because the zone is UTC, names keep their
case, ANSI rules make a cast that loses something an error, and no name is taken for a variable; a user's
settings change none of these.  No setting is on Java's command line, because every user of the machine may
read that and some settings are passwords: Java reads them from a file of ours, which is then removed.

    start    a Java of our own, with the jars; in this process, or as the client of a cluster
    join     the Java that spark-submit has started, with the jars that it was given
    (remote_session.py has the third way: somebody else's Java, by Spark Connect)
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import NamedTemporaryFile

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # it has no types
from pyspark import SparkConf, SparkContext
from pyspark import __version__ as pyspark_version
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import PYSPARK_LINE

WRONG_SPARK = define(
    "spark.wrong_version",
    OperatorNeeded,
    "PySpark {found} is installed; the Kafka, Avro and Iceberg jars are for {wanted}",
    hint="pip install 'pyspark~={wanted}.0'",
)
PROPERTIES_FILE = define(
    "spark.properties_file",
    OperatorNeeded,
    "PYSPARK_SUBMIT_ARGS names a --properties-file, which would take the place of Wrackline's own",
    hint="take it out of PYSPARK_SUBMIT_ARGS, and write its lines below [spark] in the pipeline's file",
)

_LOCAL = re.compile(r"local(?:\[\s*(\d+|\*)\s*(?:,[^\]]*)?\])?$")
_PATIENCE = 20.0  # seconds that Java has to end
EXACT = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.variable.substitute": "false",  # else a column's name ${env:X} shows the variable X
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_CHEAP = {
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # a batch is in memory for one merge
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else each column asks Java five times
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_GONE = ("INVALID_HANDLE", "NO_ACTIVE_SESSION", "RETRIES_EXCEEDED")
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"  # what PySpark adds to Java's command line
_OF_A_FILE = "--properties-file"
_EXTENSIONS = "spark.sql.extensions"  # the one setting that is a list


def start(
    jars: Sequence[Path], needed: Mapping[str, str], given: Mapping[str, str], *, name: str
) -> SparkSession:
    """Start Spark; what is given overrides what is only convenient, and not what makes values right."""
    check_version()
    local = _LOCAL.match(given["spark.master"])
    files = [str(jar.absolute()) for jar in jars]
    if local is None:
        conf = {"spark.jars": ",".join(files)} | _QUIET
    else:  # on the driver's own class path: `spark.jars` would copy every jar at each start
        conf = {"spark.driver.extraClassPath": ":".join(files)} | _QUIET | _HERE
        conf |= {"spark.sql.shuffle.partitions": str(_cores(local[1]))}
    whole = {"spark.app.name": name} | _CHEAP | conf | merge_settings(needed, given) | EXACT
    _launch(whole)
    return _build(whole)


def _cores(asked: str | None) -> int:
    """Return how many tasks run at a time in local mode: as many as a shuffle has parts."""
    if asked != "*":
        return int(asked or 1)
    return os.cpu_count() or 1


def _launch(conf: Mapping[str, str]) -> None:
    """Start Java with this configuration, unless one is there; it reads a file that only we may read."""
    given = os.environ.get(_ARGUMENTS)
    *options, what = shlex.split(given or "pyspark-shell")
    if any(option.partition("=")[0] == _OF_A_FILE for option in options):
        theirs = PROPERTIES_FILE()
        raise theirs
    with NamedTemporaryFile("w", suffix=".conf", encoding="ascii") as file:  # of mode 0600
        file.writelines(f"{_escape(name)}={_escape(value)}\n" for name, value in conf.items())
        file.flush()
        ours = [_OF_A_FILE, file.name, "--load-spark-defaults"]
        os.environ[_ARGUMENTS] = shlex.join([*ours, *options, what])
        try:
            SparkContext._ensure_initialized()  # noqa: SLF001 - else PySpark puts each setting on the command line
        finally:
            del os.environ[_ARGUMENTS]
            os.environ.update({} if given is None else {_ARGUMENTS: given})


def _escape(text: str) -> str:
    """Write a text for a Java properties file; every letter that is not plain is escaped."""
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(c) if c < 128 and chr(c).isalnum() else f"\\u{c:04x}" for c in codes)


def is_submitted() -> bool:
    """Whether spark-submit has started this process, as PySpark finds it out."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def join(needed: Mapping[str, str], given: Mapping[str, str]) -> SparkSession:
    """Use the Spark that spark-submit has started: its own settings override what is given."""
    check_version()
    SparkContext._ensure_initialized()  # noqa: SLF001 - before a context there is no other way to its settings
    told = dict(SparkConf().getAll())
    return _build(_CHEAP | merge_settings(merge_settings(needed, given), told) | EXACT)


def end(session: SparkSession) -> None:
    """Stop Spark and wait until its Java, if we started it, has gone with its temporary files."""
    gateway = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no other way to its process
    with suppress(Py4JError, OSError):  # it may have gone by itself
        session.stop()
    if gateway is None or gateway.proc is None:
        return
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_PATIENCE)
    except TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
    # else the next session of this process would ask the Java that has gone
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - as above
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001 - as above


def is_gone(exc: BaseException | None) -> bool:
    """Whether Spark, or our session in it, is gone."""
    if isinstance(exc, PySparkException):  # by Spark Connect
        return str(exc.getCondition()).startswith(_GONE)
    return isinstance(exc, Py4JNetworkError)


def check_version() -> None:
    """Refuse a PySpark for which the jars are not made."""
    if not pyspark_version.startswith(f"{PYSPARK_LINE}."):
        raise WRONG_SPARK(found=pyspark_version, wanted=PYSPARK_LINE)


def merge_settings(first: Mapping[str, str], over: Mapping[str, str]) -> dict[str, str]:
    """Put settings over others; extensions of both stay."""
    both = [of[_EXTENSIONS] for of in (first, over) if of.get(_EXTENSIONS)]
    named = dict.fromkeys(part for of in both for part in of.split(","))
    return {**first, **over, **({_EXTENSIONS: ",".join(named)} if named else {})}


def _build(conf: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
