"""`wrackline consume`: one pipeline's topics into its target, in the foreground, until it is asked to stop.

    Spark       started here, in local mode unless spark.master says otherwise; what Java prints goes to a
                file or nowhere, so that the output is ours alone
    driver      consumers/driver.py, on this thread
    SIGTERM     the batches under way have LAST_WORD seconds to end, then they are let go: what was not
                committed is merged again by the next start
    SIGHUP      tables that stopped are tried again

It runs without the source's half, and the source's half without it.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import orjson

from wrackline.consumers import plugin, topics
from wrackline.consumers.batch import Batches
from wrackline.consumers.driver import Driver, Pace, Wish
from wrackline.consumers.evolve import Behaviour
from wrackline.consumers.figures import Figures
from wrackline.consumers.kafka_settings import asking, reading
from wrackline.consumers.looking import Looking
from wrackline.consumers.metrics import families
from wrackline.consumers.modes import Keeping
from wrackline.consumers.planning import Rules
from wrackline.consumers.standing import Patience
from wrackline.consumers.status import document
from wrackline.consumers.tending import Tending, Upkeep
from wrackline.consumers.writers import table_id
from wrackline.control.consume_boundaries import check_boundaries, whole_transactions
from wrackline.control.consume_telling import Teller
from wrackline.control.exits import Exit, exit_of_all
from wrackline.control.run import asked_to_stop
from wrackline.control.scrape_port import HOST, METRICS, STATUS, Page, metrics_page, serving
from wrackline.control.spark_session import opened_target
from wrackline.control.target_alone import target_of
from wrackline.schemas import registry
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.setting_kinds import Value
from wrackline.schemas.settings import Values

LAST_WORD = 20.0  # seconds for what was begun, once it is asked to stop
_OUTAGES = frozenset({topics.KAFKA_UNREACHABLE.code, registry.UNREACHABLE.code})


def consume(pipeline: Pipeline, *, once: bool, json: bool, spark_log: Path | None) -> int:
    """Merge a pipeline that was found good, and return the exit code."""
    values, kind = target_of(pipeline)
    check_boundaries(values)
    server = values.text("topic.prefix")
    figures = Figures(server)
    teller = Teller(values.text("name"), figures, json=json)
    with ExitStack() as opened:
        session, place = opened.enter_context(opened_target(values, kind, spark_log))
        Keeping.of(values).check(place.can)
        asked = opened.enter_context(asked_to_stop())  # after Spark, which hears SIGINT by itself
        resumed = opened.enter_context(asked_to_resume())
        texts = opened.enter_context(registry.Registry(registry.access(values)))
        given = values.below("kafka.")
        asks = topics.Topics(asking(given))
        bounds = opened.enter_context(whole_transactions(values, session, asks, texts.text))
        batches = Batches(session, asks, place, rules(values, given, texts.text), figures.batch, bounds)
        look = Looking(lambda: asks.ends(server), asks.firsts, figures, teller.warned)
        tending = Tending(upkeep(place, values), values.integer("consume.upkeep.interval.ms") / 1000)
        driver = Driver(look, batches.merge, pace(values), teller, tending)
        opened.enter_context(_served(values, kind, figures, teller))
        teller.begins(kind, os.getpid())
        if once:
            failed = driver.once()
            teller.ends(whole=True)
            return exit_of_all(failed)
        whole = driver.run(lambda: Wish.STOP if asked() else Wish.RESUME if resumed() else Wish.GO_ON)
        teller.ends(whole=whole)
    return Exit.OK


@contextmanager
def _served(values: Values, target: str, figures: Figures, teller: Teller) -> Iterator[None]:
    """Serve metrics and status, where a port is named."""
    port, name, began_ms = values.integer("consume.metrics.port"), values.text("name"), _now_ms()
    if not port:
        yield
        return

    def told() -> bytes:
        return orjson.dumps(document(figures, name, target, began_ms, _now_ms()))

    pages = {METRICS: metrics_page(lambda: families(figures)), STATUS: Page("application/json", told)}
    with serving(port, pages, "consume.metrics.port"):
        teller.served(f"http://{HOST}:{port}{METRICS}")
        yield


def rules(values: Values, kafka: Mapping[str, Value], schema_text: Callable[[int], str]) -> Rules:
    """Return what all batches of a pipeline have in common."""
    return Rules(
        reading(kafka),
        schema_text,
        Behaviour(values.text("target.schema.change.behavior")),
        values.text("target.column.prefix"),
        values.integer("consume.max.offsets.per.trigger"),
        most_letters=values.integer("errors.dead.letters.max")
        if values.text("errors.tolerance") == "all"
        else 0,
        keeping=Keeping.of(values),
    )


def pace(values: Values) -> Pace:
    """Return how often and how patiently a pipeline's tables are merged."""
    in_all = values.integer("errors.retry.timeout")
    most_wait = values.integer("errors.retry.delay.max.ms") / 1000
    return Pace(
        values.integer("consume.trigger.interval.ms") / 1000,
        values.integer("consume.parallel.tables"),
        Patience(most_wait, None if in_all < 0 else in_all / 1000, _OUTAGES),
        LAST_WORD,
    )


def upkeep(place: plugin.SparkTarget, values: Values) -> Upkeep:
    """Return what tends a table; its topic is named as ours are."""
    retention_ms = values.integer("consume.delete.retention.ms")

    def tend(topic: str) -> plugin.Upkept:
        return place.upkeep(table_id(topic), forget_before_ms=_now_ms() - retention_ms)

    return tend


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def asked_to_resume() -> Iterator[Callable[[], bool]]:
    """Hear SIGHUP; each is answered once."""
    heard: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda caught, _: heard.append(caught))

    def asked() -> bool:
        return bool(heard and heard.pop())

    try:
        yield asked
    finally:
        signal.signal(signal.SIGHUP, before)
