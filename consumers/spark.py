"""The Spark session that consumers work in.

In: jar files, what the target needs, and what the pipeline says of Spark.  Out: a session with the Kafka
reader, Avro and the target's catalogues.  It is right for values because the zone is UTC, names keep their
case, and ANSI rules make a cast that loses something an error; a user's settings change none of these.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark import __version__ as pyspark_version
from pyspark.sql import SparkSession

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import PYSPARK_LINE

WRONG_SPARK = define(
    "spark.wrong_version",
    OperatorNeeded,
    "PySpark {found} is installed; the Kafka, Avro and Iceberg jars are for {wanted}",
    hint="pip install 'pyspark~={wanted}.0'",
)


_LOCAL = re.compile(r"local(?:\[(\d+)[^\]]*\])?$")
_PATIENCE = 20.0  # seconds that Java has to end
_EXACT = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
}
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def start(
    jars: Sequence[Path], needed: Mapping[str, str], given: Mapping[str, str], *, name: str
) -> SparkSession:
    """Start Spark; what is given goes before what is only convenient, and after what makes values right."""
    if not pyspark_version.startswith(f"{PYSPARK_LINE}."):
        raise WRONG_SPARK(found=pyspark_version, wanted=PYSPARK_LINE)
    local = _LOCAL.match(given["spark.master"])
    files = [str(jar.absolute()) for jar in jars]
    if local is None:
        conf = {"spark.jars": ",".join(files)} | _QUIET
    else:  # on the driver's own class path: `spark.jars` would copy every jar at each start
        conf = {"spark.driver.extraClassPath": ":".join(files)} | _QUIET | _HERE
        conf |= {"spark.sql.shuffle.partitions": local[1]} if local[1] else {}
    builder = SparkSession.builder.appName(name)
    for key, value in (conf | dict(needed) | dict(given) | _EXACT).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def end(session: SparkSession) -> None:
    """Stop Spark and wait until its Java has gone, with its temporary files."""
    gateway = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no other way to its process
    with suppress(Py4JError, OSError):  # it may have gone by itself
        session.stop()
    if gateway is not None:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
        gateway.proc.stdin.close()
        try:
            gateway.proc.wait(_PATIENCE)
        except TimeoutExpired:
            gateway.proc.kill()
            gateway.proc.wait()
