"""What can be set about a Spanner target."""

from dataclasses import replace

from wrackline.consumers.contract.place_settings import credentials_setting, endpoint_setting, place_settings
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, matching, one_of

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "Spanner"
SCHEMA = "{database}_{schema}"  # Spanner lets nobody name a schema `public`
DEFINER, INVOKER = "definer", "invoker"


def _place(one: Setting) -> Setting:
    return replace(one, default=SCHEMA) if one.name == "target.schema" else one


SETTINGS = Declared(
    settings=(
        Setting(
            "target.project",
            SettingKind.STRING,
            "The project that has the instance.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=matching(r"[a-z0-9.:-]{1,100}", "a project's id, such as shop-123456"),
        ),
        Setting(
            "target.instance",
            SettingKind.STRING,
            "The instance that has the database.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=matching(r"[a-z][a-z0-9-]{0,62}[a-z0-9]", "an instance's id"),
        ),
        Setting(
            "target.dbname",
            SettingKind.STRING,
            "The database to write to, which is there already; its dialect is GoogleSQL.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=matching(r"[a-z][a-z0-9_-]{0,28}[a-z0-9]", "a database's id"),
        ),
        credentials_setting(GROUP),
        *map(_place, place_settings(GROUP, 128)),
        Setting(
            "target.view.security",
            SettingKind.STRING,
            "With whose rights a view reads the table behind it: definer (a reader needs a right to the view"
            " alone), or invoker (a reader needs one to the table too).",
            DEFINER,
            LOW,
            GROUP,
            validator=one_of(DEFINER, INVOKER),
        ),
        endpoint_setting(GROUP),
    )
)
