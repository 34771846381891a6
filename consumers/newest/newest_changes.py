"""Records to the newest change of each key, in Arrow columns: pure.

In: a range's records, how the table's newest change was written, and the plan that follows from it.  Out:
changes for contract/direct.py, and the batch's outline; or None, where a record is not as known
(records/fast_path.py says what that means), can't be read, or has a value of another type than its column:
then Spark's readers look at the batch, and say what is wrong.  Only changes that lack a value make the
earlier ones of their keys be read.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import compute

from wrackline.consumers.contract.batch_scope import Outline, SchemaPair
from wrackline.consumers.contract.counts import FROM_THE_LOG, OPERATIONS, TRUNCATE, LatestChange
from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import MergePlan, NewestChange
from wrackline.consumers.newest.arrow_parts import Part
from wrackline.consumers.newest.earlier_changes import EarlierChange, Lacks, find_unsent
from wrackline.consumers.newest.fetched_records import FetchedRecords
from wrackline.consumers.newest.newest_records import decode_records, newest_places, places_of
from wrackline.consumers.newest.part_tree import is_envelope, parts_of
from wrackline.consumers.records.seq_form import SeqForm
from wrackline.consumers.records.wire import head_bytes
from wrackline.consumers.records.writer_schema import WriterSchema

_OF_A_ROW: Final = pa.array([op for op in OPERATIONS if op != TRUNCATE])
_WANTED: Final = {"after": None, "op": None, "seq": None, "source": {"ts_ms": None, "unchanged": None}}


@dataclass(frozen=True, slots=True)
class NewestChanges:
    """The newest change of each key, and what the batch is."""

    changes: DirectChanges
    outline: Outline


class _Read(NamedTuple):
    """What was read at some places: one entry a record."""

    places: Sequence[int]
    columns: list[pa.Array]
    seq: pa.Array
    op: pa.Array
    deleted: pa.Array
    committed_ms: pa.Array
    unsent: list[list[str] | None] | None  # None: no record lacks a value


class NewestReader:
    """Reads records of one pair of schemas, and finds the newest of each key."""

    def __init__(
        self, key: Part, value: Part, writer: WriterSchema, known: NewestChange, plan: MergePlan
    ) -> None:
        self._key, self._value, self._writer, self._plan = key, value, writer, plan
        self._known, self._form = known, SeqForm.of(writer.facts.position_bytes, known.seq)
        names = {column.name: column.identity for column in writer.table.columns}
        places = {column.identity: place for place, column in enumerate(plan.columns)}
        of_key = {place for place, column in enumerate(plan.columns) if column.target in plan.key}
        self.places: Mapping[str, int | None] = {
            name: None if places.get(identity) in of_key else places.get(identity)
            for name, identity in names.items()
        }

    @classmethod
    def of(cls, known: NewestChange, writer: WriterSchema, plan: MergePlan) -> "NewestReader | None":
        """Return what reads these schemas; None: they have a type that it does not read."""
        if known.key_id is None or writer.key_text is None or not _has_same_types(writer, plan):
            return None
        key, value = parts_of(writer.key_text), parts_of(writer.value_text, _WANTED)
        if key is None or value is None or not is_envelope(writer.value_text):
            return None
        return cls(key, value, writer, known, plan)

    def newest(self, records: FetchedRecords) -> NewestChanges | None:
        """Return the newest change of each key from the plan's floor on; None: Spark has to look."""
        known = self._known
        if records.odd or known.key_id is None:
            return None
        heads = head_bytes(known.key_id), head_bytes(known.value_id)
        places = newest_places(records, *heads, len(known.seq))
        found = None if places is None else self.read(records, places)
        if found is None:
            return None
        columns, unsent, missing = found.columns, dict[int, pa.Array](), dict[int, pa.Array]()
        if found.unsent is not None:
            filled = _fill(found, records, self)
            if filled is None:
                return None
            columns, unsent, missing = filled
        changes = DirectChanges(
            columns, found.seq, found.op, found.deleted, found.committed_ms, unsent, missing
        )
        greatest = compute.max(found.seq).as_py() or ""
        pair = SchemaPair(known.key_id, known.value_id)
        return NewestChanges(
            changes, Outline(pair, greatest, None, len(found.seq), latest=_latest(found, records))
        )

    def read(self, records: FetchedRecords, places: Sequence[int]) -> _Read | None:
        """Read the records at these places, from the floor on; None: one of them is not one row's change."""
        if not decode_records(records, places, self._key, self._value):
            return None
        key, value = self._key.finish(), self._value.finish()
        after, source = value.field("after"), value.field("source")
        op, seq, committed_ms = value.field("op"), value.field("seq"), source.field("ts_ms")
        lacks = source.field("unchanged")
        deleted = compute.equal(op, "d")
        columns = self._columns(key, after)
        if columns is None or not self._are_rows(op, seq, committed_ms, after, deleted):
            return None
        try:
            for one in (*columns, op, seq, lacks):
                one.validate(full=True)  # texts among them, which Avro has as bytes
        except pa.ArrowInvalid:
            return None
        unsent = None
        if (compute.max(compute.list_value_length(lacks)).as_py() or 0) > 0:
            unsent = lacks.to_pylist()
            if any(name not in self.places for names in unsent if names for name in names):
                return None
        return self._above_floor(_Read(places, columns, seq, op, deleted, committed_ms, unsent))

    def _columns(self, key: pa.Array, after: pa.Array) -> list[pa.Array] | None:
        """Return the plan's columns; None: a key has a null."""
        columns: list[pa.Array] = []
        for column in self._plan.columns:
            if column.identity in self._writer.key_fields:
                columns.append(key.field(self._writer.key_fields[column.identity]))
                if columns[-1].null_count:
                    return None
            elif column.identity in self._writer.fields:
                columns.append(after.field(self._writer.fields[column.identity]))
            else:  # the column is younger than these rows
                columns.append(pa.nulls(len(after)))
        return columns

    def _are_rows(
        self, op: pa.Array, seq: pa.Array, committed_ms: pa.Array, after: pa.Array, deleted: pa.Array
    ) -> bool:
        """Whether each is a change of one row, whose seq a source of ours may have written."""
        if not len(seq):
            return True
        formed = compute.match_substring_regex(seq, rf"\A{self._form.pattern.pattern}\z")
        sound = [
            compute.is_in(op, _OF_A_ROW),
            compute.equal(compute.binary_length(seq), len(self._known.seq)),
            formed,
            compute.equal(after.is_null(), deleted),
        ]
        if self._form.below is not None:
            sound.append(compute.less(seq, self._form.below))
        return not committed_ms.null_count and all(compute.all(one).as_py() for one in sound)

    def _above_floor(self, read: _Read) -> _Read:
        """Leave out what a truncate has voided."""
        floor = self._plan.floor
        if floor is None or not len(read.seq) or compute.min(read.seq).as_py() >= floor:
            return read
        kept = compute.indices_nonzero(compute.greater_equal(read.seq, floor))
        those = kept.to_pylist()
        return _Read(
            [read.places[at] for at in those],
            [one.take(kept) for one in read.columns],
            read.seq.take(kept),
            read.op.take(kept),
            read.deleted.take(kept),
            read.committed_ms.take(kept),
            None if read.unsent is None else [read.unsent[at] for at in those],
        )


def _fill(
    found: _Read, records: FetchedRecords, reader: NewestReader
) -> tuple[list[pa.Array], dict[int, pa.Array], dict[int, pa.Array]] | None:
    """Return the columns with what earlier changes have, and which values the batch lacks."""
    unsent = found.unsent or []
    rows = {records.key(found.places[row]): row for row, names in enumerate(unsent) if names}
    earlier = reader.read(records, places_of(records, frozenset(rows)))
    if earlier is None:
        return None
    sources = _sources(earlier, rows, records, reader)
    count, beyond = len(found.seq), len(earlier.seq)
    columns = list(found.columns)
    lacking: dict[Lacks, dict[int, pa.Array]] = {Lacks.STORED: {}, Lacks.NOWHERE: {}}
    for column, by_row in sources.items():
        which: list[int | None] = list(range(beyond, beyond + count))
        for row, source in by_row.items():
            which[row] = source if isinstance(source, int) else None
        both = pa.concat_arrays([earlier.columns[column], found.columns[column]])
        columns[column] = both.take(pa.array(which, pa.int64()))
        for lacks, masks in lacking.items():
            those = {row for row, source in by_row.items() if source is lacks}
            if those:
                masks[column] = pa.array([row in those for row in range(count)], pa.bool_())
    return columns, lacking[Lacks.STORED], lacking[Lacks.NOWHERE]


def _sources(
    earlier: _Read, rows: Mapping[bytes, int], records: FetchedRecords, reader: NewestReader
) -> Mapping[int, Mapping[int, int | Lacks]]:
    """Return by column and row which change has the value that the newest change lacks."""
    by_key: dict[bytes, list[EarlierChange]] = defaultdict(list)
    parts: Any = zip(earlier.places, earlier.seq.to_pylist(), earlier.op.to_pylist(), strict=True)
    for at, (place, seq, op) in enumerate(parts):
        names = None if earlier.unsent is None else earlier.unsent[at]
        lacks = frozenset(one for one in map(reader.places.get, names or ()) if one is not None)
        change = EarlierChange(seq, op != "d", records.offset(place), op, lacks, at)
        by_key[records.key(place)].append(change)
    found: dict[int, dict[int, int | Lacks]] = defaultdict(dict)
    for key, changes in by_key.items():
        for column, source in find_unsent(changes).items():
            found[column][rows[key]] = source
    return found


def _latest(found: _Read, records: FetchedRecords) -> LatestChange | None:
    """Return the newest change that came from the log."""
    logged = compute.indices_nonzero(compute.is_in(found.op, pa.array(FROM_THE_LOG)))
    if not len(logged):
        return None
    seqs = found.seq.take(logged)
    row = logged[compute.index(seqs, compute.max(seqs)).as_py()].as_py()
    published_ms = records.published_ms(found.places[row])
    return LatestChange(found.seq[row].as_py(), found.committed_ms[row].as_py(), published_ms)


def _has_same_types(writer: WriterSchema, plan: MergePlan) -> bool:
    """Whether no value needs a cast; a column that the table has wider needs one."""
    written = {column.identity: column.type for column in writer.table.columns}
    return all(written.get(column.identity, column.type) == column.type for column in plan.columns)
