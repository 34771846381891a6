"""What the screen of shapes shows: each version with what it changed, and two of them beside.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.control.runtime.events.shape_looks import ShapeLook
from wrackline.control.runtime.events.table_shapes import (
    ColumnDifference,
    DifferenceKind,
    ShapeColumn,
    TableShape,
    differences,
    steps_of,
)
from wrackline.control.runtime.ground.number_text import count_text

_MOST: Final = 4  # changes that a line names
_TONES: Final = {
    DifferenceKind.ADDED: "good",
    DifferenceKind.DROPPED: "bad",
    DifferenceKind.RENAMED: "busy",
    DifferenceKind.TYPE: "warn",
    DifferenceKind.NULLABLE: "idle",
    DifferenceKind.REQUIRED: "idle",
    DifferenceKind.KEY: "bad",
}


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change in words."""

    word: str
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """A version, with what it changed of the one before."""

    version: int
    schema_id: int
    columns: str
    changes: Sequence[ChangeRow]
    more: int
    is_first: bool


@dataclass(frozen=True, slots=True)
class ShapesPage:
    """The page; `old` and `new` are the versions that are compared."""

    pipeline: str
    table: str
    subject: str
    server: str
    steps: Sequence[ShapeStep]
    left_out: int
    old: int
    new: int
    changes: Sequence[ChangeRow]
    columns: Sequence[ShapeColumn]
    versions: Sequence[int]


def shapes_page(pipeline: str, table: str, look: ShapeLook, old: int = 0, new: int = 0) -> ShapesPage:
    """Make the page; without versions the newest is compared with the one before."""
    known = {one.version: one for one in look.shapes}
    newest = known.get(new) or (look.shapes[-1] if look.shapes else None)
    versions = sorted(known)
    earlier = [version for version in versions if newest is not None and version < newest.version]
    oldest = known.get(old) or (known[earlier[-1]] if earlier else newest)
    steps = [_step(before, shape) for before, shape in steps_of(look.shapes)]
    changes = differences(oldest, newest) if oldest is not None and newest is not None else ()
    return ShapesPage(
        pipeline,
        table,
        look.subject,
        look.server,
        list(reversed(steps)),
        look.left_out,
        0 if oldest is None else oldest.version,
        0 if newest is None else newest.version,
        [_row(one) for one in changes],
        () if newest is None else newest.columns,
        versions,
    )


def _step(before: TableShape | None, shape: TableShape) -> ShapeStep:
    changes = [] if before is None else [_row(one) for one in differences(before, shape)]
    return ShapeStep(
        shape.version,
        shape.schema_id,
        count_text(len(shape.columns), "column", "columns"),
        changes[:_MOST],
        max(0, len(changes) - _MOST),
        before is None,
    )


def _row(change: ColumnDifference) -> ChangeRow:
    match change.kind:
        case DifferenceKind.ADDED:
            text = f"{change.column} {change.after}"
        case DifferenceKind.DROPPED:
            text = f"{change.column} {change.before}"
        case DifferenceKind.RENAMED | DifferenceKind.KEY:
            text = f"{change.before} → {change.after}"
        case DifferenceKind.TYPE:
            text = f"{change.column}: {change.before} → {change.after}"
        case DifferenceKind.NULLABLE | DifferenceKind.REQUIRED:
            text = change.column
    return ChangeRow(change.kind.value, _TONES[change.kind], text)
