"""Which pipeline a replication slot belongs to, as far as anything shows it.

A slot has no comment, and any pipeline can name it in `slot.name`.  Two things show whose it is: the position
that another pipeline has stored in the same Kafka, which names the slot and the server; and a publication of
the database that was made for a pipeline whose own slot, or the database's among several, has this name.  A
pipeline without a position in the slot would take it from where the other stopped, and the other could never
continue.

A position that the slot has passed shows nothing: its pipeline can't continue there.  The slot was read by
another since, or was dropped and made again.
"""

import shlex
from collections.abc import Callable, Iterable

from wrackline.producers.contract.source_plugin import NeighbourPosition
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier, is_of_several, own_slot
from wrackline.producers.sources.postgres.follow.publication import sign
from wrackline.producers.sources.postgres.log.position import lsn_number
from wrackline.producers.sources.postgres.log.slot_health import begins
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.offsets_records import canonical_json

SLOT_OF_ANOTHER = define(
    "pg.slot_of_another",
    OperatorNeeded,
    "replication slot {slot} is that of pipeline {other}: {evidence}; this pipeline has no position in the"
    " slot, and would leave the other one without its log",
    hint="give this pipeline a slot of its own: slot.name = '{free}'; or, if it continues for {other}, which"
    " is not going to run again, set the same publication.name, and: {take_over}",
)

_MADE_FOR = sign("")
_SYSTEM = """
SELECT system_identifier::text, confirmed_flush_lsn::text
FROM pg_control_system(), pg_replication_slots WHERE slot_name = %s"""
_SIGNED = """
SELECT p.pubname::text, obj_description(p.oid, 'pg_publication')
FROM pg_publication p
WHERE starts_with(obj_description(p.oid, 'pg_publication'), %s)"""


def refuse_anothers(
    connection: Connection, slot: str, pipeline: str, neighbours: Callable[[], Iterable[NeighbourPosition]]
) -> None:
    """Raise if the slot exists and is known to be another pipeline's."""
    row = connection.execute(_SYSTEM, [slot]).fetchone()
    if row is None:
        return
    system, confirmed = str(row[0]), None if row[1] is None else lsn_number(str(row[1]))
    own = own_slot(pipeline)
    free = f"{own[:61]}_2" if slot == own or slot.startswith(f"{own}_") else own
    for other, topic, saved in neighbours():
        if other != pipeline and _names(saved, slot, system) and _continues(saved, slot, confirmed):
            raise SLOT_OF_ANOTHER(
                slot=slot,
                other=other,
                evidence=f"its position in topic {topic} was read from there",
                free=free,
                take_over="wrackline offsets set <pipeline.toml>"
                f" {shlex.quote(canonical_json(saved).decode())}",
            )
    for publication, comment in connection.execute(_SIGNED, [_MADE_FOR]).fetchall():
        other, name = str(comment).removeprefix(_MADE_FOR), identifier(str(publication))
        is_its_own = own_slot(other) == slot or is_of_several(slot, other, connection.info.dbname)
        if other != pipeline and is_its_own:
            raise SLOT_OF_ANOTHER(
                slot=slot,
                other=other,
                evidence=f"publication {name} was made for it",
                free=free,
                take_over=f"COMMENT ON PUBLICATION {name} IS NULL",
            )


def _names(saved: Saved, slot: str, system: str) -> bool:
    return saved.get("slot") == slot and saved.get("system") == system


def _continues(saved: Saved, slot: str, confirmed: int | None) -> bool:
    """Whether a pipeline can continue from its position in the slot, which has confirmed this place."""
    try:
        position = begins(saved, slot)
    except WracklineError:
        return False
    return position is None or confirmed is None or confirmed <= position.resume
