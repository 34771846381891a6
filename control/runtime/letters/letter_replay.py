"""Tries a pipeline's dead letters again, for the command line: opens all that a batch needs.

In: a pipeline that was found good.  Out: the result of a replay for each table's letters.  A table that fails
does not affect others, as in `wrackline consume`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.batch.replay import ReplayResult, replay
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.kafka.client_settings import client_settings
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.control.runtime.ground.exits import Exit, exit_of_all
from wrackline.control.runtime.letters.letters import LettersService
from wrackline.control.runtime.running.batch_rules import batch_rules
from wrackline.control.runtime.spark.spark_session import open_target
from wrackline.control.runtime.spark.target_access import target_of
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import schema_registry
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.tables.table import TableId


@dataclass(slots=True)
class LetterReplays:
    """The replays of one pipeline."""

    desk: LettersService
    session: SparkSession
    target: SparkTarget
    rules: BatchRules
    failed: list[WracklineError] = field(default_factory=list)
    left: int = 0

    @property
    def exit(self) -> Exit:
        """The exit code so far: letters that stay need an operator."""
        return max(exit_of_all(self.failed), Exit.OPERATOR if self.left else Exit.OK)

    def replay(self, table: TableId) -> ReplayResult:
        """Merge what can be merged of a table's letters."""
        try:
            done = replay(self.session, table, self.target, self.rules)
        except WracklineError as error:
            self.failed.append(error)
            return ReplayResult(0, {})
        self.left += sum(done.left.values())
        return done


@contextmanager
def open_replays(pipeline: Pipeline) -> Iterator[LetterReplays]:
    """Open all that letters need to become rows."""
    values, kind = target_of(pipeline)
    with ExitStack() as opened:
        session, target = opened.enter_context(open_target(values, kind, None))
        texts = opened.enter_context(schema_registry.RegistryClient(schema_registry.registry_access(values)))
        given = values.below("kafka.")
        desk = LettersService(
            target.letters,
            TopicOffsets(client_settings(given)),
            values.text("topic.prefix"),
            naming_of(values),
        )
        yield LetterReplays(desk, session, target, batch_rules(values, given, texts.text))
