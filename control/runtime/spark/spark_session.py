"""The Spark session of a pipeline, with the jars that its reader and its target need.

In: the pipeline's settings.  Out: a session until the block is left, from one of three places.

    here           our own Java, in local mode or as a cluster's client; its output goes to a file or nowhere,
                   so that the standard output is only ours
    spark-submit   the Java that started us; the jars are those that it got
    spark.remote   a Spark server, by Spark Connect; the jars are the server's
"""

import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from wrackline.consumers.contract.target import SparkNeeds, SparkTarget, load_target
from wrackline.consumers.spark import sessions
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import spark_jars
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values
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


def jars_of(needs: SparkNeeds) -> tuple[Coordinate, ...]:
    """Return the jars that a pipeline's Spark needs: Kafka's reader, Avro, and the target's."""
    return (SPARK_KAFKA, SPARK_AVRO, *needs.jars)


@contextmanager
def open_session(
    values: Values, jars: Sequence[Coordinate], needed: Mapping[str, str], log: Path | None
) -> Iterator[SparkSession]:
    """Open Spark as the pipeline's settings and the way we were started require; it ends with the block."""
    given = {f"spark.{named['rest']}": value for named, value in values.family("spark.<rest>")}
    remote = given.pop("spark.remote", None)
    told = {name: str(value) for name, value in given.items()}
    if isinstance(remote, Secret):
        if sessions.is_submitted():
            both = BOTH()
            raise both
        with _connect(remote.reveal(), needed, told) as session:
            yield session
        return
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # its error already reports a broken connection
    if sessions.is_submitted():
        session = sessions.join(needed, told)
    else:
        os.environ["JAVA_HOME"] = str(java.find_java().home)
        files = spark_jars(jars)
        with _java_prints_to(log):
            session = sessions.start(files, needed, told, name=f"wrackline-{values.text('name')}")
    try:
        yield session
    finally:
        sessions.end(session)


@contextmanager
def open_target(values: Values, kind: str, log: Path | None) -> Iterator[tuple[SparkSession, SparkTarget]]:
    """Start the Spark that a pipeline's target needs, and open the target; both end with the block."""
    target = load_target(kind)
    needs = target.needs(values)
    with ExitStack() as opened:
        session = opened.enter_context(open_session(values, jars_of(needs), needs.conf, log))
        place = target.open(values, session)
        opened.callback(place.close)
        yield session, place


def _connect(
    url: str, needed: Mapping[str, str], given: Mapping[str, str]
) -> AbstractContextManager[SparkSession]:
    try:  # here, because a pipeline with its own Spark needs no Connect client
        from wrackline.consumers.spark.remote_session import connect  # noqa: PLC0415
    except ModuleNotFoundError as exc:
        raise CLIENT_MISSING(module=exc.name) from exc
    return connect(url, needed, given)


@contextmanager
def _java_prints_to(log: Path | None) -> Iterator[None]:
    """Redirect both outputs to the file for a child that starts meanwhile, and restore ours afterwards."""
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
