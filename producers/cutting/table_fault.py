"""A table that is set aside stays so after a restart: its record in the offsets topic says why.

    Fault --> saved --> the offsets topic, with the position that moves past its rows --> of

Why it is right: the position continues for the table's neighbours, so what was not handed out is behind
it.  A task that started again and simply continued with the table would leave a gap that nobody knows of
(INV-4).  So each start names it, and the record ends in only two ways: the table's rows are requested again,
or all starts over (`offsets reset`).  A rewind and a set position leave it, even if they lie before the
fault: the log contains the cause again, and a snapshot must bring what was not handed out since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Protocol

from pydantic import ConfigDict, TypeAdapter

from wrackline.producers.contract.steps import Fault
from wrackline.producers.cutting.record_buffer import Unfitting
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Json, canonical_json, read_as
from wrackline.schemas.tables.table import SourcePartition, TableId

_NAME = "set_aside"


@dataclass(frozen=True, slots=True)
class FaultReason:
    """Why a table is set aside: an error's code, sentence and hint, which show no row's values."""

    code: str
    sentence: str
    hint: str

    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class _SavedReason:
    set_aside: FaultReason | None = None


_KEPT: Final = TypeAdapter(_SavedReason)


def reason_of(fault: Fault) -> FaultReason:
    """Return the reason why a table is set aside, from its fault."""
    return FaultReason(fault.error.code, fault.error.sentence, fault.error.hint)


def reason_field(reason: FaultReason) -> dict[str, object]:
    """Return the field of a table's state that contains the reason."""
    return {_NAME: asdict(reason)}


def reason_in(state: Json, table: TableId) -> FaultReason | None:
    """Read that field of a table's state."""
    return read_as(_KEPT, state, table).set_aside


def fault_state(fault: Fault) -> Json:
    """Render a table's fault as the table's state."""
    return canonical_json(reason_field(reason_of(fault)))


def set_aside_tables(
    state: OffsetsState, connector: str, partition: SourcePartition
) -> Mapping[TableId, FaultReason]:
    """Return the tables that were set aside, and why."""
    every = state.tables_of(connector, partition).items()
    found = {table: reason_in(kept.snapshot, table) for table, kept in every}
    return {table: reason for table, reason in found.items() if reason is not None}


class StateKeeper(Protocol):
    """Keeps the tables' states."""

    def aside(self, fault: Fault) -> Mapping[TableId, Json]:
        """Render the states after a table's fault."""
        ...

    def counted(self, unfit: Mapping[Unfitting, int]) -> Mapping[TableId, Json]:
        """Render the states after more values that do not fit, for the transaction that has them."""
        ...

    def beside(self) -> Json | None:
        """Render what belongs to the position that is reached; None for most keepers."""
        ...

    def records(self) -> Sequence[tuple[str, bytes | None, bytes | None]]:
        """Return records that belong to the states that were given: topic, key and value of each."""
        ...


class FaultKeeper:
    """Keeps only which tables are set aside."""

    def aside(self, fault: Fault) -> Mapping[TableId, Json]:
        """Write the fault into the table's state."""
        return {fault.table: fault_state(fault)}

    def counted(self, unfit: Mapping[Unfitting, int]) -> Mapping[TableId, Json]:
        """Nothing is kept of them."""
        del unfit
        return {}

    def beside(self) -> Json | None:
        """Return None: there is only the position."""
        return None

    def records(self) -> Sequence[tuple[str, bytes | None, bytes | None]]:
        """Return no records: there are only the states."""
        return ()
