"""`wrackline consume`: one pipeline's topics into its target, in the foreground, until it is asked to stop.

    Spark       started here, in local mode unless spark.master says otherwise; what Java prints goes to a
                file or nowhere, so that the output is ours alone
    driver      consumers/driver.py, on this thread
    SIGTERM     the batches under way have LAST_WORD seconds to end, then they are let go: what was not
                committed is merged again by the next start
    SIGHUP      tables that stopped are tried again

It runs without the source's half, and the source's half without it.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from wrackline.consumers import plugin, spark, topics
from wrackline.consumers.batch import Batches
from wrackline.consumers.driver import Driver, Pace, Wish
from wrackline.consumers.evolve import Behaviour
from wrackline.consumers.kafka_settings import asking, reading
from wrackline.consumers.planning import Rules
from wrackline.consumers.standing import Patience
from wrackline.consumers.tending import Tending, Upkeep
from wrackline.consumers.writers import table_id
from wrackline.control.consume_telling import Teller
from wrackline.control.exits import Exit, exit_of
from wrackline.control.run import asked_to_stop
from wrackline.control.stack import java
from wrackline.control.stack.jars import spark_jars
from wrackline.schemas import registry
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.setting_kinds import Value
from wrackline.schemas.settings import Values
from wrackline.schemas.versions import SPARK_AVRO, SPARK_KAFKA, Coordinate

LAST_WORD = 20.0  # seconds for what was begun, once it is asked to stop
_OUTAGES = frozenset({topics.KAFKA_UNREACHABLE.code, registry.UNREACHABLE.code})

NO_TARGET = define(
    "consume.no_target",
    OperatorNeeded,
    "the pipeline {pipeline} has no target: it ends in Kafka",
    hint='name one in the file: [target] kind = "iceberg"; what there is: wrackline settings target.kind',
)


def consume(pipeline: Pipeline, *, once: bool, json: bool, spark_log: Path | None) -> int:
    """Merge a pipeline that was found good, and return the exit code."""
    values = pipeline.values
    if values is None:
        raise ValueError("a pipeline with errors does not run")
    if pipeline.target is None:
        raise NO_TARGET(pipeline=values.text("name"))
    teller = Teller(values.text("name"), json=json)
    with ExitStack() as opened:
        target = plugin.load(pipeline.target)
        needs = target.needs(values)
        session = _session(values, (SPARK_KAFKA, SPARK_AVRO, *needs.jars), needs.conf, spark_log)
        opened.callback(spark.end, session)
        asked = opened.enter_context(asked_to_stop())  # after Spark, which hears SIGINT by itself
        resumed = opened.enter_context(_asked_to_resume())
        place = target.open(values, session)
        opened.callback(place.close)
        texts = opened.enter_context(registry.Registry(registry.access(values)))
        given = values.below("kafka.")
        asks = topics.Topics(asking(given))
        batches = Batches(session, asks, place, _rules(values, given, texts.text))
        server = values.text("topic.prefix")
        tending = Tending(_upkeep(place, values), values.integer("consume.upkeep.interval.ms") / 1000)
        driver = Driver(lambda: asks.ends(server), batches.merge, _pace(values), teller, tending)
        teller.begins(pipeline.target, os.getpid())
        if once:
            failed = driver.once()
            teller.ends(whole=True)
            return _exit(failed)
        whole = driver.run(lambda: Wish.STOP if asked() else Wish.RESUME if resumed() else Wish.GO_ON)
        teller.ends(whole=whole)
    return Exit.OK


def _session(
    values: Values, jars: Sequence[Coordinate], needed: Mapping[str, str], log: Path | None
) -> SparkSession:
    os.environ["JAVA_HOME"] = str(java.find().home)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # a broken connection is told by its error
    given = {f"spark.{named['rest']}": str(value) for named, value in values.family("spark.<rest>")}
    files = spark_jars(jars)
    with _java_prints_to(log):
        return spark.start(files, needed, given, name=f"wrackline-{values.text('name')}")


def _rules(values: Values, kafka: Mapping[str, Value], schema_text: Callable[[int], str]) -> Rules:
    return Rules(
        reading(kafka),
        schema_text,
        Behaviour(values.text("target.schema.change.behavior")),
        values.text("target.column.prefix"),
        values.integer("consume.max.offsets.per.trigger"),
    )


def _pace(values: Values) -> Pace:
    in_all = values.integer("errors.retry.timeout")
    most_wait = values.integer("errors.retry.delay.max.ms") / 1000
    return Pace(
        values.integer("consume.trigger.interval.ms") / 1000,
        values.integer("consume.parallel.tables"),
        Patience(most_wait, None if in_all < 0 else in_all / 1000, _OUTAGES),
        LAST_WORD,
    )


def _upkeep(place: plugin.SparkTarget, values: Values) -> Upkeep:
    retention_ms = values.integer("consume.delete.retention.ms")

    def upkeep(topic: str) -> None:
        place.upkeep(table_id(topic), forget_before_ms=time.time_ns() // 1_000_000 - retention_ms)

    return upkeep


def _exit(errors: Sequence[WracklineError]) -> int:
    """Return the code of what is hardest to mend."""
    return max(map(exit_of, errors), default=Exit.OK)


@contextmanager
def _asked_to_resume() -> Iterator[Callable[[], bool]]:
    """Hear SIGHUP; each is answered once."""
    heard: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda caught, _: heard.append(caught))

    def asked() -> bool:
        return bool(heard and heard.pop())

    try:
        yield asked
    finally:
        signal.signal(signal.SIGHUP, before)


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
