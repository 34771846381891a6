"""What libpq takes of a pipeline's settings, declared in libpq_settings.py.

Strings for the driver are never pasted together from these: each goes to libpq as a field of its own,
so a host name or password can't smuggle in `service`, `passfile` or `options`.
"""

from wrackline.schemas.libpq_settings import FILES
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings import Values

CONNECT_LIMIT_S = 10

_SECRETS = ("password", "sslpassword")
_VERIFIED = frozenset({"verify-ca", "verify-full"})


def fields(settings: Values, prefix: str) -> dict[str, str]:
    """Return what libpq takes, secrets aside."""
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
    named = (name for name in FILES if settings[f"{prefix}.{name}"] is not None)
    return given | {name: settings.text(f"{prefix}.{name}") for name in named}


def secrets(settings: Values, prefix: str) -> dict[str, Secret]:
    """Return what libpq takes and nobody may see."""
    named = (name for name in _SECRETS if settings[f"{prefix}.{name}"] is not None)
    return {name: settings.secret(f"{prefix}.{name}") for name in named}
