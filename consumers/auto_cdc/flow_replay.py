"""A feed's dead letters tried again by the flows that are there now: what they can read is merged.

In: a table, and the flows into it.  Out: how many letters went in, and why the others did not.  They go the
way of every record, so an older event never wins, and no offset moves.  A letter is removed once all flows
that read its topic have merged it; one whose topic no flow reads stays.
"""

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.auto_cdc.flow_batch import FlowBatch, flow_errors
from wrackline.consumers.batch.replay import ReplayResult, replay_blocks
from wrackline.consumers.batch.report import Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.letters import DeadLetter, LetterBox, RecordPosition
from wrackline.consumers.lake.letters_table import letters_frame
from wrackline.schemas.tables.table import TableId

_NO_FLOW = "no flow reads its topic into this table"


def replay_letters(
    session: SparkSession, table: TableId, box: LetterBox, batches: Collection[tuple[str, FlowBatch]]
) -> ReplayResult:
    """Merge what can be merged of a table's letters; each batch comes with the topic that it reads."""

    def merge(topic: str, block: Sequence[DeadLetter]) -> dict[RecordPosition, str]:
        readers = [batch for name, batch in batches if name == topic]
        why = {} if readers else {letter.spot: _NO_FLOW for letter in block}
        for batch in readers:
            why |= _merge_block(session.newSession(), topic, block, batch)
        return why

    return replay_blocks(box, table, merge)


def _merge_block(
    session: SparkSession, topic: str, block: Sequence[DeadLetter], batch: FlowBatch
) -> dict[RecordPosition, str]:
    """Merge a block's letters by one flow; return why some of it can't be."""
    why: dict[RecordPosition, str] = {}
    for letter in block:
        error = batch.wrong(_records(session, [letter]))
        if error is not None:
            why[letter.spot] = f"{error.sentence} ({error.code})"
    good = [letter for letter in block if letter.spot not in why]
    if good:
        with flow_errors(batch.flow.target, topic):
            before = batch.target.applied(batch.flow.target)
            batch.merge(_records(session, good), BatchRange(topic, {}, {}), before, Stopwatch())
    return why


def _records(session: SparkSession, letters: Sequence[DeadLetter]) -> DataFrame:
    found = letters_frame(session, letters).withColumnRenamed("kept_at", "timestamp")
    return found.select("key", "value", "partition", "offset", "timestamp")
