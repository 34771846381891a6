"""What can be set about a PostgreSQL target.

Strings for the driver are never pasted together from these: each goes to libpq as a field of its own.
"""

from wrackline.consumers.targets.postgres.place import template_fault
from wrackline.schemas.setting import Declared, Importance, Need, Setting
from wrackline.schemas.setting_kinds import Kind, between, matching, not_empty, one_of

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "PostgreSQL"

_CONNECTION = (
    Setting(
        "target.hostname",
        Kind.STRING,
        "The target server's host name or address.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=matching(r"[A-Za-z0-9._:-]+", "a host name or an address, not a path or a list"),
    ),
    Setting("target.port", Kind.INT, "Its port.", "5432", HIGH, GROUP, validator=between(1, 65535)),
    Setting(
        "target.user",
        Kind.STRING,
        "The role to log in as; it makes schemas, tables and views.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=not_empty,
    ),
    Setting("target.password", Kind.PASSWORD, "Its password.", None, HIGH, GROUP),
    Setting(
        "target.dbname",
        Kind.STRING,
        "The database to write to.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=matching(r"[^=\0]{1,63}", "a database's name, not a connection string"),
    ),
    Setting(
        "target.sslmode",
        Kind.STRING,
        "How the connection is protected; less than verify-full only where you trust the network.",
        "verify-full",
        MEDIUM,
        GROUP,
        validator=one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        recommended=("verify-full", "verify-ca", "require", "disable"),
    ),
    *(
        Setting(
            f"target.{name}",
            Kind.STRING,
            doc,
            None,
            LOW,
            GROUP,
            validator=not_empty,
            file=True,
            authorities=name == "sslrootcert",
        )
        for name, doc in (
            (
                "sslrootcert",
                (
                    "The file with the authorities that sign the server, or the word system. "
                    "It lies in one of secrets.allow.folders or of the system's own."
                ),
            ),
            ("sslcert", "The file with our certificate. It lies in one of secrets.allow.folders."),
            ("sslkey", "The file with our private key. It lies in one of secrets.allow.folders."),
        )
    ),
    Setting("target.sslpassword", Kind.PASSWORD, "What unlocks our private key.", None, LOW, GROUP),
)

SETTINGS = Declared(
    settings=(
        *_CONNECTION,
        Setting(
            "target.schema",
            Kind.STRING,
            "The schema in which readers find a table, as a view under its own name; {database} and {schema}"
            " stand for those of the source.",
            "{schema}",
            MEDIUM,
            GROUP,
            validator=template_fault,
        ),
        Setting(
            "target.storage.schema",
            Kind.STRING,
            "The schema of the tables behind the views, which hold tombstones and our columns, and of what"
            " we keep about them.",
            "wrackline",
            LOW,
            GROUP,
            validator=matching(r"[^\0]{1,63}", "a name of 1 to 63 characters"),
        ),
        Setting(
            "target.lock.timeout.ms",
            Kind.INT,
            "How long a batch or a change of shape waits for somebody who holds its table.",
            "60000",
            LOW,
            GROUP,
            validator=between(1, 3_600_000),
        ),
    ),
    needs=(
        Need("target.sslcert", "target.sslkey"),
        Need("target.sslkey", "target.sslcert"),
        Need("target.sslpassword", "target.sslkey"),
    ),
)
