"""How a connection is protected: the settings become a TLS context, or none.  Pure, except for the PEM files.

    database.ssl.mode (either driver's word), the PEM files  ->  ssl.SSLContext | None

With a context, PyMySQL ends the connection before anything is sent if the server has no TLS; without a
context it uses TLS if the server has it, unless TLS is disabled.
"""

import ssl
from types import MappingProxyType

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.settings_registry import Values

DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY = (
    "disabled",
    "preferred",
    "required",
    "verify_ca",
    "verify_identity",
)
# The words of MySQL and of MariaDB's driver, in Debezium's spelling of both.
MODES = MappingProxyType(
    {
        **{word: word for word in (DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY)},
        "disable": DISABLED,
        "trust": REQUIRED,
        "verify-ca": VERIFY_CA,
        "verify-full": VERIFY_IDENTITY,
    }
)
VERIFIED = tuple(word for word, mode in MODES.items() if mode in {VERIFY_CA, VERIFY_IDENTITY})

FILE_UNUSABLE = define(
    "mysql.tls_file",
    OperatorNeeded,
    "a file of {settings} can't be used: {reason}",
    hint="each must contain PEM text, and a key must belong to its certificate: openssl x509 -noout -text"
    " -in <file>",
    connects=True,
)


def mode(settings: Values) -> str:
    """Return MySQL's word for the mode."""
    return MODES[settings.text("database.ssl.mode")]


def context(settings: Values) -> ssl.SSLContext | None:
    """Make the context; None where TLS is not demanded, and then no certificate is shown either."""
    wanted = mode(settings)
    if wanted in {DISABLED, PREFERRED}:
        return None
    try:
        made = ssl.create_default_context(cafile=_file(settings, "database.ssl.ca"))
        certificate = _file(settings, "database.ssl.cert")
        if certificate is not None:
            made.load_cert_chain(
                certificate, _file(settings, "database.ssl.key"), lambda: _password(settings)
            )
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        reason = settings.redactor.clean(
            exc.strerror or type(exc).__name__ if isinstance(exc, OSError) else ""
        )
    else:
        made.check_hostname = wanted == VERIFY_IDENTITY
        made.verify_mode = ssl.CERT_NONE if wanted == REQUIRED else ssl.CERT_REQUIRED
        # The certificates that a server makes for itself lack fields that a strict check requires.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return made
    raise FILE_UNUSABLE(settings="database.ssl.ca, .cert or .key", reason=reason)


def _file(settings: Values, name: str) -> str | None:
    path = settings[name]
    return None if path is None else str(path)


def _password(settings: Values) -> str:
    if settings["database.ssl.key.password"] is None:
        return ""
    return settings.secret("database.ssl.key.password").reveal()
