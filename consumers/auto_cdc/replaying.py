"""A feed's dead letters tried again by the flows that are there now: what they can read is merged.

In: a table, and the flows into it.  Out: how many letters went in, and why the others did not.  They go the
way of every record, so an older event never wins, and no offset moves.  A letter is removed once all flows
that read its topic have merged it; one whose topic no flow reads stays.
"""

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.account import Stopwatch
from wrackline.consumers.auto_cdc.batch import FlowBatch, flow_errors
from wrackline.consumers.letters import Letter, LetterBox, Spot
from wrackline.consumers.replay import Replayed, replayed
from wrackline.consumers.rounds import Range
from wrackline.consumers.spark_letters import as_frame
from wrackline.schemas.table import TableId

_NO_FLOW = "no flow reads its topic into this table"


def replay(
    session: SparkSession, table: TableId, box: LetterBox, batches: Collection[tuple[str, FlowBatch]]
) -> Replayed:
    """Merge what can be merged of a table's letters; each batch comes with the topic that it reads."""

    def merge(topic: str, block: Sequence[Letter]) -> dict[Spot, str]:
        readers = [batch for name, batch in batches if name == topic]
        why = {} if readers else {letter.spot: _NO_FLOW for letter in block}
        for batch in readers:
            why |= _merged(session.newSession(), topic, block, batch)
        return why

    return replayed(box, table, merge)


def _merged(session: SparkSession, topic: str, block: Sequence[Letter], batch: FlowBatch) -> dict[Spot, str]:
    """Merge a block's letters by one flow; return why some of it can't be."""
    why: dict[Spot, str] = {}
    for letter in block:
        error = batch.wrong(_records(session, [letter]))
        if error is not None:
            why[letter.spot] = f"{error.sentence} ({error.code})"
    good = [letter for letter in block if letter.spot not in why]
    if good:
        with flow_errors(batch.flow.target, topic):
            before = batch.target.applied(batch.flow.target)
            batch.merge(_records(session, good), Range(topic, {}, {}), before, Stopwatch())
    return why


def _records(session: SparkSession, letters: Sequence[Letter]) -> DataFrame:
    found = as_frame(session, letters).withColumnRenamed("kept_at", "timestamp")
    return found.select("key", "value", "partition", "offset", "timestamp")
