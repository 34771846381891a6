"""What can be set about a BigQuery target."""

from wrackline.consumers.contract.place_settings import credentials_setting, place_settings, required_setting
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    at_least,
    between,
    http_address,
    matching,
    one_of,
)

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
GROUP = "BigQuery"
BY_KEY = "key"

SETTINGS = Declared(
    settings=(
        required_setting(
            GROUP,
            "target.project",
            "The project that has the datasets, in which jobs run, and which pays for them.",
            matching(r"[a-z0-9.:-]{1,100}", "a project's id, such as shop-123456"),
        ),
        Setting(
            "target.location",
            SettingKind.STRING,
            "Where jobs run and datasets are made; a job sees only datasets of its own location.",
            "US",
            HIGH,
            GROUP,
            validator=matching(r"[A-Za-z0-9-]{1,50}", "a location, such as EU or europe-west3"),
        ),
        credentials_setting(GROUP),
        *place_settings(GROUP, 1024, locks=False),
        Setting(
            "target.partition",
            SettingKind.STRING,
            "Whether new tables are cut by their key, so that a batch reads and pays for only the parts that"
            " have its keys: key (its first whole number, or else its first day), or none.",
            BY_KEY,
            MEDIUM,
            GROUP,
            validator=one_of(BY_KEY, "none"),
        ),
        Setting(
            "target.partition.width",
            SettingKind.LONG,
            "How many whole numbers one part of a table has; there are 3998 parts from 0 on, and one for all"
            " other numbers.",
            "1000000",
            LOW,
            GROUP,
            validator=between(1, 2**50),
        ),
        Setting(
            "target.job.timeout.ms",
            SettingKind.LONG,
            "How long BigQuery may work on one load or one batch before it is ended and tried again.",
            "3600000",
            LOW,
            GROUP,
            validator=at_least(1000),
        ),
        Setting(
            "target.endpoint",
            SettingKind.STRING,
            "Another address of BigQuery's API, as Private Service Connect has one; to one that begins with"
            " http:, as an emulator's does, no credentials are sent.",
            None,
            LOW,
            GROUP,
            validator=http_address("an address such as https://bigquery-shop.p.googleapis.com"),
            host=True,
        ),
    )
)
