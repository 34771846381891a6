"""The Spark session of a pipeline, with the jars that its reader and its target need.

In: the pipeline's settings.  Out: a session until the block is left, from one of three places.

    here           a Java of our own, in local mode or as a cluster's client; what it prints goes to a file or
                   nowhere, so that the output is ours alone
    spark-submit   the Java that has started us; the jars are those that it was given
    spark.remote   somebody else's, by Spark Connect; the jars are the server's
"""

import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from wrackline.consumers import plugin, spark
from wrackline.control.stack import java
from wrackline.control.stack.jars import spark_jars
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings import Values
from wrackline.schemas.versions import SPARK_AVRO, SPARK_KAFKA, Coordinate

CLIENT_MISSING = define(
    "spark.connect_missing",
    OperatorNeeded,
    "{module} is not installed, and spark.remote is reached with it",
    hint="in the clone: .venv/bin/python -m pip install -e '.[connect]'",
)
BOTH = define(
    "spark.submitted_and_remote",
    OperatorNeeded,
    "spark-submit has started this process, and spark.remote names another Spark",
    hint="take spark.remote out of the file; or start it alone: wrackline consume <pipeline.toml>",
)


def jars_of(needs: plugin.SparkNeeds) -> tuple[Coordinate, ...]:
    """Return what a pipeline's Spark has to have: Kafka's reader, Avro, and what the target needs."""
    return (SPARK_KAFKA, SPARK_AVRO, *needs.jars)


@contextmanager
def spark_session(
    values: Values, jars: Sequence[Coordinate], needed: Mapping[str, str], log: Path | None
) -> Iterator[SparkSession]:
    """Open Spark as the pipeline's settings and who started us say; it ends with the block."""
    given = {f"spark.{named['rest']}": value for named, value in values.family("spark.<rest>")}
    remote = given.pop("spark.remote", None)
    told = {name: str(value) for name, value in given.items()}
    if isinstance(remote, Secret):
        if spark.submitted():
            both = BOTH()
            raise both
        with _connected(remote.reveal(), needed, told) as session:
            yield session
        return
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # a broken connection is told by its error
    if spark.submitted():
        session = spark.join(needed, told)
    else:
        os.environ["JAVA_HOME"] = str(java.find().home)
        files = spark_jars(jars)
        with _java_prints_to(log):
            session = spark.start(files, needed, told, name=f"wrackline-{values.text('name')}")
    try:
        yield session
    finally:
        spark.end(session)


@contextmanager
def opened_target(
    values: Values, kind: str, log: Path | None
) -> Iterator[tuple[SparkSession, plugin.SparkTarget]]:
    """Start the Spark that a pipeline's target needs, and open the target; both end with the block."""
    target = plugin.load(kind)
    needs = target.needs(values)
    with ExitStack() as opened:
        session = opened.enter_context(spark_session(values, jars_of(needs), needs.conf, log))
        place = target.open(values, session)
        opened.callback(place.close)
        yield session, place


def _connected(
    url: str, needed: Mapping[str, str], given: Mapping[str, str]
) -> AbstractContextManager[SparkSession]:
    try:  # here, for who has a Spark of his own needs no client of another's
        from wrackline.consumers.spark_remote import connected  # noqa: PLC0415
    except ModuleNotFoundError as exc:
        raise CLIENT_MISSING(module=exc.name) from exc
    return connected(url, needed, given)


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
