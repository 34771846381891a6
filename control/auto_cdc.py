"""A pipeline in Python over feeds that other programs wrote, run by `python` or by `spark-submit`.

    with feeds("feeds.toml") as flows:
        flows.view(topic="legacy.customers")(customers)  # a function: records in, columns out
        flows.create_auto_cdc_flow("legacy.sales.customers", "customers", ["id"], sequence_by="at")
        flows.run()

The file is like a pipeline's file without the source and the registry: `name`, `[kafka]`, `[target]`,
`[consume]`, `[spark]`.  docs/auto-cdc.md has a whole script.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from wrackline.consumers.auto_cdc.flow_batch import FlowReadSettings
from wrackline.consumers.auto_cdc.flows import Flows
from wrackline.consumers.contract.target import SparkTarget, TargetPlugin, load_target
from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.topic_offsets import Ends, TopicOffsets
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.logs.libraries import log_libraries
from wrackline.control.runtime.logs.lines import as_json, log_to
from wrackline.control.runtime.running.batch_rules import most_letters
from wrackline.control.runtime.running.consumer_log import ConsumerLog
from wrackline.control.runtime.running.consumer_loop import ConsumerLoop
from wrackline.control.runtime.spark.spark_session import jars_of, open_session
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.pipelines.pipeline import UNKNOWN_KIND, parse, read_file
from wrackline.schemas.settings.declared.core_settings import FEEDS
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values

FILE = define(
    "auto_cdc.file",
    OperatorNeeded,
    "{file} is not a pipeline of feeds: {faults}",
    hint="it has name, [kafka], [target], [consume] and [spark]; what each takes: wrackline settings <name>",
)


class Feeds(Flows):
    """The flows of one file."""

    def __init__(self, session: SparkSession, target: SparkTarget, values: Values) -> None:
        given = values.below("kafka.")
        how = FlowReadSettings(
            spark_options(given),
            values.text("target.column.prefix"),
            values.integer("consume.max.offsets.per.trigger"),
            most_letters(values),
        )
        self._figures = ConsumerFigures("")
        super().__init__(session, TopicOffsets(client_settings(given)), target, how, self._figures.batch)
        self._values, self._place = values, target

    def run(self, *, once: bool = False, json: bool | None = None) -> None:
        """Merge until asked to stop; or once to where the topics are now, and raise what failed.

        Unless `json` says so, it prints text on a terminal and JSON lines elsewhere.
        """
        log = log_to(sys.stdout, for_programs=as_json(asked=json)).bind(pipeline=self._values.text("name"))
        teller = ConsumerLog(log, self._figures, shows_letters="flows.letters('{table}')")
        driven = ConsumerLoop(self._values, self._place, self._figures, teller)
        with log_libraries(log, self._values.redactor.clean):
            failed = driven.drive(self._look, self.merge, once=once)
        for error in failed:
            raise error

    def _look(self) -> Ends:
        ends = self.look()
        self._figures.take_ends(ends)
        return ends


@contextmanager
def feeds(
    file: str | Path, *, session: SparkSession | None = None, spark_log: Path | None = None
) -> Iterator[Feeds]:
    """Open a file's target; a session of the caller's own has the target's catalogue, and stays open."""
    target, values = _read(Path(file))
    with ExitStack() as opened:
        if session is None:
            needs = target.needs(values)
            session = opened.enter_context(open_session(values, jars_of(needs), needs.conf, spark_log))
        place = target.open(values, session)
        opened.callback(place.close)
        yield Feeds(session, place, values)


def _read(file: Path) -> tuple[TargetPlugin, Values]:
    given, faults = parse(read_file(file), str(file))
    kind = given.get("target.kind", "")
    kinds = Installed().kinds("target")
    if kind not in kinds:
        raise UNKNOWN_KIND(side="target", kind=kind or "(none)", meant="", kinds=", ".join(kinds))
    target = load_target(kind)
    allowed = Allowed.from_environment(os.environ).widened_by(given)
    found = SettingsRegistry(FEEDS, target.settings).read(given, Resolver(allowed.of_the_owner(), os.environ))
    problems = [one.error.sentence for one in (*faults, *found.problems) if not one.warning]
    if problems or found.values is None:
        raise FILE(file=file, faults="; ".join(problems))
    return target, found.values
