"""What a pipeline leaves on the server, and what of it is its own: used when a pipeline is deleted.

A slot does not show its creator, and any pipeline can use its name.  It is the pipeline's if the position was
read from it: same system, same slot, and no other reader has read further since.  A publication's comment
says for which pipeline it was made.  It stays while another slot of the database may read from it: PostgreSQL
ends a stream whose publication is gone, and that slot could never continue.  An object that is not known to
be ours is left, with the statement that drops it.

The slot is dropped first, because it keeps the log.  The server itself refuses to drop a slot that is in use.
"""

from typing import NamedTuple

import psycopg
from psycopg import sql

from wrackline.producers.contract.optional_parts import ServerObject
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.postgres.connect.connect import Connection, as_the_user
from wrackline.producers.sources.postgres.connect.quoting import identifier, literal
from wrackline.producers.sources.postgres.follow.publication import sign
from wrackline.producers.sources.postgres.log.position import PgPosition, lsn_number
from wrackline.producers.sources.postgres.log.slot import SLOT_BUSY, SlotRow, find_slot, log_history
from wrackline.producers.sources.postgres.log.slot_health import begins
from wrackline.schemas.errors import WracklineError

_UNREAD = "no stored position shows that the pipeline has read from it"
_RETAINED = """
SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
        - restart_lsn)::bigint
FROM pg_replication_slots WHERE slot_name = %s"""
_PUBLICATION = """
SELECT obj_description(oid, 'pg_publication'), pg_is_in_recovery(),
       (SELECT min(slot_name::text) FROM pg_replication_slots
        WHERE database = current_database() AND plugin = 'pgoutput' AND NOT temporary AND slot_name <> %s)
FROM pg_publication WHERE pubname = %s"""


class PgPipelineObjects(NamedTuple):
    """The names of a pipeline's objects, and its position."""

    pipeline: str
    slot: str
    publication: str
    saved: Saved | None


def pipeline_objects(connection: Connection, of: PgPipelineObjects) -> list[ServerObject]:
    """Return the slot, then the publication, as far as they exist."""
    slot = _slot(connection, of)
    publication = _publication(connection, of, slot)
    return [found for found in (slot, publication) if found is not None]


def remove(connection: Connection, of: PgPipelineObjects) -> None:
    """Drop the pipeline's own objects."""
    slot = _slot(connection, of)
    if slot is not None and slot.left is None:
        try:
            connection.execute("SELECT pg_drop_replication_slot(%s)", [of.slot])
        except psycopg.errors.UndefinedObject:
            pass  # another session was faster
        except psycopg.errors.ObjectInUse as exc:
            row = find_slot(connection, of.slot)
            pid, who = ("?", "somebody") if row is None else (row.pid, row.who)
            raise SLOT_BUSY(slot=of.slot, pid=pid, who=who) from exc
    publication = _publication(connection, of, slot)
    if publication is not None and publication.left is None:
        with connection.transaction():
            as_the_user(connection)
            connection.execute(
                sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(of.publication))
            )


def _slot(connection: Connection, of: PgPipelineObjects) -> ServerObject | None:
    row = find_slot(connection, of.slot)
    if row is None:
        return None
    ((retained,),) = connection.execute(_RETAINED, [of.slot]).fetchall() or [(None,)]
    foreign = row.plugin != "pgoutput" or row.database != connection.info.dbname
    return ServerObject(
        f"replication slot {of.slot}",
        f"SELECT pg_drop_replication_slot({literal(of.slot)})",
        None if retained is None else int(str(retained)),
        None if foreign or row.pid is None else row.who,
        f"it uses plug-in {row.plugin} and database {row.database}"
        if foreign
        else _read(connection, of, row),
    )


def _read(connection: Connection, of: PgPipelineObjects, row: SlotRow) -> str | None:
    """Say why the stored position does not show that the pipeline reads from this slot."""
    if of.saved is None:
        return _UNREAD
    try:
        position = begins(of.saved, of.slot)
    except WracklineError as error:
        return error.sentence
    if position is not None:
        return _another(connection, of, row, position)
    # after a reset there is no place: it begins where the slot begins, and names a slot that it has read from
    system = log_history(connection, of.slot).system
    named = of.saved.get("slot") == of.slot and of.saved.get("system") == system
    return None if named else _UNREAD


def _another(connection: Connection, of: PgPipelineObjects, row: SlotRow, position: PgPosition) -> str | None:
    if position.history is None:
        return None
    if position.history.slot != of.slot:
        return f"the pipeline has read from replication slot {position.history.slot}"
    if position.history.system != log_history(connection, of.slot).system:
        return "the pipeline has read from another server"
    if row.confirmed is not None and lsn_number(row.confirmed) > position.resume:
        return "another reader has read from it since"
    return None


def _publication(
    connection: Connection, of: PgPipelineObjects, slot: ServerObject | None
) -> ServerObject | None:
    row = connection.execute(_PUBLICATION, [of.slot, of.publication]).fetchone()
    if row is None:
        return None
    comment, standby, other = row
    if slot is not None and slot.left is not None:
        other = of.slot
    left = None
    if comment != sign(of.pipeline):
        left = "its comment does not say that it was created for the pipeline"
    elif standby:
        left = "it belongs to the primary"
    elif other is not None:
        left = f"replication slot {other} of the database may read from it"
    name = identifier(of.publication)
    return ServerObject(f"publication {name}", f"DROP PUBLICATION {name}", left=left)
