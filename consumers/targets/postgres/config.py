"""What can be set about a PostgreSQL target."""

from wrackline.consumers.contract.identifiers import template_fault
from wrackline.schemas.settings.declared.libpq_settings import GROUP, LOW, MEDIUM, connection
from wrackline.schemas.settings.setting import Declared, Requirement, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, between, in_bytes

SETTINGS = Declared(
    settings=(
        *connection(
            "target",
            host="The target server's host name or address.",
            role="The role to log in as; it makes schemas, tables and views.",
            database="The database to write to.",
        ),
        Setting(
            "target.schema",
            SettingKind.STRING,
            "The schema in which readers find a table, as a view under its own name; {database} and {schema}"
            " stand for those of the source.",
            "{schema}",
            MEDIUM,
            GROUP,
            validator=template_fault,
        ),
        Setting(
            "target.storage.schema",
            SettingKind.STRING,
            "The schema of the tables behind the views, which hold tombstones and our columns, and of what"
            " we keep about them.",
            "wrackline",
            LOW,
            GROUP,
            validator=in_bytes(63, "a name of 1 to 63 bytes"),
        ),
        Setting(
            "target.lock.timeout.ms",
            SettingKind.INT,
            "How long a batch or a change of shape waits for somebody who holds its table.",
            "60000",
            LOW,
            GROUP,
            validator=between(1, 3_600_000),
        ),
    ),
    needs=(
        Requirement("target.sslcert", "target.sslkey"),
        Requirement("target.sslkey", "target.sslcert"),
        Requirement("target.sslpassword", "target.sslkey"),
    ),
)
