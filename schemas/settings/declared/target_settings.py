"""Settings of the target: its kind, and how it keeps tables: rows, their versions, or events.

What a changed table does to it is here, and what a delete leaves.
"""

from wrackline.schemas.settings.setting import Importance, Setting, ends_with_table
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    between,
    each,
    matching,
    one_of,
    regular_expression,
)

DROP_TABLE, RENAME_TABLE, TRUNCATE_TABLE = "DROP_TABLE", "RENAME_TABLE", "TRUNCATE_TABLE"
CHANGES = (
    "ADD_COLUMN",
    "DROP_COLUMN",
    "RENAME_COLUMN",
    "ALTER_TYPE",
    DROP_TABLE,
    RENAME_TABLE,
    TRUNCATE_TABLE,
)
_PATTERNS = each(regular_expression)

KEEPING = (
    Setting(
        "target.run",
        SettingKind.STRING,
        "Which process merges into the target. worker: `wrackline worker` runs it as the pipeline's second"
        " task. alone: nobody, until you start `wrackline consume`. `wrackline run` never runs it.",
        "worker",
        Importance.MEDIUM,
        "Target",
        validator=one_of("worker", "alone"),
        recommended=("worker", "alone"),
    ),
    Setting(
        "target.mode",
        SettingKind.STRING,
        "What a table of the target contains. upsert: the current rows. history: each version of a row,"
        " with the times when it began and ended. append: every event. A table keeps the mode in which it"
        " was created.",
        "upsert",
        Importance.HIGH,
        "Target",
        validator=one_of("upsert", "history", "append"),
        recommended=("upsert", "history", "append"),
    ),
    Setting(
        "target.deletes",
        SettingKind.STRING,
        "What a deleted row leaves in an upsert table. soft: a mark that no older event can undo; readers"
        " do not see it, and upkeep removes it later. hard: nothing.",
        "soft",
        Importance.MEDIUM,
        "Target",
        validator=one_of("soft", "hard"),
        recommended=("soft", "hard"),
    ),
    Setting(
        "target.history.columns",
        SettingKind.LIST,
        "Regular expressions for each schema.table.column whose change starts a new version in a history;"
        " without them, every column does.",
        None,
        Importance.LOW,
        "Target",
        validator=_PATTERNS,
    ),
    Setting(
        "target.history.except",
        SettingKind.LIST,
        "Regular expressions for each schema.table.column whose change starts no new version in a history.",
        None,
        Importance.LOW,
        "Target",
        validator=_PATTERNS,
    ),
)
EXCLUSIVE = ("target.history.columns", "target.history.except")


DROP_BEHAVIOUR = "target.drop.behavior"
DROP_OF_TABLE = "target.drop.behavior.<table>"
DROP_AFTER = "target.drop.after.ms"
_DROPS = ("keep", "rename", "drop")

DROPPING = (
    Setting(
        DROP_BEHAVIOUR,
        SettingKind.STRING,
        "What becomes of a table of the target when its table at the source is dropped or renamed and all of"
        " its rows are merged. keep: nothing. rename: it becomes <table>__dropped_<date>. drop: it is removed"
        " with its rows after target.drop.after.ms.",
        "keep",
        Importance.MEDIUM,
        "Target",
        validator=one_of(*_DROPS),
        recommended=_DROPS,
    ),
    Setting(
        DROP_OF_TABLE,
        SettingKind.STRING,
        "The same for one table, named as schema.table.",
        None,
        Importance.LOW,
        "Target",
        validator=one_of(*_DROPS),
        recommended=_DROPS,
    ),
    Setting(
        DROP_AFTER,
        SettingKind.LONG,
        "For how many milliseconds a table that is to be dropped stays, so that an operator can keep it:"
        " wrackline table keep. A table that comes back meanwhile is not dropped.",
        "86400000",
        Importance.MEDIUM,
        "Target",
        validator=between(0, 366 * 86_400_000),
    ),
)


TARGET = (
    Setting(
        "target.kind",
        SettingKind.CLASS,
        "The kind of target; without it the pipeline ends in Kafka.",
        None,
        Importance.HIGH,
        "Target",
    ),
    Setting(
        "target.schema.change.behavior",
        SettingKind.STRING,
        "How a target follows a table whose columns change. exception: the table stops. evolve: the target"
        " follows, or the table stops. try_evolve: the target follows as far as it can. lenient: columns"
        " are only added or widened. ignore: nothing changes.",
        "evolve",
        Importance.MEDIUM,
        "Target",
        validator=one_of("exception", "evolve", "try_evolve", "lenient", "ignore"),
        recommended=("evolve", "try_evolve", "lenient", "ignore", "exception"),
    ),
    Setting(
        "target.schema.change.exclude",
        SettingKind.LIST,
        "Changes that no table of the target follows, whatever target.schema.change.behavior says:"
        " ADD_COLUMN, DROP_COLUMN, RENAME_COLUMN, ALTER_TYPE, DROP_TABLE, RENAME_TABLE, TRUNCATE_TABLE. The"
        " copy of a table that is dropped or renamed then stays, unless target.drop.behavior.<table> says"
        " otherwise. A truncate is then not published. A table stops where the old type of a column does not"
        " hold all values of the new one.",
        "none",
        Importance.LOW,
        "Target",
        validator=each(one_of("none", *CHANGES)),
        recommended=("none", *CHANGES),
    ),
    Setting(
        "target.schema.change.exclude.<table>",
        SettingKind.LIST,
        "Changes that one table, written as schema.table, does not follow besides those of"
        " target.schema.change.exclude.",
        None,
        Importance.LOW,
        "Target",
        validator=each(one_of(*CHANGES)),
        named=ends_with_table("target.schema.change.exclude"),
    ),
    Setting(
        "target.column.prefix",
        SettingKind.STRING,
        "The prefix of Wrackline's own columns in a target. Never change it for tables that already exist.",
        "_wl_",
        Importance.LOW,
        "Target",
        validator=matching(r"[A-Za-z_][A-Za-z0-9_]{0,19}", "1 to 20 letters, digits or _"),
    ),
)
