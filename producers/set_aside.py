"""A table that is set aside stays so after a restart: its record in the offsets topic says why.

    Fault --> saved --> the offsets topic, with the position that moves past its rows --> of

Why it is right: the position goes on for the table's neighbours, so what was not handed out is behind
it.  A task that started again and merely went on with the table would leave a gap that nobody knows of
(INV-4).  The record is gone once the table's rows are asked for again, or its position is reset.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from wrackline.producers.changes import Fault
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import Json, canonical
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


def states(fault: Fault) -> Mapping[TableId, Json]:
    """Render a fault where nothing else is kept of tables."""
    return {fault.table: saved(fault)}


def of(state: State, connector: str, partition: SourcePartition) -> Mapping[TableId, Reason]:
    """Return the tables that were set aside, and why."""
    kept = state.tables_of(connector, partition)
    found = {table: reason_in(orjson.loads(one.snapshot)) for table, one in kept.items()}
    return {table: reason for table, reason in found.items() if reason is not None}
