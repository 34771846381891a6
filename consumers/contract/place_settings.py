"""What can be set about where tables and views are, for targets that show a table as a view.

Services that people can't run themselves may also have an emulator in their place.
"""

from wrackline.consumers.contract.identifiers import template_fault
from wrackline.schemas.settings.setting import Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, between, http_address, in_bytes


def place_settings(group: str, most_bytes: int) -> tuple[Setting, ...]:
    """Declare them for the settings page's group; a name of the target has so many bytes at most."""
    return (
        Setting(
            "target.schema",
            SettingKind.STRING,
            "The schema in which readers find a table, as a view under its own name; {database} and {schema}"
            " stand for those of the source.",
            "{schema}",
            Importance.MEDIUM,
            group,
            validator=template_fault,
        ),
        Setting(
            "target.storage.schema",
            SettingKind.STRING,
            "The schema of the tables behind the views, which hold tombstones and our columns, and of what"
            " we keep about them.",
            "wrackline",
            Importance.LOW,
            group,
            validator=in_bytes(most_bytes, f"a name of 1 to {most_bytes} bytes"),
        ),
        Setting(
            "target.lock.timeout.ms",
            SettingKind.INT,
            "How long a batch or a change of shape waits for somebody who holds its table.",
            "60000",
            Importance.LOW,
            group,
            validator=between(1, 3_600_000),
        ),
    )


def endpoint_setting(group: str) -> Setting:
    """Declare the address of an emulator, for the settings page's group."""
    return Setting(
        "target.endpoint",
        SettingKind.STRING,
        "The address of an emulator that answers in place of the service, for tests and the demo. Over http:"
        " the log-in and the rows are not encrypted.",
        None,
        Importance.LOW,
        group,
        validator=http_address("http://<host>:<port> or https://<host>:<port>"),
        host=True,
    )
