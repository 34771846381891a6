"""A pipeline in Python over feeds that no worker of ours wrote, run by `python` or by `spark-submit`.

    with feeds("feeds.toml") as flows:
        flows.view(topic="legacy.customers")(customers)  # a function: records in, columns out
        flows.create_auto_cdc_flow("legacy.sales.customers", "customers", ["id"], sequence_by="at")
        flows.run()

The file has what a pipeline's file has but for the source and the registry: `name`, `[kafka]`, `[target]`,
`[consume]`, `[spark]`.  docs/auto-cdc.md has a whole script.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from wrackline.consumers import plugin, topics
from wrackline.consumers.auto_cdc.batch import Reading
from wrackline.consumers.auto_cdc.flows import Flows
from wrackline.consumers.figures import Figures
from wrackline.consumers.kafka_settings import asking, reading
from wrackline.consumers.topics import Ends
from wrackline.control.consume_telling import Teller
from wrackline.control.driving import Driven, most_letters
from wrackline.control.installed import Installed
from wrackline.control.logs.libraries import libraries_say
from wrackline.control.logs.lines import as_json, log_to
from wrackline.control.spark_session import jars_of, spark_session
from wrackline.schemas.core_settings import FEEDS
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.pipeline import UNKNOWN_KIND, parse, read_file
from wrackline.schemas.secret_refs import Allowed, Resolver
from wrackline.schemas.setting_kinds import split_list
from wrackline.schemas.settings import Registry, Values

FILE = define(
    "auto_cdc.file",
    OperatorNeeded,
    "{file} is no pipeline of feeds: {faults}",
    hint="it has name, [kafka], [target], [consume] and [spark]; what each takes: wrackline settings <name>",
)


class Feeds(Flows):
    """The flows of one file."""

    def __init__(self, session: SparkSession, target: plugin.SparkTarget, values: Values) -> None:
        given = values.below("kafka.")
        how = Reading(
            reading(given),
            values.text("target.column.prefix"),
            values.integer("consume.max.offsets.per.trigger"),
            most_letters(values),
        )
        self._figures = Figures("")
        super().__init__(session, topics.Topics(asking(given)), target, how, self._figures.batch)
        self._values, self._place = values, target

    def run(self, *, once: bool = False, json: bool | None = None) -> None:
        """Merge until asked to stop; or once to where the topics are now, and raise what failed.

        Unless `json` says so, it prints text on a terminal and JSON lines elsewhere.
        """
        log = log_to(sys.stdout, for_programs=as_json(asked=json)).bind(pipeline=self._values.text("name"))
        teller = Teller(log, self._figures, shows_letters="flows.letters('{table}')")
        driven = Driven(self._values, self._place, self._figures, teller)
        with libraries_say(log, self._values.redactor.clean):
            failed = driven.drive(self._look, self.merge, once=once)
        for error in failed:
            raise error

    def _look(self) -> Ends:
        ends = self.look()
        self._figures.looked(ends)
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
            session = opened.enter_context(spark_session(values, jars_of(needs), needs.conf, spark_log))
        place = target.open(values, session)
        opened.callback(place.close)
        yield Feeds(session, place, values)


def _read(file: Path) -> tuple[plugin.TargetPlugin, Values]:
    given, faults = parse(read_file(file), str(file))
    kind = given.get("target.kind", "")
    kinds = Installed().kinds("target")
    if kind not in kinds:
        raise UNKNOWN_KIND(side="target", kind=kind or "(none)", meant="", kinds=", ".join(kinds))
    target = plugin.load(kind)
    allowed = Allowed.from_environment(os.environ).widened(
        split_list(given.get("secrets.allow.env", "")), split_list(given.get("secrets.allow.folders", ""))
    )
    found = Registry(FEEDS, target.settings).read(given, Resolver(allowed.of_the_owner(), os.environ))
    problems = [one.error.sentence for one in (*faults, *found.problems) if not one.warning]
    if problems or found.values is None:
        raise FILE(file=file, faults="; ".join(problems))
    return target, found.values
