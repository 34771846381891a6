"""What becomes of a table of the target when its table at the source is gone: `target.drop.behavior`.

    target.drop.behavior                 = keep           of all tables
    "target.drop.behavior.public.orders" = drop           of one, named as schema.table
    target.schema.change.exclude         = DROP_TABLE     copies of dropped tables stay
    "target.schema.change.exclude.…"     = RENAME_TABLE   of one, whatever the others say

In: the settings.  Out: for a table, named by its topic without the server, what becomes of it, and when.
What names the table counts more than what is for all tables; of two alike, the one that keeps the copy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from wrackline.consumers.contract.target import Capabilities
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.pipelines.publication_settings import excluded_changes, naming_of
from wrackline.schemas.pipelines.table_lists import TableLists
from wrackline.schemas.settings.declared.target_settings import (
    DROP_AFTER,
    DROP_BEHAVIOUR,
    DROP_OF_TABLE,
    DROP_TABLE,
    RENAME_TABLE,
)
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

NO_OTHER_NAME = define(
    "target.no_other_name",
    OperatorNeeded,
    "this target can't give a table another name, as {setting} = rename asks for",
    hint='set it to "keep", or to "drop", which waits for target.drop.after.ms; Iceberg renames tables in a'
    " catalogue of the type rest, hive or glue, and Delta in a warehouse on a disk or HDFS",
)


class DropBehaviour(Enum):
    """What becomes of a table."""

    KEEP = "keep"
    RENAME = "rename"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class DropRules:
    """What becomes of each table."""

    every: DropBehaviour = DropBehaviour.KEEP
    single: Mapping[str, DropBehaviour] = field(default_factory=dict)
    after_ms: int = 0
    excluded: TableLists = field(default_factory=lambda: TableLists((), (), Naming.WRACKLINE))

    @classmethod
    def of(cls, values: Values) -> Self:
        """Read the settings."""
        naming = naming_of(values)
        single = {
            ".".join(map(naming.part, named["table"].split("."))): DropBehaviour(str(behaviour))
            for named, behaviour in values.family(DROP_OF_TABLE)
        }
        every, after = DropBehaviour(values.text(DROP_BEHAVIOUR)), values.integer(DROP_AFTER)
        return cls(every, single, after, excluded_changes(values))

    @property
    def acts(self) -> bool:
        """Whether anything becomes of any table."""
        return {self.every, *self.single.values()} != {DropBehaviour.KEEP}

    def check(self, can: Capabilities) -> None:
        """Refuse what the target can't do."""
        if not can.sets_aside and DropBehaviour.RENAME in (self.every, *self.single.values()):
            raise NO_OTHER_NAME(setting=DROP_BEHAVIOUR)

    def of_table(self, table: str, *, renamed: bool = False) -> DropBehaviour:
        """Return what becomes of a table; of two names that fit, the longer one says more."""
        over, _, name = table.rpartition(".")
        change, its = RENAME_TABLE if renamed else DROP_TABLE, TableId("", over.rpartition(".")[2], name)
        if change in self.excluded.more_of_copy(its):
            return DropBehaviour.KEEP
        named = [name for name in self.single if table == name or table.endswith(f".{name}")]
        if named:
            return self.single[max(named, key=len)]
        return DropBehaviour.KEEP if change in self.excluded.everywhere else self.every
