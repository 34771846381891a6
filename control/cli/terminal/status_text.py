"""`wrackline status` for people: a line per table that fits the terminal, or all that is known of a table.

In: what status.py gathered, the width, and the time.  Out: lines with their styles, which are colours on a
terminal and nothing elsewhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from wrackline.control.cli.terminal.database_text import (
    StatusStyle,
    down_lines,
    error_words,
    log_lines,
    row_lines,
    task_line,
)
from wrackline.control.runtime.ground.departure_text import departure_text
from wrackline.control.runtime.ground.number_text import count_text, duration_text, events_text
from wrackline.control.runtime.ground.table_names import is_named_by
from wrackline.control.runtime.services import requests
from wrackline.control.runtime.services.status import PipelineStatus
from wrackline.schemas.errors import WracklineError

Side = Mapping[str, Any]

_STYLES = {
    "going": "green",
    "streaming": "green",
    "waiting": "yellow",
    "stopped": "bold red",
    "failed": "bold red",
}
_UNDER_WAY = frozenset({"queued", "snapshotting", "refreshing", "streaming"})  # true while a worker runs
_COLUMNS = "  {:<12}  {:<7}  {:>9}  {:>7}  {:>8}"  # source, target, behind, lag, the newest merge
_SHORTEST = 20  # characters of a table's name


def page(status: PipelineStatus, look: StatusStyle, wanted: Sequence[str] = ()) -> Iterator[Text]:
    """Return what is shown of a pipeline: a line per table, or all that is known of the wanted tables."""
    yield from heads(status, look)
    named = [name for name in status.tables if any(_is_named(status, one, name) for one in wanted)]
    for name in named:
        yield from details(status, name, look)
    if not named:
        yield from lines(status, look)


def unknown_tables(status: PipelineStatus, wanted: Sequence[str]) -> list[str]:
    """Return the wanted tables that neither side knows."""
    return [one for one in wanted if not any(_is_named(status, one, name) for name in status.tables)]


def _is_named(status: PipelineStatus, given: str, name: str) -> bool:
    return is_named_by(given, name, status.own_name(name))


def lines(status: PipelineStatus, look: StatusStyle) -> Iterator[Text]:
    """Return a line for each table that has room, and what is wrong."""
    every = status.tables
    names = every if look.most is None or len(every) <= look.most else _foremost(status)[: look.most]
    if not names:
        return
    database = {name.partition(".")[0] for name in names}
    own = {name: status.own_name(name) for name in names}
    shown = {name: its.partition(".")[2] if len(database) == 1 else its for name, its in own.items()}
    longest = max(map(len, shown.values()))
    room = longest if look.width is None else max(_SHORTEST, look.width - len(_COLUMNS.format(*[""] * 5)))
    wide = min(longest, room)
    yield Text(f"\n{'table':{wide}}" + _COLUMNS.format("source", "target", "behind", "lag", "merged"), "bold")
    for name in names:
        yield _line(_short(shown[name], wide), _state(status, name), status.of_target(name), look)
    if len(names) < len(every):
        yield Text(f"and {len(every) - len(names):,} more tables", "dim")
    wrong = [line for name in names for line in _wrong(name, status, look)]
    if wrong:
        yield Text("")
        yield from wrong


def reads_under_way(status: PipelineStatus) -> Iterator[tuple[str, int | None, str]]:
    """Yield the tables whose existing rows are being read: their progress in percent, and in words."""
    for name in status.tables:
        source = status.of_source(name)
        if source is not None and source["requests"]:
            yield name, source["percent"], requests.state_in_words({**source, "reason": None})


def details(status: PipelineStatus, table: str, look: StatusStyle) -> Iterator[Text]:
    """Return all that is known of one table."""
    source, target = status.of_source(table), status.of_target(table)
    yield Text(status.own_name(table), "bold")
    unsure = "" if _state(status, table) != "-" else "unknown" if source is None else "unknown; last known: "
    yield Text(f"  source   {unsure}{'' if source is None else requests.state_in_words(source)}")
    if target is None:
        yield Text("  target   unknown")
        return
    ways = f"{_count(target['behind'])} offsets behind"
    since = f", for {duration_text(target['behind_s'] * 1000)}" if target["behind_s"] else ""
    yield Text.assemble("  target   ", _style(target["standing"]), f"; {ways}{since}")
    if target["freshness_ms"] is not None:
        ago = f"{duration_text(target['freshness_ms'])} ago"
        yield Text(
            f"  fresh    rows may be missing; it was complete {ago}"
            if target["lacks"]
            else f"  fresh    complete as the database was {ago}"
        )
    lag = target["lag_ms"]
    if lag is not None:
        publish, wait, merge, whole = (duration_text(lag[of]) for of in ("publish", "wait", "merge", "whole"))
        yield Text(f"  lag      {whole}: {publish} to Kafka, {wait} until read, {merge} to merge")
    events = events_text(target["events"])
    last = f", the newest {_ago(target['merged_ms'], look)} ago" if target["merged_ms"] else ""
    batches = count_text(target["batches"], "batch", "batches")
    yield Text(f"  merged   {batches}{last}{': ' if events else ''}{events}")
    places = ", ".join(f"{partition}: {at}" for partition, at in (target["offsets"] or {}).items())
    yield Text(f"  reached  {target['seq'] or 'nothing yet'}{f'; next offsets {places}' if places else ''}")
    if target["seconds"]:
        steps = ", ".join(
            f"{step} {duration_text(seconds * 1000)}" for step, seconds in target["seconds"].items()
        )
        yield Text(f"  time     {steps}")
    upkeep = target["upkeep"]
    if upkeep["done"] or upkeep["failed"]:
        took = duration_text(upkeep["seconds"] * 1000)
        removed = ", ".join(f"{count:,} {what}" for what, count in upkeep["removed"].items() if count)
        gone = f"; removed {removed}" if removed else ""
        yield Text(f"  upkeep   {upkeep['done']} done, {upkeep['failed']} failed, in {took}{gone}")
    if target["incomplete"]:
        rows = f"{target['incomplete']:,} rows are hidden from readers"
        yield Text(f"  lacking  {rows}: each lacks a value until its next full image")
    yield from _wrong(table, status, look)


def heads(status: PipelineStatus, look: StatusStyle) -> Iterator[Text]:
    """Report which processes run, and which side does not answer."""
    if isinstance(status.source, WracklineError):
        if status.source is status.log and not isinstance(status.target, Mapping):  # no board
            lead = "  unknown: "
            said = error_words(status.source.document(), look, 2, len(status.pipeline) + len(lead))
            yield Text.assemble((status.pipeline, "bold"), lead, (said, "yellow"))
            return
        said = error_words(status.source.document(), look, 8, 17)
        yield Text.assemble(("source", "bold"), "  unknown: ", (said, "yellow"))
    yield from _log(status, look)
    yield from row_lines(status.first, look)
    target = status.target
    if isinstance(target, WracklineError):
        yield Text.assemble(("target", "bold"), "  ", (error_words(target.document(), look, 8, 8), "yellow"))
    elif target is None:
        yield Text.assemble(("target", "bold"), "  none: the pipeline ends in Kafka")
    else:
        runs = f"pid {target['pid']}, for {_ago(target['began_ms'], look)}"
        known = [table["freshness_ms"] for table in target["tables"].values()]
        oldest = max((one for one in known if one is not None), default=None)
        runs += "" if oldest is None else f"; complete as the database was {duration_text(oldest)} ago"
        yield Text(f"{status.pipeline} into {target.get('target', 'its target')}: the consumer runs, {runs}")
        if target["error"]:
            yield Text.assemble("  ", (error_words(target["error"], look, 2, 2), "yellow"))


def _log(status: PipelineStatus, look: StatusStyle) -> Iterator[Text]:
    """Report how far each database's log is ahead of what is in Kafka."""
    log = status.log
    if isinstance(log, WracklineError):
        yield Text.assemble(("log", "bold"), "     unknown: ", error_words(log.document(), look, 8, 17))
        yield from down_lines(status.ended, look)
        return
    if log.get("error"):
        lead = f"  {log['state']}: "
        said = error_words(log["error"], look, 8, len("source") + len(lead))
        yield Text.assemble(("source", "bold"), lead, (said, "yellow"))
    for task in log.get("tasks", ()):
        yield task_line(task, look)
    yield from log_lines(log, look)


def _foremost(status: PipelineStatus) -> list[str]:
    """Order the tables: what is wrong, what is being read, what is far behind, and then by name."""

    def order(name: str) -> tuple[bool, bool, int]:
        source, target = status.of_source(name) or {}, status.of_target(name) or {}
        wrong = bool(source.get("reason") or target.get("error"))
        return not wrong, not source.get("requests"), -(target.get("behind") or 0)

    return sorted(status.tables, key=order)


def _state(status: PipelineStatus, table: str) -> str:
    """Return the source's state; if no process reads its database, its work does not continue."""
    source = status.of_source(table)
    state = "-" if source is None else str(source["state"])
    return (
        "-" if state in _UNDER_WAY and not status.is_read(status.own_name(table).partition(".")[0]) else state
    )


def _line(name: str, state: str, target: Side | None, look: StatusStyle) -> Text:
    standing = "-" if target is None else target["standing"]
    behind = lag = merged = "-"
    if target is not None:
        behind = _count(target["behind"])
        lag = "-" if target["lag_ms"] is None else duration_text(target["lag_ms"]["whole"])
        merged = "-" if target["merged_ms"] is None else _ago(target["merged_ms"], look)
    text = Text(name + _COLUMNS.format(state, standing, behind, lag, merged))
    for word in (state, standing):
        text.highlight_words([word], _STYLES.get(word, ""))
    return text


def _wrong(table: str, status: PipelineStatus, look: StatusStyle) -> Iterator[Text]:
    """Report what an operator should know of a table, with what repairs it."""
    source, target = status.of_source(table) or {}, status.of_target(table) or {}
    if departure := target.get("departure"):
        yield Text.assemble((status.own_name(table), "bold"), f": {departure_text(departure, look.now_ms)}")
    for error in (source.get("reason"), target.get("error"), target.get("upkeep", {}).get("error")):
        if error:
            name = status.own_name(table)
            yield Text.assemble((name, "bold"), f": {error_words(error, look, 2, len(name) + 2)}")
    if held := target.get("held"):
        waits = f"{_count(held)} more offsets wait behind some producer's Kafka transaction"
        since = f"open for at least {duration_text(target['held_s'] * 1000)}; wrackline errors consume.held"
        yield Text.assemble((status.own_name(table), "bold"), f": {waits}, {since}")


def _style(word: str) -> tuple[str, str]:
    return word, _STYLES.get(word, "")


def _short(name: str, wide: int) -> str:
    return f"{name:{wide}}" if len(name) <= wide else f"…{name[1 - wide :]}"


def _count(number: int | None) -> str:
    if number is None:
        return "-"
    return f"{number:,}" if number < 10_000_000 else f"{number / 1_000_000:,.0f} M"


def _ago(ms: int, look: StatusStyle) -> str:
    return duration_text(max(0, look.now_ms - ms))
