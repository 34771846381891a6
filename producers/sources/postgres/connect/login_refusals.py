"""Why PostgreSQL did not let us in: libpq's text becomes an error that says what to do.

Before there is a session, libpq returns a text and no SQLSTATE, so this module looks for words in it.  An
unknown text, such as a server's in another language, is `pg.unreachable` and tried again.  Pure.
"""

from collections.abc import Mapping

from wrackline.producers.sources.postgres.connect.quoting import identifier, psql
from wrackline.schemas.error_table import first_match
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "pg.unreachable",
    Transient,
    "no connection to database {database} on {host}: {reason}",
    hint="try it by hand: {psql}",
    connects=True,
)
TLS_REFUSED = define(
    "pg.tls_refused",
    OperatorNeeded,
    "no protected connection to database {database} on {host}: {reason}",
    hint="{fix}; what the server shows: openssl s_client -starttls postgres -connect {host}:{port}",
    connects=True,
)
LOGIN_REFUSED = define(
    "pg.login_refused",
    OperatorNeeded,
    "the server on {host} rejects the login of {user} to database {database}: {reason}",
    hint="{fix}",
    connects=True,
)
REPLICATION_REFUSED = define(
    "pg.replication_refused",
    OperatorNeeded,
    "the role {user} may not read the log of database {database}: {reason}",
    hint="as a superuser: ALTER ROLE {user} REPLICATION; on Amazon RDS: GRANT rds_replication TO {user}",
    connects=True,
)
SENDERS_FULL = define(
    "pg.wal_senders_full",
    Transient,
    "the server on {host} has no free WAL sender: {reason}",
    hint="as a superuser: ALTER SYSTEM SET max_wal_senders = 20; then restart the server",
)

CONNECTIONS_FULL = define(
    "pg.connections_full",
    Transient,
    "the server on {host} has no free connection for {user}: {reason}",
    hint="as a superuser: {fix}",
    connects=True,
)

_FULL = {
    "too many connections for role": "ALTER ROLE {user} CONNECTION LIMIT -1",
    "too many connections for database": "ALTER DATABASE {database} CONNECTION LIMIT -1",
    "too many clients already": "ALTER SYSTEM SET max_connections = 200; then restart the server",
    "remaining connection slots": "ALTER SYSTEM SET max_connections = 200; then restart the server",
}
_TLS_FIXES = {
    "does not match host name": "database.hostname must be a name that the server's certificate carries",
    "root certificate file": "name the file with the authority's certificate: database.sslrootcert",
    "certificate verify failed": "name the authority that signed the server, whose certificate must not have"
    " expired: database.sslrootcert",
    "does not support SSL": "switch TLS on at the server: ALTER SYSTEM SET ssl = on; or, on a network that"
    ' you trust, database.sslmode = "disable"',
    "client certificate": "name a certificate that the server's authority signed: database.sslcert and"
    " database.sslkey",
    "certificate required": "name a certificate that the server's authority signed: database.sslcert and"
    " database.sslkey",
    "private key file": "make the key file readable only by the user that runs Wrackline (chmod 600):"
    " database.sslkey",
    "SSL error": "compare database.sslmode, sslrootcert, sslcert and sslkey with what the server asks for",
    "no encryption": 'the server accepts only protected connections: database.sslmode = "verify-full"',
}
_HBA = "allow it in pg_hba.conf: hostssl {database} {user} <address> scram-sha-256"
_LOGIN_FIXES = {
    "password authentication failed": "correct database.password, or set it:"
    " ALTER ROLE {user} PASSWORD '...'",
    "requested a cleartext password": 'verify the server: database.sslmode = "verify-full"; or let it ask in'
    " another way, in pg_hba.conf: hostssl {database} {user} <address> scram-sha-256; or, on a network that"
    " you trust: database.password.clear.allowed = true",
    "no password supplied": "set database.password",
    "certificate authentication failed": "the certificate's common name must be the role's: database.sslcert",
    "no pg_hba.conf entry": _HBA,
    "pg_hba.conf rejects": _HBA,
    "is not permitted to log in": "as a superuser: ALTER ROLE {user} LOGIN",
    "permission denied for database": "as its owner: GRANT CONNECT ON DATABASE {database} TO {user}",
    'FATAL: role "': "as a superuser: CREATE ROLE {user} LOGIN REPLICATION",
    "is not currently accepting connections": "as a superuser: ALTER DATABASE {database}"
    " ALLOW_CONNECTIONS true",
    'FATAL: database "': "correct {setting}; to list the databases: psql -l",
}
_WORDS: Mapping[str, tuple[ErrorCode, str]] = {
    "to start WAL sender": (REPLICATION_REFUSED, ""),
    "to start walsender": (REPLICATION_REFUSED, ""),
    "max_wal_senders": (SENDERS_FULL, ""),
    **{words: (CONNECTIONS_FULL, fix) for words, fix in _FULL.items()},
    **{words: (TLS_REFUSED, fix) for words, fix in _TLS_FIXES.items()},
    **{words: (LOGIN_REFUSED, fix) for words, fix in _LOGIN_FIXES.items()},
}


def refusal(reason: str, host: str, port: str, user: str, database: str, setting: str) -> WracklineError:
    """Say what a refused connection means; `setting` names the database, `reason` is clean of secrets."""
    code, fix = first_match(_WORDS, reason) or (UNREACHABLE, "")
    return code.fill(
        {
            "reason": reason,
            "host": host,
            "port": port,
            "user": user if code is LOGIN_REFUSED else identifier(user),
            "database": database,
            "fix": fix.format(user=identifier(user), database=identifier(database), setting=setting),
            "psql": psql(host=host, port=port, dbname=database, user=user),
        }
    )
