"""What the pages of lineage show: the way of each table, and how it is.  Pure.

In: pipelines with their boards.  Out: a page of flows, and a drawing of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from wrackline.control.console.draw.flow_map import FlowMap, FlowNames, flow_map
from wrackline.control.console.page_words import Badge, source_badge, target_badge
from wrackline.schemas.kafka.board_records import Half, HalfBoard

_PAGE: Final = 50
_COLUMN_SETTINGS: Final = ("column.",)


class LineageSource(NamedTuple):
    """A pipeline, as lineage sees it."""

    pipeline: str
    kind: str
    target: str | None
    server: str
    halves: Mapping[Half, HalfBoard]


@dataclass(frozen=True, slots=True)
class TableFlow:
    """The way of one table."""

    pipeline: str
    key: str  # how the table is called in addresses
    table: str
    source: Badge
    topic: str
    copy: str  # empty: nothing copies it
    target: Badge | None


@dataclass(frozen=True, slots=True)
class LineagePage:
    """The page."""

    pipeline: str  # empty: of all
    flows: Sequence[TableFlow]
    drawing: FlowMap
    count: int
    page: int
    pages: int
    text: str
    rules: Sequence[tuple[str, str]]  # settings that change or leave out columns


def lineage_page(
    found: Sequence[LineageSource],
    text: str,
    page: int,
    pipeline: str = "",
    settings: Mapping[str, str] | None = None,
) -> LineagePage:
    """Make the page; `text` chooses tables."""
    meant = [(one, key) for one in found for key in _meant(one, text.lower())]
    pages = max(1, -(-len(meant) // _PAGE))
    page = min(max(1, page), pages)
    shown = [table_flow(one, key) for one, key in meant[(page - 1) * _PAGE : page * _PAGE]]
    rules = [
        (name, value) for name, value in sorted((settings or {}).items()) if name.startswith(_COLUMN_SETTINGS)
    ]
    return LineagePage(pipeline, shown, _drawn(shown), len(meant), page, pages, text, rules)


def table_flow(one: LineageSource, key: str) -> TableFlow:
    """Return the way of a table."""
    source, target = (one.halves[half].tables.get(key, {}) for half in (Half.SOURCE, Half.TARGET))
    return TableFlow(
        one.pipeline,
        key,
        source.get("table", key),
        source_badge(source.get("state")),
        f"{one.server}.{key}",
        "" if one.target is None else f"{one.target}: {key}",
        None if one.target is None else target_badge(target.get("standing")),
    )


def _meant(one: LineageSource, text: str) -> Sequence[str]:
    """Return the pipeline's tables whose names hold the text, or all if its own names do."""
    keys = sorted(one.halves[Half.SOURCE].tables.keys() | one.halves[Half.TARGET].tables.keys())
    if text in f"{one.pipeline} {one.server} {one.target or ''}".lower():
        return keys
    return [key for key in keys if text in key.lower()]


def _drawn(flows: Sequence[TableFlow]) -> FlowMap:
    return flow_map(
        [
            FlowNames(
                (flow.table, flow.topic, flow.copy),
                (flow.source.tone, "" if flow.target is None else flow.target.tone),
            )
            for flow in flows
        ]
    )
