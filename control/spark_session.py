"""The Spark session of a pipeline, with the jars that its reader and its target need.

What Java prints goes to a file or nowhere, so that the output is ours alone.
"""

import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from wrackline.consumers import plugin, spark
from wrackline.control.stack import java
from wrackline.control.stack.jars import spark_jars
from wrackline.schemas.settings import Values
from wrackline.schemas.versions import SPARK_AVRO, SPARK_KAFKA, Coordinate


def spark_session(
    values: Values, jars: Sequence[Coordinate], needed: Mapping[str, str], log: Path | None
) -> SparkSession:
    """Start Spark as the pipeline's settings say."""
    os.environ["JAVA_HOME"] = str(java.find().home)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # a broken connection is told by its error
    given = {f"spark.{named['rest']}": str(value) for named, value in values.family("spark.<rest>")}
    files = spark_jars(jars)
    with _java_prints_to(log):
        return spark.start(files, needed, given, name=f"wrackline-{values.text('name')}")


@contextmanager
def opened_target(
    values: Values, kind: str, log: Path | None
) -> Iterator[tuple[SparkSession, plugin.SparkTarget]]:
    """Start the Spark that a pipeline's target needs, and open the target; both end with the block."""
    target = plugin.load(kind)
    needs = target.needs(values)
    with ExitStack() as opened:
        session = spark_session(values, (SPARK_KAFKA, SPARK_AVRO, *needs.jars), needs.conf, log)
        opened.callback(spark.end, session)
        place = target.open(values, session)
        opened.callback(place.close)
        yield session, place


@contextmanager
def _java_prints_to(log: Path | None) -> Iterator[None]:
    """Let a child that starts meanwhile have the file for both of its outputs, and us ours again after."""
    sys.stdout.flush()
    with (log or Path(os.devnull)).open("ab") as file:
        ours = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
        try:
            for descriptor in ours:
                os.dup2(file.fileno(), descriptor)
            yield
        finally:
            for descriptor, kept in ours.items():
                os.dup2(kept, descriptor)
                os.close(kept)
