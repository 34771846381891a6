"""Why a server did not let us in: its error number, or the driver's, becomes an error that says what to do.

| number | what it is | who acts |
|---|---|---|
| 1040, 1203, 1226 | all connections are in use, of the server or of our user | we, repeatedly |
| 1045, 1698, 1130, 1820, 1862, 3118, 4151, 1129 | the account, its password, its host | an operator |
| 1251, 1524, 2059, 2061 | the account's login method | an operator |
| 2026, 3159, and any fault of TLS | protection | an operator |
| 2003, 2005, 2006, 2013, all others | the server can't be reached, or its answer is unknown | we |

At this stage the server's words name accounts and hosts, never a row; they are cleaned of secrets.  Pure.
"""

from collections.abc import Mapping
from typing import NamedTuple

from wrackline.producers.sources.mysql.connect.quoting import account, client, literal
from wrackline.schemas.error_table import first_match
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "mysql.unreachable",
    Transient,
    "no connection to the server on {host}: {reason}",
    hint="try it by hand: {client}",
    connects=True,
)
TLS_REFUSED = define(
    "mysql.tls_refused",
    OperatorNeeded,
    "no protected connection to the server on {host}: {reason}",
    hint="{fix}; what the server shows: openssl s_client -starttls mysql -connect {host}:{port}",
    connects=True,
)
LOGIN_REFUSED = define(
    "mysql.login_refused",
    OperatorNeeded,
    "the server on {host} rejects the login of {user}: {reason}",
    hint="{fix}",
    connects=True,
)
PUBLIC_KEY = define(
    "mysql.public_key",
    OperatorNeeded,
    "the server on {host} asks for the full password of {user}, but the connection is not protected",
    hint='protect it: database.ssl.mode = "verify_identity"; or, on a network that you trust, let the'
    " password be encrypted with a key that the server sends: database.allowPublicKeyRetrieval = true",
)
IN_CLEAR = define(
    "mysql.password_in_clear",
    OperatorNeeded,
    "the server on {host} asks for the password of {user} in clear text ({method}), but its certificate is"
    " not verified",
    hint='verify it: database.ssl.mode = "verify_identity" (required and preferred accept any certificate,'
    " and give an impostor the password if it asks for it by caching_sha2_password or sha256_password); or,"
    " on a network that you trust: database.password.clear.allowed = true",
    connects=True,
)
CONNECTIONS_FULL = define(
    "mysql.connections_full",
    Transient,
    "the server on {host} has no free connection for {user}: {reason}",
    hint="as an administrator: {fix}",
    connects=True,
)

_FULL = {
    1040: "SET GLOBAL max_connections = 500",
    1203: "SET GLOBAL max_user_connections = 0",
    1226: "ALTER USER {account} WITH MAX_USER_CONNECTIONS 0 MAX_CONNECTIONS_PER_HOUR 0"
    " MAX_QUERIES_PER_HOUR 0",
}
_ACCOUNT = (
    "correct database.user and database.password, or as an administrator set it: ALTER USER {account}"
    " IDENTIFIED BY '...'; an account has a user and a host: SELECT user, host FROM mysql.user; if"
    " protection is required (REQUIRE SSL), the server gives the same reason:"
    ' database.ssl.mode = "verify_identity"'
)
_METHOD = (
    "as an administrator give the account a login method that Wrackline supports: on MySQL ALTER USER"
    " {account} IDENTIFIED WITH caching_sha2_password BY '...'; on MariaDB ALTER USER {account} IDENTIFIED"
    " VIA mysql_native_password USING PASSWORD('...'), or for ed25519: pip install PyNaCl"
)
_EXPIRED = "as an administrator: ALTER USER {account} IDENTIFIED BY '...' PASSWORD EXPIRE NEVER"
_UNLOCK = "as an administrator: ALTER USER {account} ACCOUNT UNLOCK"
_LOGIN = {
    1045: _ACCOUNT,
    1698: _ACCOUNT,
    1130: "as an administrator let the account in from here: CREATE USER {account} IDENTIFIED BY '...'",
    1129: "as an administrator: TRUNCATE TABLE performance_schema.host_cache; on MariaDB: FLUSH HOSTS",
    1251: _METHOD,
    1524: _METHOD,
    2059: _METHOD,
    2061: _METHOD,
    1820: _EXPIRED,
    1862: _EXPIRED,
    3118: _UNLOCK,
    4151: _UNLOCK,
}
_TLS_NUMBERS = {
    2026: "switch TLS on at the server (ssl_ca, ssl_cert, ssl_key); or, on a network that you trust,"
    ' database.ssl.mode = "preferred"',
    3159: 'the server accepts only protected connections: database.ssl.mode = "verify_identity"',
}
_OTHER_NAME = (
    "database.hostname must be a name that the server's certificate carries; or check only its signer:"
    ' database.ssl.mode = "verify_ca"'
)
_TLS_WORDS = {
    "Hostname mismatch": _OTHER_NAME,
    "IP address mismatch": _OTHER_NAME,
    "certificate verify failed": "name the authority that signed the server, whose certificate must not have"
    " expired: database.ssl.ca",
    "certificate required": "name a certificate that the server's authority signed: database.ssl.cert and"
    " database.ssl.key",
}
_TLS_ELSE = "compare database.ssl.mode, ssl.ca, ssl.cert and ssl.key with what the server asks for"
_REFUSED: Mapping[int, tuple[ErrorCode, str]] = {
    **{number: (TLS_REFUSED, fix) for number, fix in _TLS_NUMBERS.items()},
    **{number: (CONNECTIONS_FULL, fix) for number, fix in _FULL.items()},
    **{number: (LOGIN_REFUSED, fix) for number, fix in _LOGIN.items()},
}


class LoginAttempt(NamedTuple):
    """The server and the user of a login."""

    host: str
    port: str
    user: str


def refusal(number: int, reason: str, asked: LoginAttempt, *, tls: bool = False) -> WracklineError:
    """Say what a refused connection means; `tls`: the fault is in the protection itself."""
    code, fix = _REFUSED.get(number, (UNREACHABLE, ""))
    if tls and code is not TLS_REFUSED:
        code, fix = TLS_REFUSED, first_match(_TLS_WORDS, reason) or _TLS_ELSE
    return code.fill(
        {
            "reason": reason,
            "host": asked.host,
            "port": asked.port,
            "user": literal(asked.user),
            "fix": fix.format(account=account(asked.user)),
            "client": client(*asked),
        }
    )
