"""Which pipeline a replication slot belongs to, as far as the server can know it.

A slot has no comment.  But a slot that is named after a pipeline, which is the default without `slot.name`,
is that pipeline's if a publication of the database says that it was made for the pipeline.  A pipeline
without a position would take such a slot from where the other stopped, and the other could never continue.
"""

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier, own_slot
from wrackline.producers.sources.postgres.follow.publication import sign
from wrackline.schemas.errors import OperatorNeeded, define

SLOT_OF_ANOTHER = define(
    "pg.slot_of_another",
    OperatorNeeded,
    "replication slot {slot} is that of pipeline {other}: publication {publication} was made for it; this"
    " pipeline has no position in the slot, and would leave the other one without its log",
    hint="take slot.name out, so that this pipeline has a slot of its own; or, if {other} is not going to run"
    " again: COMMENT ON PUBLICATION {publication} IS NULL",
)

_MADE_FOR = sign("")
_SIGNED = """
SELECT p.pubname::text, obj_description(p.oid, 'pg_publication')
FROM pg_publication p
WHERE EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %s)
  AND starts_with(obj_description(p.oid, 'pg_publication'), %s)"""


def refuse_anothers(connection: Connection, slot: str, pipeline: str) -> None:
    """Raise if the slot exists and is known to be another pipeline's."""
    for publication, comment in connection.execute(_SIGNED, [slot, _MADE_FOR]).fetchall():
        other = str(comment).removeprefix(_MADE_FOR)
        if other != pipeline and own_slot(other) == slot:
            raise SLOT_OF_ANOTHER(slot=slot, other=other, publication=identifier(str(publication)))
