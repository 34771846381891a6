"""A pipeline's dead letters tried again, for the command line: all that a batch needs is opened.

In: a pipeline that was found good.  Out: what a replay made of each table's letters.  A table that fails
does so alone, as in `wrackline consume`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from wrackline.consumers.kafka_settings import asking
from wrackline.consumers.planning import Rules
from wrackline.consumers.plugin import SparkTarget
from wrackline.consumers.replay import Replayed, replay
from wrackline.consumers.topics import Topics
from wrackline.control.consume import rules
from wrackline.control.exits import Exit, exit_of_all
from wrackline.control.letters import Desk
from wrackline.control.spark_session import opened_target
from wrackline.control.target_alone import target_of
from wrackline.schemas import registry
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.table import TableId


@dataclass(slots=True)
class Replays:
    """The replays of one pipeline."""

    desk: Desk
    session: SparkSession
    target: SparkTarget
    rules: Rules
    failed: list[WracklineError] = field(default_factory=list)
    left: int = 0

    @property
    def exit(self) -> Exit:
        """The exit code so far: what stays asks for somebody."""
        return max(exit_of_all(self.failed), Exit.OPERATOR if self.left else Exit.OK)

    def replay(self, table: TableId) -> Replayed:
        """Merge what can be merged of a table's letters."""
        try:
            done = replay(self.session, table, self.target, self.rules)
        except WracklineError as error:
            self.failed.append(error)
            return Replayed(0, {})
        self.left += sum(done.left.values())
        return done


@contextmanager
def replays(pipeline: Pipeline) -> Iterator[Replays]:
    """Open all that letters need to become rows."""
    values, kind = target_of(pipeline)
    with ExitStack() as opened:
        session, target = opened.enter_context(opened_target(values, kind, None))
        texts = opened.enter_context(registry.Registry(registry.access(values)))
        given = values.below("kafka.")
        desk = Desk(target.letters, Topics(asking(given)), values.text("topic.prefix"))
        yield Replays(desk, session, target, rules(values, given, texts.text))
