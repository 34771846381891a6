"""What a batch means: from its records, by their outlines, to the plan of its merge.

In: a frame of records, and what its table has applied.  Out: which schemas it was written with, what can't be
read of it, and the plan with the writers whose rows it takes.  Nothing is changed, so the search for the
records that make a batch fail (dead_letter_filter.py) makes the same plan as the merge.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, Row

from wrackline.consumers.batch.evolve import SchemaChangeBehaviour, ShapeChange
from wrackline.consumers.batch.key_change import floor_of_keys
from wrackline.consumers.batch.missing_keys import pairs_without_key
from wrackline.consumers.contract.batch_scope import (
    BatchRange,
    Outline,
    SchemaPair,
    applied_after,
    schema_pairs,
)
from wrackline.consumers.contract.counts import LatestChange
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.modes import ModeSettings, check_key
from wrackline.consumers.contract.plan import Applied, MergePlan, NewestChange, TableMode, plan_merge
from wrackline.consumers.kafka.record_reader import RecordReader
from wrackline.consumers.records.decode import newest_seq, outlines, partial_columns
from wrackline.consumers.records.writer_schema import NOT_OUR_SCHEMA, WriterSchema, read_writer_schema
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka import schema_registry
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.tables.table import TableId

NOT_WIRE_FORMAT = define(
    "consume.not_wire_format",
    OperatorNeeded,
    "topic {topic} holds records that do not begin with a schema id",
    hint="something else writes to the topic too; stop it; look at them:"
    " kcat -b <brokers> -C -t '{topic}' -o -5 -e",
)
BROKEN = define(
    "consume.broken_records",
    OperatorNeeded,
    "{broken} records of topic {topic} are not what their schemas say",
    hint="something else writes to the topic too; stop it, and have these records set aside and the others"
    ' merged: errors.tolerance = "all"; wrackline letters list then says their offsets',
)

KEY_MISSING = define(
    "consume.key_missing",
    OperatorNeeded,
    "{missing} records of topic {topic} have no key, but the rows of table {table} have a key",
    hint="something else writes to the topic, or copies records without their keys; stop it, and set these"
    ' records aside: errors.tolerance = "all"; if the table has lost its key in the source, have its rows'
    " read again: wrackline snapshot start <pipeline.toml> '{table}'",
)

SchemaText = Callable[[int], str]
_SchemaIds = tuple[int | None, int]  # a SchemaPair, for modules that know no outlines
_OF_THE_RECORD = frozenset({NOT_OUR_SCHEMA.code, schema_registry.UNKNOWN_ID.code})  # not of the registry


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What the batches of one pipeline have in common."""

    kafka: Mapping[str, str]  # options of Spark's source
    schema_text: SchemaText
    behaviour: SchemaChangeBehaviour = SchemaChangeBehaviour.EVOLVE
    prefix: str = "_wl_"
    most_offsets: int = 2**63 - 1  # of one batch
    most_letters: int = 0  # dead letters of one table; 0: what can't become a row stops its table
    keeping: ModeSettings = field(default_factory=ModeSettings)
    hold: Callable[[], None] = lambda: None  # raises where a newer consumer merges into the same tables
    reader: RecordReader | None = None  # of small batches; None: Spark reads all
    excluded: Callable[[TableId], Collection[ShapeChange]] = lambda _: ()  # changes that are left undone


@dataclass(slots=True)
class BatchSurvey:
    """What was seen of a batch, before its rows are read."""

    outlines: list[Outline] = field(default_factory=list)
    broken: int = 0  # records that are not what their schema says
    lacking_key: dict[SchemaPair, int] = field(default_factory=dict)  # how many changes of these schemas
    strange: dict[tuple[int | None, int | None], WracklineError] = field(default_factory=dict)
    first: dict[tuple[int | None, int | None], tuple[int, int]] = field(
        default_factory=dict
    )  # of the strange

    @property
    def latest(self) -> LatestChange | None:
        """The newest change that came from the log."""
        return max((one.latest for one in self.outlines if one.latest is not None), default=None)

    @property
    def truncates(self) -> int:
        """How often the table was emptied."""
        return sum(one.truncates for one in self.outlines)

    def check(self, topic: str) -> None:
        """Refuse a batch if one of its records can't be read."""
        for pair, error in self.strange.items():
            raise _with_place(error, topic, *self.first[pair])
        if self.broken:
            raise BROKEN(topic=topic, broken=self.broken)
        if self.lacking_key:
            raise KEY_MISSING(topic=topic, table=table_of(topic), missing=sum(self.lacking_key.values()))


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """A batch's plan, before the target is asked about its table."""

    plan: MergePlan
    writers: Mapping[
        Any, WriterSchema
    ]  # by pair of schemas; what was sent under another key lies below the floor
    rekeyed: bool


def survey(topic: str, records: DataFrame, before: Applied, schema_text: SchemaText) -> BatchSurvey:
    """Look at all records by pair of schemas; a pair whose schemas can't be had is listed with the error."""
    known = before.newest
    texts = {} if known is None else {known.value_id: schema_text(known.value_id)}
    unknown: dict[int, WracklineError] = {}
    while True:  # twice at most: once more when the batch was written with schemas not seen before
        rows = outlines(records, texts, newest_seq(before)).collect()
        new = {row["value_id"] for row in rows if row["newest"] is None} - {None, *unknown}
        if not new:
            break
        for value_id in new:
            try:
                text = schema_text(value_id)
                read_writer_schema(topic, None, text)  # raises if it is not one of ours
            except WracklineError as error:
                unknown[value_id] = _error_of_record(error)
            else:
                texts[value_id] = text
    seen = BatchSurvey()
    for row in rows:
        pair = (row["key_id"], row["value_id"])
        fault = unknown.get(row["value_id"]) or _fault_of_key(topic, row, schema_text)
        if fault is not None:
            seen.strange[pair], seen.first[pair] = fault, (row["first"][0], row["first"][1])
            continue
        seen.broken += row["broken"]
        seen.outlines.append(
            Outline(
                SchemaPair(*pair),
                row["newest"],
                row["floor"],
                row["changes"],
                row["truncates"],
                frozenset(row["unsent"]),
                None if row["latest"] is None else LatestChange(*row["latest"]),
                row["oldest"],
            )
        )
    _mark_missing_keys(topic, seen, before, schema_text)
    return seen


def plan_batch(
    seen: BatchSurvey, wanted: BatchRange, before: Applied, identifiers: Identifiers, rules: BatchRules
) -> BatchPlan | None:
    """Plan the merge of what can be read; None: it has no row, and no row came before it."""
    topic, keeping = wanted.topic, rules.keeping
    of_rows = keeping.mode is TableMode.UPSERT
    # where events are kept a truncate is one of them, and voids nothing
    truncating = set() if of_rows else {one.pair for one in seen.outlines if one.floor is not None}
    outlined = seen.outlines if of_rows else [replace(one, floor=None) for one in seen.outlines]
    upto = applied_after(before, topic, wanted.end, outlined)
    if upto.newest is None:
        return None
    used = schema_pairs(upto, outlined) | schema_pairs(before, ()) | truncating
    writers = {pair: writer_schema_of(topic, pair, rules.schema_text) for pair in used}
    newest = writers[_pair(upto.newest)]
    told = {NewestChange(one.newest, *one.pair) for one in seen.outlines if one.changes} | {upto.newest}
    told |= set() if before.newest is None else {before.newest}
    void = floor_of_keys(told, lambda one: _key(writers[_pair(one)]))
    if keeping.mode is TableMode.HISTORY:
        check_key(newest.table.id, before, void)
    if keeping.mode is not TableMode.APPEND:
        upto = upto.then(Applied(floor=void))
    rekeyed = before.newest is not None and _key(writers[_pair(before.newest)]) != _key(newest)
    plan = plan_merge(
        newest.table, identifiers, upto, prefix=rules.prefix, mode=keeping.mode, deletes=keeping.deletes
    )
    changing = schema_pairs(upto, outlined)
    taken: dict[_SchemaIds, WriterSchema] = {
        pair: one
        for pair, one in writers.items()
        if (pair in changing and (keeping.mode is TableMode.APPEND or _key(one) == _key(newest)))
        or pair in truncating - changing
    }
    unsent: dict[_SchemaIds, frozenset[str]] = {one.pair: one.unsent for one in seen.outlines}
    plan = replace(
        plan,
        since=before,
        truncated=any(one.floor is not None for one in seen.outlines),
        lacking=frozenset(partial_columns(unsent, taken, plan)) if of_rows else None,
    )
    return BatchPlan(plan, taken, rekeyed)


def _mark_missing_keys(topic: str, seen: BatchSurvey, before: Applied, schema_text: SchemaText) -> None:
    def key_of(pair: SchemaPair) -> tuple[int, ...] | None:
        return writer_schema_of(topic, pair, schema_text).facts.key

    for pair in pairs_without_key(seen.outlines, before, key_of):
        at = next(number for number, one in enumerate(seen.outlines) if one.pair == pair)
        one = seen.outlines[at]
        seen.lacking_key[pair] = one.changes
        seen.outlines[at] = replace(one, newest="", changes=0, unsent=frozenset(), latest=None, oldest="")


def writer_schema_of(topic: str, pair: SchemaPair, schema_text: SchemaText) -> WriterSchema:
    """Read a pair of schemas."""
    key_text = None if pair.key_id is None else schema_text(pair.key_id)
    return read_writer_schema(topic, key_text, schema_text(pair.value_id))


def _fault_of_key(topic: str, row: Row, schema_text: SchemaText) -> WracklineError | None:
    """Say why a pair whose value can be read can't be: its key's schema, or bytes that name none."""
    if row["value_id"] is None:
        return NOT_WIRE_FORMAT(topic=topic)
    try:
        writer_schema_of(topic, SchemaPair(row["key_id"], row["value_id"]), schema_text)
    except WracklineError as error:
        return _error_of_record(error)
    return None


def _with_place(error: WracklineError, topic: str, partition: int, offset: int) -> WracklineError:
    """Say with an error where its first record is, and how the others are merged without it."""
    sentence = f"{error.sentence}; the first such record is {topic}-{partition}, offset {offset}"
    hint = f'{error.hint}; or set such records aside and merge the others: errors.tolerance = "all"'
    return type(error)(error.code, sentence, hint)


def _error_of_record(error: WracklineError) -> WracklineError:
    """Return an error of the record; raise one of the registry, or of the way to it."""
    if error.code not in _OF_THE_RECORD:
        raise error
    return error


def _pair(written: NewestChange) -> SchemaPair:
    return SchemaPair(written.key_id, written.value_id)


def _key(of: WriterSchema) -> list[int]:
    return [column.identity for column in of.table.key_columns]
