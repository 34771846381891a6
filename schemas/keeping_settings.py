"""Settings of how a target keeps its tables: rows, their versions, or events; and what a delete leaves."""

from wrackline.schemas.setting import Importance, Setting
from wrackline.schemas.setting_kinds import Kind, each, one_of, regular_expression

_PATTERNS = each(regular_expression)

KEEPING = (
    Setting(
        "target.mode",
        Kind.STRING,
        "What a table of the target holds: upsert is the rows as they are now, history each version of a row "
        "with when it began and ended, append every event. A table keeps the mode that it was made in.",
        "upsert",
        Importance.HIGH,
        "Target",
        validator=one_of("upsert", "history", "append"),
        recommended=("upsert", "history", "append"),
    ),
    Setting(
        "target.deletes",
        Kind.STRING,
        "What a deleted row leaves in an upsert table: soft is a mark that no older event can undo, which "
        "readers do not see and upkeep forgets; hard is nothing.",
        "soft",
        Importance.MEDIUM,
        "Target",
        validator=one_of("soft", "hard"),
        recommended=("soft", "hard"),
    ),
    Setting(
        "target.history.columns",
        Kind.LIST,
        "Regular expressions of the schema.table.column whose change begins a new version in a history; "
        "without it all do.",
        None,
        Importance.LOW,
        "Target",
        validator=_PATTERNS,
    ),
    Setting(
        "target.history.except",
        Kind.LIST,
        "Regular expressions of the schema.table.column whose change begins no new version in a history.",
        None,
        Importance.LOW,
        "Target",
        validator=_PATTERNS,
    ),
)
EXCLUSIVE = ("target.history.columns", "target.history.except")
