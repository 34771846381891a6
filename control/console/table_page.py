"""What one table shows: both halves of it, in words and numbers.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wrackline.control.console.page_words import Badge, late_text, source_badge, target_badge
from wrackline.control.runtime.ground.departure_text import departure_text
from wrackline.control.runtime.ground.number_text import ago_text, count_text, duration_text, events_text
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard

Facts = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class TablePage:
    """The page; a half that does not know the table has no facts."""

    pipeline: str
    name: str
    source: Badge
    target: Badge | None
    of_source: Facts
    of_target: Facts
    percent: int | None
    errors: Sequence[Document]
    actions: Sequence[str]
    key: str  # how the table is called in addresses


def table_page(
    pipeline: str, name: str, halves: Mapping[Half, HalfBoard], at_ms: int, *, has_target: bool
) -> TablePage | None:
    """Make the page; None: neither half knows such a table."""
    source, target = (halves[half].tables.get(name) for half in Half)
    if source is None and target is None:
        return None
    errors = [
        (source or {}).get("reason"),
        (target or {}).get("error"),
        (target or {}).get("upkeep", {}).get("error"),
    ]
    return TablePage(
        pipeline,
        (source or {}).get("table", name),
        source_badge((source or {}).get("state")),
        target_badge((target or {}).get("standing")) if has_target else None,
        [] if source is None else _of_source(source),
        [] if target is None else [*_complete(halves[Half.TARGET], name, at_ms), *_of_target(target, at_ms)],
        (source or {}).get("percent") if (source or {}).get("requests") else None,
        [error for error in errors if error],
        _actions(target) if has_target else (),
        name,
    )


def _actions(target: Document | None) -> Sequence[str]:
    departure = (target or {}).get("departure")
    if departure and departure["behavior"] != "keep" and departure["became"] is None:
        return ("release",) if departure["kept"] else ("keep",)
    state = (target or {}).get("standing")
    return ("resume",) if state == "paused" else ("retry", "pause") if state == "stopped" else ("pause",)


def _of_source(table: Document) -> Facts:
    facts = [("published since the start", events_text(table.get("events", {})) or "none")]
    if table["requests"]:
        expected = f" of about {table['expected']:,}" if table["expected"] else ""
        facts.append(("rows read", f"{table['rows']:,}{expected}"))
        if table["seconds_left"] is not None:
            facts.append(("time left", duration_text(table["seconds_left"] * 1000)))
        facts.append(("requests", ", ".join(table["requests"])))
    for what, counts in (
        ("rows made dead letters", table["letters"]),
        ("values published as null", table["nulls"]),
    ):
        if counts:
            facts.append((what, ", ".join(f"{column} {count:,}" for column, count in counts.items())))
    return facts


def _complete(half: HalfBoard, name: str, at_ms: int) -> Facts:
    complete = half.complete_ms(name)
    if complete is None:
        return []
    ago = ago_text(complete, at_ms)
    if half.lacks(name):
        return [("rows may be missing", f"it was complete {ago}")]
    return [("complete as the database was", ago)]


def _of_target(table: Document, at_ms: int) -> Facts:
    facts = [
        (
            "merged since the start",
            f"{count_text(table['batches'], 'batch', 'batches')}: {events_text(table['events']) or 'none'}",
        )
    ]
    if table["departure"]:
        facts.append(("the table itself", departure_text(table["departure"], at_ms)))
    if table["behind"] is not None:
        facts.append(("not merged yet", count_text(table["behind"], "offset", "offsets")))
    if table["merged_ms"]:
        facts.append(("newest batch", ago_text(table["merged_ms"], at_ms)))
    if lag := table["lag_ms"]:
        publish, wait, merge = (late_text(lag[stage]) for stage in ("publish", "wait", "merge"))
        facts.append(
            (
                "lateness of its newest change",
                f"{late_text(lag['whole'])}: {publish} to Kafka, {wait} until read, {merge} to merge",
            )
        )
    if table["held"]:
        facts.append(("held by an open transaction", count_text(table["held"], "offset", "offsets")))
    facts += [("dead letters", f"{table['dead_letters']:,}")] if table["dead_letters"] else []
    facts += [("rows hidden from readers", f"{table['incomplete']:,}")] if table["incomplete"] else []
    if table["offsets"]:
        facts.append(
            (
                "next offset by partition",
                ", ".join(f"{partition}: {at:,}" for partition, at in table["offsets"].items()),
            )
        )
    if table["seconds"]:
        steps = ", ".join(
            f"{step} {duration_text(seconds * 1000)}" for step, seconds in table["seconds"].items()
        )
        facts.append(("time spent", steps))
    upkeep = table["upkeep"]
    if upkeep["done"] or upkeep["failed"]:
        facts.append(("upkeep", f"{upkeep['done']:,} done, {upkeep['failed']:,} failed"))
    return facts
