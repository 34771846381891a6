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
    flows = [flow for one in found for flow in table_flows(one) if _meant(flow, text.lower())]
    pages = max(1, -(-len(flows) // _PAGE))
    page = min(max(1, page), pages)
    shown = flows[(page - 1) * _PAGE : page * _PAGE]
    rules = [
        (name, value) for name, value in sorted((settings or {}).items()) if name.startswith(_COLUMN_SETTINGS)
    ]
    return LineagePage(pipeline, shown, _drawn(shown), len(flows), page, pages, text, rules)


def table_flows(one: LineageSource) -> Sequence[TableFlow]:
    """Return the way of each table that is known, by name."""
    source, target = one.halves[Half.SOURCE].tables, one.halves[Half.TARGET].tables
    return [
        TableFlow(
            one.pipeline,
            key,
            source.get(key, {}).get("table", key),
            source_badge(source.get(key, {}).get("state")),
            f"{one.server}.{key}",
            "" if one.target is None else f"{one.target}: {key}",
            None if one.target is None else target_badge(target.get(key, {}).get("standing")),
        )
        for key in sorted(source.keys() | target.keys())
    ]


def _meant(flow: TableFlow, text: str) -> bool:
    return text in f"{flow.pipeline} {flow.table} {flow.topic} {flow.copy}".lower()


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
