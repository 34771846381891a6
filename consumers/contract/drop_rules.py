"""What becomes of a table of the target when its table at the source is gone: `target.drop.behavior`.

    target.drop.behavior                = keep            of all tables
    "target.drop.behavior.public.orders" = drop           of one, named as schema.table

In: the settings.  Out: for a table, named by its topic without the server, what becomes of it, and when.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from wrackline.consumers.contract.target import Capabilities
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.declared.target_settings import DROP_AFTER, DROP_BEHAVIOUR, DROP_OF_TABLE
from wrackline.schemas.settings.settings_registry import Values

NO_OTHER_NAME = define(
    "target.no_other_name",
    OperatorNeeded,
    "this target can't give a table another name, as {setting} = rename asks for",
    hint='set it to "keep", or to "drop", which waits for target.drop.after.ms; Iceberg renames tables in a'
    " catalogue of the type rest, hive or glue, and Delta in a warehouse on a disk or HDFS",
)
_NOT_IN_TOPICS = re.compile(r"[^a-zA-Z0-9._-]")


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

    @classmethod
    def of(cls, values: Values) -> Self:
        """Read the settings."""
        single = {
            _NOT_IN_TOPICS.sub("_", named["table"]): DropBehaviour(str(behaviour))
            for named, behaviour in values.family(DROP_OF_TABLE)
        }
        return cls(DropBehaviour(values.text(DROP_BEHAVIOUR)), single, values.integer(DROP_AFTER))

    @property
    def acts(self) -> bool:
        """Whether anything becomes of any table."""
        return {self.every, *self.single.values()} != {DropBehaviour.KEEP}

    def check(self, can: Capabilities) -> None:
        """Refuse what the target can't do."""
        if not can.sets_aside and DropBehaviour.RENAME in (self.every, *self.single.values()):
            raise NO_OTHER_NAME(setting=DROP_BEHAVIOUR)

    def of_table(self, table: str) -> DropBehaviour:
        """Return what becomes of a table; of two names that fit, the longer one says more."""
        named = [name for name in self.single if table == name or table.endswith(f".{name}")]
        return self.single[max(named, key=len)] if named else self.every
