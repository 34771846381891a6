"""What a format of tables does in its own way; everything else of a lake's target is lake_target.py.

In: a session, and a table that is there.  Out: statements of the format, and what its metadata says.

A commit that another has overtaken fails with one of `FAILED`, and the format knows which these are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, MergePlan
from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.consumers.lake.letters_table import LettersTableFormat
from wrackline.consumers.lake.table_shape import FormatRules, TableAddress, TableOrigin
from wrackline.schemas.errors import ErrorCode
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

T = TypeVar("T")

FAILED = (PySparkException, Py4JError)  # Java's own exceptions come as the second


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table that is there, as its metadata was a moment ago."""

    address: TableAddress
    properties: Mapping[str, str]
    origin: TableOrigin

    @property
    def name(self) -> str:
        """Its name in Spark SQL."""
        return self.address.name


class LakeProgress(Protocol):
    """What a table's history says; a format may read more from it."""

    @property
    def applied(self) -> Applied:
        """What is applied."""
        ...


P = TypeVar("P", bound=LakeProgress)


@dataclass(frozen=True, slots=True)
class TableFormat(Generic[P]):
    """One format, in the place that a pipeline's settings name."""

    identifiers: Identifiers
    rules: FormatRules
    letters: LettersTableFormat
    address: Callable[[TableId], TableAddress]  # where a table is, or would be
    properties: Callable[[SparkSession, str], Mapping[str, str] | None]  # None: there is no such table
    create: Callable[[SparkSession, MergePlan, TableAddress], None]  # unless another driver just has
    progress: Callable[[SparkSession, LakeTable], P]
    # Merge the staged batch, and say in the same commit what is applied; False: the commit was skipped.
    merge: Callable[[SparkSession, MergePlan, LakeTable, P], bool]
    is_conflict: Callable[[Exception], bool]  # whether a commit was refused because another came first
    conflict: ErrorCode  # of a batch that another driver has overtaken
    # Make sure that commits which do not say what is applied lose nothing of it.
    keep_progress: Callable[[SparkSession, LakeTable], None]
    compact: Callable[[SparkSession, LakeTable], None]
    shorten: Callable[[SparkSession, LakeTable], Mapping[UpkeepRemoval, int]]
    # Return what removes the table with its files, or refuse before anything is removed.
    removal: Callable[[SparkSession, LakeTable], Callable[[], None]]
    check: Callable[[SparkSession, Sequence[TableId]], Sequence[Finding]]
    # Give the table another name that ends so, and return that; None: a table can't have another name here.
    rename: Callable[[SparkSession, LakeTable, str], str] | None = None


def unless_overtaken(is_conflict: Callable[[Exception], bool], step: Callable[[], T]) -> T | None:
    """Do a step that commits; None: another's commit came first, and nothing of the step is there."""
    try:
        return step()
    except FAILED as exc:
        if not is_conflict(exc):
            raise
        return None
