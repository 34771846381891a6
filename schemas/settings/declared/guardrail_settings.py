"""Settings that bound how many tables a pipeline may capture; names, meanings and defaults are Debezium's."""

from wrackline.schemas.settings.setting import Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, between, one_of

GUARDRAIL = (
    Setting(
        "guardrail.collections.max",
        SettingKind.INT,
        "How many tables a pipeline may capture; 0 is no limit. They are counted when the pipeline starts.",
        "0",
        Importance.LOW,
        "Filters",
        validator=between(0, 1_000_000),
    ),
    Setting(
        "guardrail.collections.limit.action",
        SettingKind.STRING,
        "What happens if more tables than guardrail.collections.max pass the filters: a warning, or the"
        " pipeline does not start.",
        "warn",
        Importance.LOW,
        "Filters",
        validator=one_of("warn", "fail"),
        recommended=("warn", "fail"),
    ),
)
