"""Which roles write logical messages, and which messages announce schema changes: trigger and secret."""

from collections.abc import Iterator

from wrackline.producers.sources.postgres.check import check_rules as rules
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier
from wrackline.producers.sources.postgres.discover import ddl_messages, ddl_trigger
from wrackline.schemas.language.findings import Finding

_PUBLIC = """
SELECT count(*) FILTER (WHERE has_function_privilege('public', oid, 'EXECUTE'))::int,
       string_agg(oid::regprocedure::text, ', ')
FROM pg_proc WHERE proname = 'pg_logical_emit_message' AND pronamespace = 'pg_catalog'::regnamespace"""


def findings(connection: Connection, role: str) -> Iterator[Finding]:
    """Look at the trigger, and at the forms of the function that writes messages."""
    found, quoted = ddl_trigger.find_trigger(connection), identifier(role)
    if found is None:
        yield rules.DDL_UNTOLD(name=ddl_messages.NAME, trigger=ddl_messages.install_sql(role))
    elif not found.sealed:
        yield rules.DDL_UNSEALED(
            name=ddl_messages.NAME, function=found.function, trigger=ddl_messages.install_sql(role)
        )
    elif not found.readable:
        yield rules.DDL_SECRET_HIDDEN(name=ddl_messages.NAME, sequence=found.sequence, role=quoted)
    ((forms, every),) = connection.execute(_PUBLIC).fetchall()
    if forms:
        yield rules.MESSAGES_PUBLIC(forms=forms, every=every, role=quoted)
