"""What the screen of settings shows: those that differ from their defaults, or all, by group.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from urllib.parse import quote

from wrackline.control.runtime.ground.number_text import count_text
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce, SettingOrigin

CHANGED: Final = "changed"
ALL: Final = "all"
_OTHER: Final = "Other"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting in words."""

    name: str
    value: str  # empty: it has none
    origin: str
    default: str  # what it would be if it were not given; empty: nothing, or it is the default
    doc: str


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """The page."""

    name: str
    show: str
    text: str
    groups: Sequence[tuple[str, Sequence[SettingRow]]]
    counts: Mapping[str, int]  # by what may be shown
    summary: str
    commands: Sequence[tuple[str, str]]  # that change a setting


def settings_page(
    name: str, settings: Sequence[SettingInForce], show: str = CHANGED, text: str = "", *, grouped: bool
) -> SettingsPage:
    """Make the page; `grouped`: settings are made by REST, not by files."""
    show, word = show if show in (CHANGED, ALL) else CHANGED, text.strip().lower()
    shown = [
        one
        for one in settings
        if (show == ALL or one.changed) and word in f"{one.name} {one.group} {one.doc}".lower()
    ]
    origins = {
        SettingOrigin.OWN: "REST" if grouped else "file",
        SettingOrigin.GROUP: "the group's file",
        SettingOrigin.DEFAULT: "default",
    }
    return SettingsPage(
        name,
        show,
        text.strip(),
        [
            (group or _OTHER, [_row(one, origins) for one in its])
            for group, its in groupby(shown, lambda one: one.group)
        ],
        {CHANGED: sum(one.changed for one in settings), ALL: len(settings)},
        count_text(len(shown), "setting", "settings"),
        _by_rest(name) if grouped else _BY_FILE,
    )


_BY_FILE: Final = (
    ("Change the file, and check it", "wrackline check pipeline.toml"),
    (
        "Then end the worker and start it again with all its files: it reads them once",
        "wrackline worker pipeline.toml --rest-port 8083",
    ),
    (
        "Stop the pipeline, and delete what it created; see first what that would be",
        "wrackline delete pipeline.toml --topics --tables --dry-run",
    ),
)


def _by_rest(name: str) -> Sequence[tuple[str, str]]:
    path = f"/connectors/{quote(name, safe='')}"
    return (
        ("Send all settings from a file; its tasks start again with them", "wrackline apply pipeline.toml"),
        ("Or change some of them by REST; null removes one", f'PATCH {path}/config  {{"<name>": "<value>"}}'),
        ("Delete the pipeline; what it created stays, and a slot holds its source's log", f"DELETE {path}"),
        (
            "Then delete what it created; see first what that would be",
            "wrackline delete pipeline.toml --topics --tables --dry-run",
        ),
    )


def _row(one: SettingInForce, origins: Mapping[SettingOrigin, str]) -> SettingRow:
    return SettingRow(
        one.name, one.value or "", origins[one.origin], (one.default or "") if one.changed else "", one.doc
    )
