"""`wrackline consume`: one pipeline's topics into its target, in the foreground, until it is asked to stop.

    Spark       spark_session.py says where; what Java prints goes to a file or nowhere, so that the output is
                ours alone
    driver      driving.py, on this thread, which hears SIGTERM and SIGHUP

It runs without the source's half, and the source's half without it.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from wrackline.consumers import topics
from wrackline.consumers.batch import Batches
from wrackline.consumers.evolve import Behaviour
from wrackline.consumers.figures import Figures
from wrackline.consumers.kafka_settings import asking, reading
from wrackline.consumers.looking import Looking
from wrackline.consumers.modes import Keeping
from wrackline.consumers.planning import Rules
from wrackline.consumers.plugin import load
from wrackline.control.consume_boundaries import check_boundaries, whole_transactions
from wrackline.control.consume_telling import Teller
from wrackline.control.driving import Driven, most_letters
from wrackline.control.exits import Exit, exit_of_all
from wrackline.control.lineage.events import Became
from wrackline.control.lineage.runs import told
from wrackline.control.lineage.target_half import heard
from wrackline.control.logs.libraries import libraries_say
from wrackline.control.logs.lines import Log
from wrackline.control.spark_session import opened_target
from wrackline.control.target_alone import target_of
from wrackline.schemas import registry
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.setting_kinds import Value
from wrackline.schemas.settings import Values


def consume(pipeline: Pipeline, log: Log, *, once: bool, spark_log: Path | None) -> Exit:
    """Merge a pipeline that was found good, and return the exit code."""
    values, kind = target_of(pipeline)
    check_boundaries(values)
    server = values.text("topic.prefix")
    figures = Figures(server)
    log = log.bind(pipeline=values.text("name"))
    teller = Teller(log, figures)
    with libraries_say(log, values.redactor.clean), ExitStack() as opened:
        lineage = opened.enter_context(told(values, "consume", log, streams=not once))
        session, place = opened.enter_context(opened_target(values, kind, spark_log))
        Keeping.of(values).check(place.can)
        texts = opened.enter_context(registry.Registry(registry.access(values)))
        given = values.below("kafka.")
        asks = topics.Topics(asking(given))
        bounds = opened.enter_context(whole_transactions(values, session, asks, texts.text))
        hears = heard(lineage, load(kind), values, place.held, figures.batch)
        batches = Batches(session, asks, place, rules(values, given, texts.text), hears, bounds)
        look = Looking(lambda: asks.ends(server), asks.firsts, server, figures, teller.warned)
        failed = list(Driven(values, place, figures, teller).drive(look, batches.merge, once=once))
        if once and look.nothing is not None:
            failed.append(look.nothing)
        if lineage is not None and once:
            lineage.outcome = (Became.FAIL, failed[0]) if failed else (Became.COMPLETE, None)
    return exit_of_all(failed)


def rules(values: Values, kafka: Mapping[str, Value], schema_text: Callable[[int], str]) -> Rules:
    """Return what all batches of a pipeline have in common."""
    return Rules(
        reading(kafka),
        schema_text,
        Behaviour(values.text("target.schema.change.behavior")),
        values.text("target.column.prefix"),
        values.integer("consume.max.offsets.per.trigger"),
        most_letters=most_letters(values),
        keeping=Keeping.of(values),
    )
