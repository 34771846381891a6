"""What can be set about a Snowflake target."""

from wrackline.consumers.contract.place_settings import endpoint_setting, place_settings, required_setting
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, between, matching, not_empty

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "Snowflake"

SETTINGS = Declared(
    settings=(
        required_setting(
            GROUP,
            "target.account",
            "The account, as <organization>-<account>.",
            matching(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "an account's identifier, not an address"),
        ),
        Setting(
            "target.hostname",
            SettingKind.STRING,
            "The account's host, where it is not <account>.snowflakecomputing.com.",
            None,
            LOW,
            GROUP,
            validator=matching(r"[A-Za-z0-9][A-Za-z0-9._-]*", "a host name, without a port"),
            host=True,
        ),
        required_setting(GROUP, "target.user", "The user to log in as, whose public key the account knows."),
        Setting(
            "target.private.key.file",
            SettingKind.STRING,
            "The file with the user's private key, PKCS#8 in PEM. It must be in one of"
            " secrets.allow.folders.",
            None,
            HIGH,
            GROUP,
            required=True,
            validator=not_empty,
            file=True,
        ),
        Setting(
            "target.private.key.passphrase",
            SettingKind.PASSWORD,
            "The passphrase of the private key.",
            None,
            MEDIUM,
            GROUP,
        ),
        Setting(
            "target.role",
            SettingKind.STRING,
            "The role to work as; without it, the user's default one.",
            None,
            MEDIUM,
            GROUP,
            validator=not_empty,
        ),
        required_setting(GROUP, "target.warehouse", "The warehouse that loads and merges."),
        required_setting(GROUP, "target.dbname", "The database to write to."),
        endpoint_setting(GROUP),
        *place_settings(GROUP, 255),
        Setting(
            "target.statement.timeout.ms",
            SettingKind.INT,
            "How long one statement may run.",
            "3600000",
            LOW,
            GROUP,
            validator=between(1000, 604_800_000),
        ),
    ),
)
