"""One flow: which feed becomes which table, and how.  The arguments are those of `create_auto_cdc_flow`.

    target                  the table, as database.schema.table
    keys                    what distinguishes rows
    sequence_by             what puts events in order, whatever order they come in
    apply_as_deletes        when an event is a delete; it may lack all but its key
    apply_as_truncates      when an event voids all that is older; only SCD type 1
    ignore_null_updates     a null means that nothing is said of the column; or only of some columns
    column_list             what is kept; or all but some
    stored_as_scd_type      1: what is now; 2: what was too, with __START_AT and __END_AT
    track_history_...       SCD type 2: which columns' changes begin a new version

It is pure: what is wrong with the arguments themselves is found here, before Spark is asked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack, cast

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import TableMode
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.tables.table import TableId

ARGUMENTS = define(
    "auto_cdc.arguments",
    Definite,
    "the flow into {target} can't be made: {why}",
    hint="{fix}",
)

Named = str | Column
_NAME = re.compile(r"[^.]+\.[^.]+\.[^.]+")
_TYPES = {"1": TableMode.UPSERT, "2": TableMode.HISTORY}


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """Some of a feed's columns: those of a list, or all but those of another."""

    only: Sequence[Named] | None = None
    but: Sequence[Named] | None = None


@dataclass(frozen=True, slots=True)
class AutoCdcFlow:
    """A flow that can be run."""

    name: str
    target: TableId
    source: str
    keys: tuple[Named, ...]
    sequence_by: Column
    deletes: Column | None
    truncates: Column | None
    null_is_unsent: ColumnChoice | None  # None: a null is a value
    columns: ColumnChoice
    mode: TableMode
    tracked: ColumnChoice | None  # None: every column

    @property
    def key(self) -> str:
        """Its name for the driver and the metrics: like a topic's, with the flow in place of the server."""
        return f"{self.name}.{self.target}"


class FlowArguments(TypedDict, total=False):
    """What `create_auto_cdc_flow` takes besides target, source, keys and sequence_by."""

    ignore_null_updates: bool
    ignore_null_updates_column_list: Sequence[Named] | None
    ignore_null_updates_except_column_list: Sequence[Named] | None
    apply_as_deletes: Named | None
    apply_as_truncates: Named | None
    column_list: Sequence[Named] | None
    except_column_list: Sequence[Named] | None
    stored_as_scd_type: int | str
    track_history_column_list: Sequence[Named] | None
    track_history_except_column_list: Sequence[Named] | None
    name: str | None


def flow(
    target: str, source: str, keys: Sequence[Named], sequence_by: Named, **more: Unpack[FlowArguments]
) -> AutoCdcFlow:
    """Check the arguments and return the flow."""
    nulls = _choice(more, "ignore_null_updates", target)
    history = _choice(more, "track_history", target)
    kept = _choice(more, "", target)
    scd_type = _TYPES.get(str(more.get("stored_as_scd_type", 1)))
    truncates = _condition(more.get("apply_as_truncates"))
    name = more.get("name") or source
    for wrong, why, fix in (
        (not _NAME.fullmatch(target), "target is not a table's name", "write it as database.schema.table"),
        ("." in name, "its name has a dot", "give it another: name='customers'"),
        (not keys, "keys is empty", "name the columns that tell rows apart: keys=['id']"),
        (scd_type is None, "stored_as_scd_type is neither 1 nor 2", "set it to one of them"),
        (
            scd_type is TableMode.UPSERT and history is not None,
            "type 1 has no history to be tracked",
            "set stored_as_scd_type=2, or leave track_history_... out",
        ),
        (
            scd_type is TableMode.HISTORY and truncates is not None,
            "apply_as_truncates is for type 1 alone",
            "leave it out, or set stored_as_scd_type=1",
        ),
    ):
        if wrong:
            raise ARGUMENTS(target=target, why=why, fix=fix)
    return AutoCdcFlow(
        name=name,
        target=TableId(*target.split(".")),
        source=source,
        keys=tuple(keys),
        sequence_by=F.col(sequence_by) if isinstance(sequence_by, str) else sequence_by,
        deletes=_condition(more.get("apply_as_deletes")),
        truncates=truncates,
        null_is_unsent=nulls or (ColumnChoice() if more.get("ignore_null_updates") else None),
        columns=kept or ColumnChoice(),
        mode=scd_type or TableMode.UPSERT,
        tracked=history,
    )


def _choice(more: FlowArguments, of: str, target: str) -> ColumnChoice | None:
    """Return the choice that the two lists of a name make; no list: None."""
    names = [f"{of}_{what}".strip("_") for what in ("column_list", "except_column_list")]
    only, but = (cast("Sequence[Named] | None", more.get(name)) for name in names)
    if only is not None and but is not None:
        raise ARGUMENTS(
            target=target, why=f"both {names[0]} and {names[1]} are given", fix="keep one of them"
        )
    return None if only is None and but is None else ColumnChoice(only, but)


def _condition(named: Named | None) -> Column | None:
    return F.expr(named) if isinstance(named, str) else named
