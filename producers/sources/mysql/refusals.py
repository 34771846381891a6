"""Why a server did not let us in: its error number, or the driver's, becomes an error that says who acts.

| number | what it is | who acts |
|---|---|---|
| 1040, 1203, 1226 | all connections are taken, of the server or of our user | we, again and again |
| 1045, 1698, 1130, 1820, 1862, 3118, 4151, 1129 | the account, its password, its host | an operator |
| 1251, 1524, 2059, 2061 | the account's way of logging in | an operator |
| 2026, 3159, and any fault of TLS's | protection | an operator |
| 2003, 2005, 2006, 2013, all others | the server is not there, or says what nobody here knows | we |

The server's words name accounts and hosts at this stage, never a row; they are cleaned of secrets.  Pure.
"""

from typing import NamedTuple

from wrackline.producers.sources.mysql.names import account, client, literal
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "mysql.unreachable",
    Transient,
    "no connection to the server on {host}: {reason}",
    hint="try it by hand: {client}",
)
TLS_REFUSED = define(
    "mysql.tls_refused",
    OperatorNeeded,
    "no protected connection to the server on {host}: {reason}",
    hint="{mend}; what the server shows: openssl s_client -starttls mysql -connect {host}:{port}",
)
LOGIN_REFUSED = define(
    "mysql.login_refused",
    OperatorNeeded,
    "the server on {host} does not let {user} in: {reason}",
    hint="{mend}",
)
PUBLIC_KEY = define(
    "mysql.public_key",
    OperatorNeeded,
    "the server on {host} wants the password of {user} in full, and the connection is not protected",
    hint="protect it: database.ssl.mode=verify_identity; or, on a network that you trust, let the password be"
    " sent with a key that the server hands out: database.allowPublicKeyRetrieval=true",
)
IN_CLEAR = define(
    "mysql.password_in_clear",
    OperatorNeeded,
    "the server on {host} asks for the password of {user} in clear ({method}), and its certificate is not"
    " verified",
    hint="verify it: database.ssl.mode=verify_identity (required and preferred take any certificate, and"
    " give a false server the password that it asks for by caching_sha2_password or sha256_password); or, on"
    " a network that you trust: database.password.clear.allowed=true",
)
CONNECTIONS_FULL = define(
    "mysql.connections_full",
    Transient,
    "the server on {host} has no free connection for {user}: {reason}",
    hint="as an administrator: {mend}",
)

_FULL = {
    1040: "SET GLOBAL max_connections = 500",
    1203: "SET GLOBAL max_user_connections = 0",
    1226: "ALTER USER {account} WITH MAX_USER_CONNECTIONS 0 MAX_CONNECTIONS_PER_HOUR 0"
    " MAX_QUERIES_PER_HOUR 0",
}
_ACCOUNT = (
    "correct database.user and database.password, or as an administrator set it: ALTER USER {account}"
    " IDENTIFIED BY '...'; an account has a user and a host: SELECT user, host FROM mysql.user; where"
    " protection is demanded (REQUIRE SSL), the server says no more than this:"
    " database.ssl.mode=verify_identity"
)
_METHOD = (
    "as an administrator give the account a way of logging in that we know: on MySQL ALTER USER {account}"
    " IDENTIFIED WITH caching_sha2_password BY '...'; on MariaDB ALTER USER {account} IDENTIFIED VIA"
    " mysql_native_password USING PASSWORD('...'), or for ed25519: pip install PyNaCl"
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
    " database.ssl.mode=preferred",
    3159: "the server takes protected connections only: database.ssl.mode=verify_identity",
}
_OTHER_NAME = (
    "database.hostname must be a name that the server's certificate carries; or check its signer alone:"
    " database.ssl.mode=verify_ca"
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


class Asked(NamedTuple):
    """Where we wanted in."""

    host: str
    port: str
    user: str


def refusal(number: int, reason: str, asked: Asked, *, tls: bool = False) -> WracklineError:
    """Say what a refused connection means; `tls`: the fault is of the protection itself."""
    host, port, user = asked
    here = account(user)
    if tls or number in _TLS_NUMBERS:
        mend = _TLS_NUMBERS.get(number) or next(
            (mend for words, mend in _TLS_WORDS.items() if words in reason), _TLS_ELSE
        )
        return TLS_REFUSED(host=host, port=port, reason=reason, mend=mend)
    if number in _FULL:
        mend = _FULL[number].format(account=here)
        return CONNECTIONS_FULL(host=host, user=literal(user), reason=reason, mend=mend)
    if number in _LOGIN:
        mend = _LOGIN[number].format(account=here)
        return LOGIN_REFUSED(host=host, user=literal(user), reason=reason, mend=mend)
    return UNREACHABLE(host=host, reason=reason, client=client(*asked))
