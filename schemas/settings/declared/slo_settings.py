"""Settings of the promise how old copies may be, and in how many minutes of a month."""

from wrackline.schemas.settings.setting import Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, between

_GROUP = "Freshness"

SLO = (
    Setting(
        "slo.minutes",
        SettingKind.INT,
        "How old the copy of a table may be: a minute is bad if at some time in it the copy is complete only"
        " as the database was longer ago. Without it minutes are not counted, and the earlier ones are"
        " forgotten.",
        None,
        Importance.MEDIUM,
        _GROUP,
        validator=between(1, 1_440),
    ),
    Setting(
        "slo.percent",
        SettingKind.DOUBLE,
        "How many percent of a table's minutes are to be good.",
        "99",
        Importance.LOW,
        _GROUP,
        validator=between(50, 100),
    ),
    Setting(
        "slo.window.days",
        SettingKind.INT,
        "The number of days over which the percentage is judged; older minutes are forgotten.",
        "30",
        Importance.LOW,
        _GROUP,
        validator=between(1, 90),
    ),
)
SLO_NEEDS = (Requirement("slo.minutes", "target.kind"),)
