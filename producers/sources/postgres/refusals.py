"""Why PostgreSQL did not let us in: libpq's text becomes an error that says who acts and how.

Before a session stands libpq hands over a text and no SQLSTATE, so words are looked for in it.  A text
that nobody here knows, as a server's in another language, is `pg.unreachable` and tried again.  Pure.
"""

from wrackline.producers.sources.postgres.names import identifier, psql
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "pg.unreachable",
    Transient,
    "no connection to database {database} on {host}: {reason}",
    hint="try it by hand: {psql}",
)
TLS_REFUSED = define(
    "pg.tls_refused",
    OperatorNeeded,
    "no protected connection to database {database} on {host}: {reason}",
    hint="{mend}; what the server shows: openssl s_client -starttls postgres -connect {host}:{port}",
)
LOGIN_REFUSED = define(
    "pg.login_refused",
    OperatorNeeded,
    "the server on {host} does not let {user} into database {database}: {reason}",
    hint="{mend}",
)
REPLICATION_REFUSED = define(
    "pg.replication_refused",
    OperatorNeeded,
    "the role {user} may not read the log of database {database}: {reason}",
    hint="as a superuser: ALTER ROLE {user} REPLICATION; on Amazon RDS: GRANT rds_replication TO {user}",
)
SENDERS_FULL = define(
    "pg.wal_senders_full",
    Transient,
    "the server on {host} has no free WAL sender: {reason}",
    hint="as a superuser: ALTER SYSTEM SET max_wal_senders = 20; then restart the server",
)

_REPLICATION_WORDS = ("to start WAL sender", "to start walsender")
_SENDER_WORDS = ("max_wal_senders",)
_TLS_MENDS = {
    "does not match host name": "database.hostname must be a name that the server's certificate carries",
    "root certificate file": "name the file with the authority's certificate: database.sslrootcert",
    "certificate verify failed": "name the authority that signed the server, whose certificate must not have"
    " expired: database.sslrootcert",
    "does not support SSL": "switch TLS on at the server: ALTER SYSTEM SET ssl = on; or, on a network that"
    " you trust, database.sslmode=disable",
    "client certificate": "name a certificate that the server's authority signed: database.sslcert and"
    " database.sslkey",
    "certificate required": "name a certificate that the server's authority signed: database.sslcert and"
    " database.sslkey",
    "private key file": "give the key's file to the user that runs this alone (chmod 600): database.sslkey",
    "SSL error": "compare database.sslmode, sslrootcert, sslcert and sslkey with what the server asks for",
    "no encryption": "the server takes protected connections only: database.sslmode=verify-full",
}
_HBA = "allow it in pg_hba.conf: hostssl {database} {user} <address> scram-sha-256"
_LOGIN_MENDS = {
    "password authentication failed": "correct database.password, or set it:"
    " ALTER ROLE {user} PASSWORD '...'",
    "requested a cleartext password": "verify the server: database.sslmode=verify-full; or let it ask in"
    " another way, in pg_hba.conf: hostssl {database} {user} <address> scram-sha-256; or, on a network that"
    " you trust: database.password.clear.allowed=true",
    "no password supplied": "give database.password",
    "certificate authentication failed": "the certificate's common name must be the role's: database.sslcert",
    "no pg_hba.conf entry": _HBA,
    "pg_hba.conf rejects": _HBA,
    "is not permitted to log in": "as a superuser: ALTER ROLE {user} LOGIN",
    "permission denied for database": "as its owner: GRANT CONNECT ON DATABASE {database} TO {user}",
    'FATAL: role "': "as a superuser: CREATE ROLE {user} LOGIN REPLICATION",
    'FATAL: database "': "correct database.dbname; which there are: psql -l",
}


def refusal(reason: str, host: str, port: str, user: str, database: str) -> WracklineError:
    """Say what a refused connection means; `reason` has been cleaned of secrets."""
    if any(words in reason for words in _REPLICATION_WORDS):
        return REPLICATION_REFUSED(user=identifier(user), database=database, reason=reason)
    if any(words in reason for words in _SENDER_WORDS):
        return SENDERS_FULL(host=host, reason=reason)
    for words, mend in _TLS_MENDS.items():
        if words in reason:
            return TLS_REFUSED(database=database, host=host, port=port, reason=reason, mend=mend)
    for words, mend in _LOGIN_MENDS.items():
        if words in reason:
            made = mend.format(user=identifier(user), database=identifier(database))
            return LOGIN_REFUSED(host=host, user=user, database=database, reason=reason, mend=made)
    by_hand = psql(host=host, port=port, dbname=database, user=user)
    return UNREACHABLE(host=host, database=database, reason=reason, psql=by_hand)
