"""How a PostgreSQL server is reached, as settings: the same for source and target; read by libpq.py."""

from wrackline.schemas.settings.setting import Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, between, matching, not_empty, one_of

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "PostgreSQL"

# a colon is of an address of version 6 only, which has two at least
_HOST = r"(?!-)(?=.*[A-Za-z0-9])[A-Za-z0-9._-]+|(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+"
FILES = ("sslrootcert", "sslcert", "sslkey")


DATABASE = matching(r"[^=\0]{1,63}", "a database's name, not a connection string")


def connection(
    prefix: str, *, host: str, role: str, database: str, authorities: str = ""
) -> tuple[Setting, ...]:
    """Declare them below a prefix; the texts explain host, role and database."""
    return (
        Setting(
            f"{prefix}.hostname",
            SettingKind.STRING,
            host,
            None,
            HIGH,
            GROUP,
            required=True,
            validator=matching(_HOST, "a host name or an address, not a path or a list, and without a port"),
            host=True,
        ),
        Setting(
            f"{prefix}.port", SettingKind.INT, "Its port.", "5432", HIGH, GROUP, validator=between(1, 65535)
        ),
        Setting(
            f"{prefix}.user", SettingKind.STRING, role, None, HIGH, GROUP, required=True, validator=not_empty
        ),
        Setting(f"{prefix}.password", SettingKind.PASSWORD, "Its password.", None, HIGH, GROUP),
        clear_password(prefix, GROUP),
        Setting(
            f"{prefix}.dbname",
            SettingKind.STRING,
            database,
            None,
            HIGH,
            GROUP,
            required=True,
            validator=DATABASE,
        ),
        Setting(
            f"{prefix}.sslmode",
            SettingKind.STRING,
            "How the connection is protected; use less than verify-full only where you trust the network.",
            "verify-full",
            MEDIUM,
            GROUP,
            validator=one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
            recommended=("verify-full", "verify-ca", "require", "disable"),
            left_out="the server must speak TLS, with a certificate that is verified and carries the name in"
            f" {prefix}.hostname; where you trust the network: {prefix}.sslmode = require (any certificate)"
            " or disable (no TLS)",
        ),
        *_files(prefix, authorities),
        Setting(
            f"{prefix}.sslpassword",
            SettingKind.PASSWORD,
            "The password of our private key.",
            None,
            LOW,
            GROUP,
        ),
    )


def clear_password(prefix: str, group: str, exceptions: str = "") -> Setting:
    """Declare whether a server that was not verified may request the password itself."""
    return Setting(
        f"{prefix}.password.clear.allowed",
        SettingKind.BOOLEAN,
        "Whether a server may ask for the password in clear text (LDAP, PAM) although its certificate is"
        f" not verified; anyone between us and the server can then read it.{exceptions}",
        "false",
        LOW,
        group,
    )


def _files(prefix: str, authorities: str) -> tuple[Setting, ...]:
    signers = (
        "The file with the certificate authorities that sign the server, or the word system. It must be in"
        f" one of secrets.allow.folders or of the system's own{authorities}."
    )
    documents = (
        signers,
        "The file with our certificate. It must be in one of secrets.allow.folders.",
        "The file with our private key. It must be in one of secrets.allow.folders.",
    )
    return tuple(
        Setting(
            f"{prefix}.{name}",
            SettingKind.STRING,
            document,
            None,
            LOW,
            GROUP,
            validator=not_empty,
            file=True,
            authorities=name == "sslrootcert",
        )
        for name, document in zip(FILES, documents, strict=True)
    )
