"""The driver's connections: by a password, or by one that AWS gives for a while.

What a database or a user may set for its sessions is set again where a text of ours depends on it: the zone,
the order of a date, how names are folded, and what an UPDATE does that finds a row twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import redshift_connector
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from wrackline.consumers.targets.redshift.config import BY_IAM, read_endpoint
from wrackline.consumers.targets.redshift.dialect import literal
from wrackline.consumers.targets.redshift.refusals import IAM_REFUSED, connection_error
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values

_SESSION: Final[Mapping[str, str]] = {
    "timezone": "'UTC'",
    "datestyle": "'ISO, MDY'",
    "enable_case_sensitive_identifier": "off",
    "error_on_nondeterministic_update": "on",
}
_LIMIT_S: Final = 60  # beyond a statement's own: then the network is taken for dead
_ALIVE: Final[Mapping[str, Any]] = {
    "tcp_keepalive": True,
    "tcp_keepalive_idle": 30,
    "tcp_keepalive_interval": 10,
    "tcp_keepalive_count": 3,
}


@dataclass(frozen=True, slots=True)
class RedshiftCluster:
    """Where the database is, and as whom we work there."""

    fields: Mapping[str, Any]  # as the driver names them
    session: Mapping[str, str]
    password: Secret | None = None

    def connect(self) -> Any:  # noqa: ANN401 - the driver's own types are not checked
        """Open a connection, or say what prevents it."""
        secret: dict[str, Any] = {} if self.password is None else {"password": self.password.reveal()}
        try:
            return self._opened(redshift_connector.connect(**self.fields, **secret, **_ALIVE))
        except Exception as exc:  # noqa: BLE001 - the driver raises what sockets, AWS and it itself raise
            refusal = self._refusal(exc)
        # out here, so that the driver's frames, which know the password, go
        raise refusal

    def _opened(self, connection: Any) -> Any:  # noqa: ANN401 - as above
        connection.autocommit = True
        cursor = connection.cursor()
        try:
            for name, value in self.session.items():
                cursor.execute(f"SET {name} TO {value}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _refusal(self, error: Exception) -> WracklineError:
        given = self.fields
        cause = error.args[0] if error.args else None
        if any(isinstance(one, BotoCoreError | ClientError) for one in (error, cause)):
            return IAM_REFUSED(host=given["host"], user=given["db_user"], kind=_kind_of(error))
        user = given.get("user", given.get("db_user", ""))
        return connection_error(
            error, host=given["host"], port=given["port"], user=user, database=given["database"]
        )


def read_cluster(settings: Values) -> RedshiftCluster:
    """Take what the settings say."""
    host, user = settings.text("target.hostname"), settings.text("target.user")
    statement_ms, mode = settings.integer("target.statement.timeout.ms"), settings.text("target.sslmode")
    fields: dict[str, Any] = {
        "host": host,
        "port": settings.integer("target.port"),
        "database": settings.text("target.dbname"),
        "application_name": f"wrackline {settings.text('name')}",
        "timeout": statement_ms // 1000 + _LIMIT_S,
    }
    fields |= {"ssl": False} if mode == "disable" else {"ssl": True, "sslmode": mode}
    password: Secret | None = None
    if settings.text("target.login") == BY_IAM:
        endpoint = read_endpoint(host)
        fields |= {"iam": True, "db_user": user}
        if endpoint is not None and not endpoint.serverless:
            fields["cluster_identifier"] = endpoint.name
    else:
        fields |= {"user": user, "password": ""}
        if settings["target.password"] is not None:
            password = settings.secret("target.password")
            del fields["password"]
    session = {
        **_SESSION,
        "query_group": literal(f"wrackline {settings.text('name')}"),
        "statement_timeout": str(statement_ms),
    }
    return RedshiftCluster(fields, session, password)


def _kind_of(error: Exception) -> str:
    """Name an error of AWS's client by its code, because its text may have more."""
    found = error if isinstance(error, ClientError) else error.args[0]
    if isinstance(found, ClientError):
        return str(found.response.get("Error", {}).get("Code", "?"))
    return type(found if isinstance(found, Exception) else error).__name__
