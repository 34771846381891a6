"""The contract of a target: a folder below `targets/`, or another package's plug-in, found by its name.

    PLUGIN --open--> Target:  ensure_table / alter    the table has the plan's shape
                              stage(frame, plan)      rows are where the merge can read them
                              apply(staged, plan)     rows and offsets, in one commit
                              applied(table)          the only truth of progress

What targets can and can't do is data (`Capabilities`), read by the planner; how they do it stays in the
folder.  `apply` is the design's merge, whose plain model is testing/targets/merge_model.py; the promises are
testing/targets/target_suite.py, executable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from wrackline.consumers import targets
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.letters import LetterBox
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, PlannedColumn, TableMode
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.pipelines.plugin_finder import PluginSide, find
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind
from wrackline.schemas.versions import Coordinate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHARACTER_REFUSED = define(
    "target.character_refused",
    OperatorNeeded,
    "{place} of the target can't hold a text of the batch: it allows no such character",
    hint='set such records aside: errors.tolerance = "all"; or leave the column out:'
    " column.exclude.list; U+0000 is such a character where the target is PostgreSQL",
)

VALUE_REFUSED = define(
    "target.value_refused",
    OperatorNeeded,
    "{place} of the target can't hold a value of column {column}: it is {why}",
    hint='set such records aside: errors.tolerance = "all"; or leave the column out: column.exclude.list;'
    " a time or a date may fit as text: column.as.text",
)

ROW_REFUSED = define(
    "target.row_refused",
    OperatorNeeded,
    "{place} of the target can't hold a row of the batch: it is {why}",
    hint='set such records aside: errors.tolerance = "all"; or leave its long columns out:'
    " column.exclude.list",
)

Frame = TypeVar("Frame", contravariant=True)  # noqa: PLC0105 - read by callers, not only by mypy
Staged = TypeVar("Staged")


# What a target is asked to do. The other changes concern no stored column, or start the table over.
Alteration: TypeAlias = AddColumn | DropColumn | RenameColumn | ChangeType


def altered_columns(
    held: Mapping[int, PlannedColumn], plan: MergePlan, changes: Sequence[Alteration]
) -> dict[int, PlannedColumn]:
    """Follow the changes, by identity; one that is done already changes nothing."""
    wanted = {column.identity: column for column in plan.columns}
    made = dict(held)
    for change in changes:
        match change:
            case AddColumn(column):
                made.setdefault(column.identity, wanted[column.identity])
            case DropColumn(column):
                made.pop(column.identity, None)
            case RenameColumn(identity):
                new = wanted[identity]
                made[identity] = replace(made[identity], source=new.source, target=new.target)
            case ChangeType(identity):
                made[identity] = replace(made[identity], type=change.new)
    return made


class MergeStyle(Enum):
    """How a target brings newer rows over older ones."""

    MERGE = "merge"
    DELETE_INSERT = "delete+insert"  # in one transaction


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target can do, as data."""

    identifiers: Identifiers
    native: frozenset[Kind]  # kept in a type of the target's own; the others arrive as text
    most_decimal_digits: int
    merge: MergeStyle
    deletes: frozenset[Deletes]
    transactional_ddl: bool  # a change of shape can be undone with the rows
    renames: bool  # a column can change its name and keep its values
    drops: bool
    widens: frozenset[tuple[Kind, Kind]]  # from, to: the values stay; PostgreSQL writes rows again for some
    modes: frozenset[TableMode] = frozenset({TableMode.UPSERT})
    sets_aside: bool = False  # a table can be given another name, with all that is in it
    unheld: str = ""  # characters that no text may have; a text with one is refused with CHARACTER_REFUSED
    limits: Mapping[Kind, Limit] = field(default_factory=dict)  # a value beyond is refused with VALUE_REFUSED
    row_bytes: int | None = None  # of a row's texts and bytes; a longer row is refused with ROW_REFUSED
    upkeep_ms: int = 3_600_000  # between two upkeeps of a table, if nothing else is set
    whole: bool = True  # readers see all rows of a batch at once, however many they are


class UpkeepRemoval(Enum):
    """What an upkeep removes."""

    TOMBSTONES = "tombstones"  # of a table without a key: rows of pairs that came and went
    FILES = "files"  # of the table and of what leads to them
    SNAPSHOTS = "snapshots"  # states to which the table could be set back


@dataclass(frozen=True, slots=True)
class UpkeepResult:
    """What an upkeep did and found."""

    removed: Mapping[UpkeepRemoval, int] = field(
        default_factory=dict
    )  # without what the target does not have
    incomplete: int | None = (
        None  # rows that lack a value because nobody has sent it, so no reader sees them; None: unknown
    )


class Target(Protocol[Frame, Staged]):
    """One place that holds tables.

    A frame has at most one row a key, the newest change: `row` (the columns under the plan's target
    names), `seq`, `op`, `commit_ts`, `deleted`, `unsent` (columns whose stored value stays, if the stored
    row lives and has one) and `missing` (columns whose value nobody has: the row began partial).
    """

    @property
    def can(self) -> Capabilities:
        """What this target can do; the same for its whole life."""
        ...

    @property
    def letters(self) -> LetterBox:
        """Where it keeps the records that can't become rows; readers of the tables see nothing of them."""
        ...

    def held(self, table: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return the columns that the target's table has, with their identities; None without table."""
        ...

    def ensure_table(self, plan: MergePlan) -> None:
        """Create the table when it is not there; a table that is there is left as it is."""
        ...

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Bring the table from the shape before the changes to the plan's, by identity.

        Values stay with their column, also where two columns exchange their names.  What a crash
        left half done is completed by the same call, and repeated it changes nothing.
        """
        ...

    def stage(self, frame: Frame, plan: MergePlan) -> Staged:
        """Put the frame where `apply` can read it; readers of the table see nothing of it."""
        ...

    def apply(self, staged: Staged, plan: MergePlan) -> None:
        """Merge, and commit rows and `plan.upto` together or not at all (INV-5, INV-7).

        Where `can.whole` is false, a batch that is greater than one commit appears in parts, and `plan.upto`
        is committed with the last of them: what a crash leaves of the parts, the same batch completes.
        A table that has not applied all of `plan.since` is refused with SET_BACK: somebody has dropped it
        or set it back, and what lies between would be missing forever.  A table that has applied more of
        the batch's partitions is refused with MOVED_ON: another consumer has merged meanwhile.
        After an error of unknown result, `applied` has the answer.  What is applied becomes
        `applied.then(plan.upto)`: it never moves back.
        """
        ...

    def applied(self, table: TableId) -> Applied:
        """Return what was committed with the table's rows; nothing before the first batch."""
        ...

    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        """Compact, expire, and forget tombstones committed at the source before this moment."""
        ...

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return findings; change nothing."""
        ...

    def close(self) -> None:
        """End what is still open; a second call is harmless."""
        ...


@runtime_checkable
class Dropping(Protocol):
    """A target that can take its tables away, or out of the way; it may be left out."""

    def drop(self, table: TableId) -> bool:
        """Drop a table of ours with its dead letters and what is kept about it; False: it is not there.

        A table that says it is another's raises an error, and stays.
        """
        ...

    def set_aside(self, table: TableId, suffix: str) -> str | None:
        """Give a table of ours another name, which ends so, in one step, and keep nothing about it.

        A name that is taken is left alone, and a number is added.  Return how readers find it; None: it is
        not there.  Only where `can.sets_aside`; a table that says it is another's raises an error, and stays.
        """
        ...


@runtime_checkable
class Counting(Protocol):
    """A target that can count what a reader sees; it may be left out."""

    def count(self, table: TableId) -> int:
        """Return how many rows a reader of this table sees; 0 if it is not there."""
        ...


@runtime_checkable
class Reading(Protocol):
    """A target that can read a small table as a reader does; it may be left out."""

    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        """Return its rows, each with the columns of `held` in their order, as the driver has their values."""
        ...


SparkTarget: TypeAlias = "Target[DataFrame, Any]"


@dataclass(frozen=True, slots=True)
class SparkNeeds:
    """What a target's Spark session is built with: a running one takes neither jars nor extensions."""

    jars: tuple[Coordinate, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)


class TargetPlugin(Protocol):
    """What a target's folder offers as `PLUGIN`, and the entry point of another package as its object.

    One of another package also says with `contract` for which version of this contract it was made.
    """

    @property
    def kind(self) -> str:
        """The name of the folder or the entry point."""
        ...

    @property
    def settings(self) -> Declared:
        """What can be set about this target, declared once."""
        ...

    def needs(self, settings: Values) -> SparkNeeds:
        """Say what the session that `open` is given has to be built with."""
        ...

    def open(self, settings: Values, spark: "SparkSession") -> "SparkTarget":
        """Check the settings and connect; OperatorNeeded before anything has changed in the target."""
        ...


# The version rises when a plug-in that keeps the contract of today would not keep the new one.
TARGETS: Final = PluginSide("target", targets, contract=1, parts=("needs", "open"))


def load_target(kind: str) -> TargetPlugin:
    """Find a target by its name."""
    return cast("TargetPlugin", find(TARGETS, kind))
