"""A table that is set aside stays so after a restart: its record in the offsets topic says why.

    Fault --> saved --> the offsets topic, with the position that moves past its rows --> of

Why it is right: the position goes on for the table's neighbours, so what was not handed out is behind
it.  A task that started again and merely went on with the table would leave a gap that nobody knows of
(INV-4).  The record is gone once the table's rows are asked for again, or its position is reset.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

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


def saved(fault: Fault) -> Json:
    """Render a table's fault as the table's state."""
    error = fault.error
    return canonical({_NAME: asdict(Reason(error.code, error.sentence, error.hint))})


def of(state: State, connector: str, partition: SourcePartition) -> Mapping[TableId, Reason]:
    """Return the tables that were set aside, and why."""
    found: dict[TableId, Reason] = {}
    for table, kept in state.tables_of(connector, partition).items():
        reason = orjson.loads(kept.snapshot).get(_NAME)
        if reason is not None:
            found[table] = Reason(reason["code"], reason["sentence"], reason["hint"])
    return found
