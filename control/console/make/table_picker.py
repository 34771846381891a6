"""The table picker.  Pure.

In: the tables that a source has, as `DraftService.list_tables` answers, and the patterns of the draft.  Out:
rows to choose from; and, of what was chosen, the patterns that follow.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from wrackline.control.console.page_words import Badge
from wrackline.control.runtime.ground.number_text import size_text
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.settings.value_kinds import join_list, split_list

INCLUDE: Final = "table.include.list"
COLUMN_LISTS: Final[Mapping[str, str]] = {"out": "column.exclude.list", "text": "column.as.text"}
PAGE: Final = 100
_PICK: Final = "pick:"
_BADGES: Final[Mapping[str, Badge]] = {
    "YES": Badge("yes", "✓", "good"),
    "PARTIAL": Badge("partial", "~", "warn"),
    "NO": Badge("no", "✕", "bad"),
}


class PickedTable(NamedTuple):
    """A table to choose."""

    name: str  # schema.table
    field: str  # its check box
    rows: str
    size: str
    key: str
    columns: str
    support: Badge
    selected: bool
    hidden: str  # why it can't be captured; empty: it can


class TablePicker(NamedTuple):
    """A page of tables."""

    rows: Sequence[PickedTable]
    total: int
    after: int
    next: int | None

    @property
    def before(self) -> int | None:
        """Where the page before begins."""
        return max(0, self.after - PAGE) if self.after else None


class PickedColumn(NamedTuple):
    """A column on both sides."""

    name: str
    source: str
    target: str
    support: Badge
    note: str
    masked: bool
    choice: str  # a key of COLUMN_LISTS, or empty


def picker_of(found: Mapping[str, Any], after: int) -> TablePicker:
    """Show a page of tables."""
    return TablePicker([_row(one) for one in found["tables"]], found["total"], after, found["next"])


def patterns_of(settings: Mapping[str, str]) -> str:
    """Return the patterns of a draft, one a line."""
    return "\n".join(split_list(settings.get(INCLUDE, "")))


def chosen_tables(sent: Mapping[str, str]) -> str:
    """Return the value of `table.include.list`: the patterns that were sent, and the chosen tables."""
    lines = [line.strip() for line in sent.get("patterns", "").splitlines() if line.strip()]
    picked = [exact_pattern(*_names(field)) for field in sent if field.startswith(_PICK)]
    return join_list(tuple(dict.fromkeys([*lines, *picked])))


def columns_of(
    answer: Mapping[str, Any], schema: str, table: str, settings: Mapping[str, str]
) -> list[PickedColumn]:
    """Show a table's columns."""
    lists = {choice: split_list(settings.get(name, "")) for choice, name in COLUMN_LISTS.items()}
    return [_column(one, exact_pattern(schema, table, one["sourceName"]), lists) for one in answer["columns"]]


def chosen_columns(
    sent: Mapping[str, str], schema: str, table: str, settings: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the settings that follow from what was chosen for the columns of a table."""
    made = dict(settings)
    choices = {
        exact_pattern(schema, table, field.removeprefix("column:")): choice
        for field, choice in sent.items()
        if field.startswith("column:")
    }
    for choice, name in COLUMN_LISTS.items():
        kept = [one for one in split_list(made.pop(name, "")) if one not in choices]
        wanted = [pattern for pattern, chosen in choices.items() if chosen == choice]
        if listed := [*kept, *wanted]:
            made[name] = join_list(tuple(listed))
    return made


def _row(one: Mapping[str, Any]) -> PickedTable:
    columns = "" if one["numColumns"] is None else str(one["numColumns"])
    return PickedTable(
        ".".join(filter(None, (one["schema"] or one["database"], one["table"]))),
        f"{_PICK}{one['schema'] or one['database']}/{one['table']}",
        "" if one["rows"] is None else f"{one['rows']:,}",
        "" if one["bytes"] is None else size_text(one["bytes"]),
        ", ".join(one["key"]) or "none",
        columns,
        _BADGES[one["support"]],
        bool(one["selected"]),
        one["hidden"] or "",
    )


def _column(one: Mapping[str, Any], pattern: str, lists: Mapping[str, Iterable[str]]) -> PickedColumn:
    suggestion = one["suggestion"] or {}
    return PickedColumn(
        one["sourceName"],
        one["sourceType"],
        one["targetType"],
        _BADGES[one["support"]],
        suggestion.get("message") or one["loss"],
        "mask" in one["transforms"],
        next((choice for choice, patterns in lists.items() if pattern in patterns), ""),
    )


def _names(field: str) -> tuple[str, str]:
    schema, _, table = field.removeprefix(_PICK).partition("/")
    return schema, table
