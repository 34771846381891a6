"""Positions that a client of REST edits, in the offsets of a stopped pipeline.

In: partitions as Kafka Connect writes them, each with its new position or
None.  Out: one edit of the offsets.
"""

from collections.abc import Mapping, Sequence

import orjson

from wrackline.control.runtime.rest.model.connectors import NO_PARTITION, SOME_REMOVED
from wrackline.control.runtime.services.offsets import OffsetsService
from wrackline.producers.contract.steps import Saved
from wrackline.schemas.tables.table import SourcePartition


def edit_positions(
    opened: OffsetsService, name: str, edits: Sequence[tuple[Mapping[str, str], object | None]] | None
) -> None:
    """Set the positions of these partitions, or start over where none is given.

    Both at once would be two edits, and the second might be refused when the first is done.
    """
    if edits is None:
        opened.reset(force=False)
        return
    known = opened.partitions()
    found = [(_one_of(known, partition, name), position) for partition, position in edits]
    wanted: dict[str | None, Saved] = {
        partition.database: position for partition, position in found if isinstance(position, dict)
    }
    removed = [partition.database for partition, position in found if not isinstance(position, dict)]
    if wanted and removed:
        raise SOME_REMOVED(name=name)
    if wanted:
        opened.set(wanted, force=False)
    else:
        opened.reset(() if len(removed) == len(known) else removed, force=False)


def _one_of(known: Sequence[SourcePartition], given: Mapping[str, str], name: str) -> SourcePartition:
    """Find the partition that is meant; its key must have no other fields."""
    for partition in known:
        if given == {"server": partition.server, "database": partition.database}:
            return partition
    raise NO_PARTITION(name=name, known=" or ".join(_written(known)))


def _written(known: Sequence[SourcePartition]) -> Sequence[str]:
    return [orjson.dumps({"server": one.server, "database": one.database}).decode() for one in known]
