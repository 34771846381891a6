"""The event trigger as the server has it, and the secret that identifies its messages."""

from typing import NamedTuple

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.discover import ddl_messages

# The secret is the sequence beside the function, and both have one owner.  A user that may make a schema
# can't replace the secret, because only a superuser makes an event trigger.
_LOOK = """
SELECT f.oid::regprocedure::text, f.prosecdef AND s.sealed, s.name, s.readable,
       CASE WHEN f.prosecdef AND s.sealed AND s.readable THEN pg_sequence_last_value(s.oid)::text END
FROM pg_event_trigger e JOIN pg_proc f ON f.oid = e.evtfoid
LEFT JOIN LATERAL (
  SELECT c.oid, c.oid::regclass::text AS name, has_sequence_privilege(c.oid, 'SELECT') AS readable,
         NOT has_sequence_privilege('public', c.oid, 'SELECT, USAGE, UPDATE') AS sealed
  FROM pg_class c
  WHERE c.relnamespace = f.pronamespace AND c.relname = 'secret' AND c.relkind = 'S'
    AND c.relowner = f.proowner
) s ON true
WHERE e.evtname = %s AND e.evtenabled <> 'D'"""


class DdlTrigger(NamedTuple):
    """The enabled event trigger; names are quoted for SQL."""

    function: str
    sealed: bool  # its messages carry a secret that PUBLIC can't read
    sequence: str | None  # it holds the secret
    readable: bool
    secret: bytes | None


def find_trigger(connection: Connection) -> DdlTrigger | None:
    """Look at our event trigger; None where there is none, or it is off."""
    row = connection.execute(_LOOK, [ddl_messages.NAME]).fetchone()
    if row is None:
        return None
    function, sealed, sequence, readable, secret = row
    return DdlTrigger(
        str(function),
        bool(sealed),
        None if sequence is None else str(sequence),
        bool(readable),
        None if secret is None else str(secret).encode(),
    )
