"""What libpq takes of a pipeline's settings, declared in libpq_settings.py.

Strings for the driver are never pasted together from these: each goes to libpq as a field of its own, so a
host name or password can't smuggle in `service`, `passfile` or `options`.  The machine can't either: libpq
would take from the environment and from files of the home folder what no field sets.
"""

import os

from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.declared.libpq_settings import FILES
from wrackline.schemas.settings.settings_registry import Values

CONNECT_LIMIT_S = 10

_SECRETS = ("password", "sslpassword")
# Of libpq's variables PGTZ and PGDATESTYLE win over a session's options, and PGSERVICE has no field that
# means "none".  These five stay: their fields are always given, and a setting may refer to them.
_VARIABLE = "PG"
_GIVEN = frozenset({"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD"})
_NO_FILE = "/dev/null/not-set"  # no such file can be: without a name libpq looks into the home folder
_VERIFIED = frozenset({"verify-ca", "verify-full"})


def fields(settings: Values, prefix: str) -> dict[str, str]:
    """Return what libpq takes, except secrets; remove other PG* variables from the environment."""
    for variable in [name for name in os.environ if name.startswith(_VARIABLE)]:
        if variable not in _GIVEN:
            del os.environ[variable]
    given = {
        "host": settings.text(f"{prefix}.hostname"),
        "port": str(settings.integer(f"{prefix}.port")),
        "user": settings.text(f"{prefix}.user"),
        "dbname": settings.text(f"{prefix}.dbname"),
        "sslmode": settings.text(f"{prefix}.sslmode"),
        "connect_timeout": str(CONNECT_LIMIT_S),
        "client_encoding": "UTF8",
        "keepalives_idle": "30",
        "keepalives_interval": "10",
    }
    if given["sslmode"] not in _VERIFIED and not settings.flag(f"{prefix}.password.clear.allowed"):
        given["require_auth"] = "!password"
    if settings[f"{prefix}.password"] is None:
        given["password"] = ""  # else PGPASSWORD
    files = dict.fromkeys((*FILES, "sslcrl", "passfile"), _NO_FILE)
    named = (name for name in FILES if settings[f"{prefix}.{name}"] is not None)
    return given | files | {name: settings.text(f"{prefix}.{name}") for name in named}


def secrets(settings: Values, prefix: str) -> dict[str, Secret]:
    """Return what libpq takes and nobody may see."""
    named = (name for name in _SECRETS if settings[f"{prefix}.{name}"] is not None)
    return {name: settings.secret(f"{prefix}.{name}") for name in named}
