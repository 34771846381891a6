"""A table that is set aside stays so after a restart: its record in the offsets topic says why.

    Fault --> saved --> the offsets topic, with the position that moves past its rows --> of

Why it is right: the position goes on for the table's neighbours, so what was not handed out is behind
it.  A task that started again and merely went on with the table would leave a gap that nobody knows of
(INV-4).  So each start names it, and the record ends in two ways only: the table's rows are asked for again,
or all is begun anew (`offsets reset`).  A rewind and a set position leave it, also where they lie before the
fault: what made the fault lies on the way again, and what was not handed out since is a snapshot's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import orjson

from wrackline.producers.changes import Fault
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import Json, TableKey, canonical
from wrackline.schemas.table import SourcePartition, TableId

_NAME = "set_aside"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a table is set aside: an error's code, sentence and hint, which show no row's values."""

    code: str
    sentence: str
    hint: str


def reason_of(fault: Fault) -> Reason:
    """Say why a table is set aside, as its fault does."""
    return Reason(fault.error.code, fault.error.sentence, fault.error.hint)


def rendered(reason: Reason) -> dict[str, object]:
    """The field of a table's state that says so."""
    return {_NAME: asdict(reason)}


def reason_in(state: Mapping[str, Any]) -> Reason | None:
    """Read that field of a table's state."""
    return Reason(**state[_NAME]) if state.get(_NAME) else None


def saved(fault: Fault) -> Json:
    """Render a table's fault as the table's state."""
    return canonical(rendered(reason_of(fault)))


def of(state: State, connector: str, partition: SourcePartition) -> Mapping[TableId, Reason]:
    """Return the tables that were set aside, and why."""
    return {
        key.table: reason
        for key, reason in every(state).items()
        if (key.connector, key.partition) == (connector, partition)
    }


def every(state: State) -> Mapping[TableKey, Reason]:
    """Return all tables that were set aside, of whatever connector and database."""
    found = {key: reason_in(orjson.loads(kept.snapshot)) for key, kept in state.tables.items()}
    return {key: reason for key, reason in found.items() if reason is not None}


class Keeper(Protocol):
    """Keeps the tables' states."""

    def aside(self, fault: Fault) -> Mapping[TableId, Json]:
        """Render the states after a table's fault."""
        ...

    def beside(self) -> Json | None:
        """Render what belongs to the position that is reached; nothing for most."""
        ...

    def records(self) -> Sequence[tuple[str, bytes | None, bytes | None]]:
        """Return records that belong to the states that were given: topic, key and value of each."""
        ...


class SetAside:
    """Keeps only which tables are set aside."""

    def aside(self, fault: Fault) -> Mapping[TableId, Json]:
        """Say so in the table's state."""
        return {fault.table: saved(fault)}

    def beside(self) -> Json | None:
        """The position is all there is."""
        return None

    def records(self) -> Sequence[tuple[str, bytes | None, bytes | None]]:
        """The states are all there is."""
        return ()
