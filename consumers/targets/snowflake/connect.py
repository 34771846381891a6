"""The driver's connections: by a key pair, with a session in which a statement means the same everywhere.

What an account or a user may set for its sessions is set again where a text of ours depends on it: formats
of dates in literals, the zone, and what a MERGE does that finds a row twice.  The driver tries a call again
under the call's own number, so what is done is done once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from snowflake.connector import SnowflakeConnection, connect
from snowflake.connector.errors import Error

from wrackline.consumers.targets.snowflake.refusals import KEY_REFUSED, connection_error
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values

_CALL_S: Final = 120  # how long the driver tries a call again; its own patience has no end
_SESSION: Final[Mapping[str, object]] = {
    "TIMEZONE": "UTC",
    "DATE_INPUT_FORMAT": "AUTO",
    "TIME_INPUT_FORMAT": "AUTO",
    "TIMESTAMP_INPUT_FORMAT": "AUTO",
    "ERROR_ON_NONDETERMINISTIC_MERGE": True,
    "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
    "CLIENT_TELEMETRY_ENABLED": False,
}


@dataclass(frozen=True, slots=True)
class SnowflakeAccount:
    """Where the database is, and as whom we work there."""

    fields: Mapping[str, Any]  # as the driver names them
    passphrase: Secret | None = None  # of the key's file
    session: Mapping[str, object] = field(default_factory=dict)

    def connect(self) -> SnowflakeConnection:
        """Open a connection, or say what prevents it."""
        secret = {} if self.passphrase is None else {"private_key_file_pwd": self.passphrase.reveal()}
        host, user = self.fields["host"], self.fields["user"]
        try:
            return connect(
                authenticator="SNOWFLAKE_JWT",
                application="Wrackline",
                autocommit=True,
                client_session_keep_alive=False,
                session_parameters={**_SESSION, **self.session},
                **{"login_timeout": _CALL_S, "network_timeout": _CALL_S, **self.fields},
                **secret,
            )
        except Error as exc:
            refused = connection_error(exc, host=host, user=user)
        except (OSError, TypeError, ValueError):
            refused = KEY_REFUSED(file=self.fields.get("private_key_file", "target.private.key.file"))
        # out here, so that the driver's frames, which know the passphrase, go
        raise refused


def read_account(settings: Values) -> SnowflakeAccount:
    """Take what the settings say."""
    account = settings.text("target.account")
    given = settings["target.hostname"]
    host = f"{account}.snowflakecomputing.com" if given is None else settings.text("target.hostname")
    fields: dict[str, Any] = {
        "account": account,
        "host": host,
        "user": settings.text("target.user"),
        "private_key_file": settings.text("target.private.key.file"),
        "warehouse": settings.text("target.warehouse"),
        "database": settings.text("target.dbname"),
    }
    if settings["target.endpoint"] is not None:
        fields |= _in_its_place(settings.text("target.endpoint"))
    if settings["target.role"] is not None:
        fields["role"] = settings.text("target.role")
    secret = settings["target.private.key.passphrase"]
    session = {
        "QUERY_TAG": f"wrackline {settings.text('name')}",
        "LOCK_TIMEOUT": -(-settings.integer("target.lock.timeout.ms") // 1000),
        "STATEMENT_TIMEOUT_IN_SECONDS": -(-settings.integer("target.statement.timeout.ms") // 1000),
    }
    passphrase = None if secret is None else settings.secret("target.private.key.passphrase")
    return SnowflakeAccount(fields, passphrase, session)


def _in_its_place(endpoint: str) -> Mapping[str, Any]:
    """Name an emulator as the driver does."""
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {"protocol": parts.scheme, "host": parts.hostname, "port": port}
