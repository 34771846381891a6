"""Positions that a client of REST edits, in the offsets of a stopped pipeline.

In: partitions as Kafka Connect writes them, each with its new position or
None.  Out: one edit of the offsets.
"""

from collections.abc import Mapping, Sequence

import orjson

from wrackline.control.runtime.rest.model.connectors import NO_PARTITION
from wrackline.control.runtime.services.offsets import OffsetsService
from wrackline.producers.contract.steps import Saved
from wrackline.schemas.tables.table import SourcePartition


def edit_positions(
    opened: OffsetsService, name: str, edits: Sequence[tuple[Mapping[str, str], object | None]] | None
) -> None:
    """Set the positions of these partitions, or start over where none is given."""
    if edits is None:
        opened.reset(force=False)
        return
    known = opened.partitions()
    found = [(_one_of(known, partition, name), position) for partition, position in edits]
    wanted: dict[str | None, Saved] = {
        partition.database: position for partition, position in found if isinstance(position, dict)
    }
    if wanted:
        opened.set(wanted, force=False)
    else:
        opened.reset(force=False)


def _one_of(known: Sequence[SourcePartition], given: Mapping[str, str], name: str) -> SourcePartition:
    """Find the partition that is meant; its key must have no other fields."""
    for partition in known:
        if given == {"server": partition.server, "database": partition.database}:
            return partition
    shown = " or ".join(
        orjson.dumps({"server": one.server, "database": one.database}).decode() for one in known
    )
    raise NO_PARTITION(name=name, known=shown)
