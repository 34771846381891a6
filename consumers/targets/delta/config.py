"""What can be set about a Delta target.

In: nothing.  Out: the declarations.  What the file system wants to know is passed on as it is, under
`target.storage.`; such a value may be a password or a token, so none of them is ever shown.
"""

import re

from wrackline.consumers.contract.place_settings import storage_setting
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, Value, between, not_empty

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "Delta"

_HOUR_MS = 3_600_000
_WEEK_MS = 7 * 24 * _HOUR_MS


def _namespace(value: Value) -> str | None:
    fits = re.fullmatch(r"(?:[^{}/]|\{database\}|\{schema\})+", str(value))
    return None if fits else "expected one folder's name, in which {database} and {schema} may stand"


SETTINGS = Declared(
    settings=(
        Setting(
            "target.warehouse",
            SettingKind.STRING,
            "Where the tables lie: a folder, or an address (s3a://bucket/folder). Two pipelines may share it "
            "if no two of their tables have the same name.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=not_empty,
            located=True,
        ),
        Setting(
            "target.namespace",
            SettingKind.STRING,
            "The folder of a table below the warehouse: {database} and {schema} stand for its own.",
            "{schema}",
            MEDIUM,
            GROUP,
            validator=_namespace,
        ),
        storage_setting(GROUP),
        Setting(
            "target.snapshot.retention.ms",
            SettingKind.LONG,
            "How long the files and the log of older versions of a table stay, for readers that are behind "
            "and to set a table back.",
            str(_WEEK_MS),
            LOW,
            GROUP,
            validator=between(_HOUR_MS, 2**53),
        ),
    ),
)
