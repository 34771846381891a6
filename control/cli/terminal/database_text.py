"""What `wrackline status` says of a pipeline's databases: of one, or of hundreds of which one is down.

In: what the source half reports of each.  Out: lines with their styles, what is wrong first.  On a terminal
the databases of which there is nothing to say share a line; through a pipe each has its own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from rich.text import Text

from wrackline.control.cli.terminal.word_wrap import wrap_hint, wrap_sentence
from wrackline.control.runtime.ground.number_text import duration_text, unread_text
from wrackline.control.runtime.services import requests
from wrackline.producers.contract.uncaptured import name_some
from wrackline.schemas.kafka.board_records import ENDED, Document, HalfState

Side = Mapping[str, Any]

_MOST: Final = 10  # databases with lines of their own on a terminal
_INDENT: Final = 8
_ENDED: Final = frozenset(one.value for one in ENDED)
_WISHED: Final = f"{HalfState.STOPPED.value}, as somebody wished"
_GONE: Final = _ENDED | {_WISHED}  # their process has ended


@dataclass(frozen=True, slots=True)
class StatusStyle:
    """The style of the output."""

    width: int | None  # of the terminal; None: lines have any length
    now_ms: int
    most: int | None = None  # how many tables have room; tables with trouble come first


def error_words(error: Mapping[str, Any], look: StatusStyle, indent: int = 2, taken: int = 0) -> str:
    """Return an error with its hint; `taken` columns of its first line are in use already."""
    said = wrap_sentence(f"[{error['code']}] {error['sentence']}", look.width, indent, taken)
    if not error["hint"]:
        return said
    return f"{said}\n{'':{indent}}hint: {wrap_hint(error['hint'], look.width, indent + 2, indent + 6)}"


def task_line(task: Document, look: StatusStyle) -> Text:
    """Report a task of a source half that has several."""
    tone, databases = "yellow" if task["error"] else "", task["databases"]
    state = task["state"] or "has not reported"
    if state == HalfState.STOPPED.value and task.get("wished"):
        state = _WISHED
    where = f", pid {task['pid']} on {task['host']}" if "pid" in task and state not in _GONE else ""
    reads = (", ".join(databases) if look.width is None else name_some(databases)) or "nothing known"
    lead = f"task {task['task']}"
    said = wrap_sentence(f"{reads}{where}", look.width, _INDENT, len(f"{lead}  {state}: "))
    return Text.assemble((lead, "bold"), "  ", (state, tone), f": {said}")


def log_lines(log: Side, look: StatusStyle) -> Iterator[Text]:
    """Report how far each database's log is ahead of what is in Kafka, and which are not read."""
    databases: Mapping[str, Side] = log["databases"]
    wrong = [name for name, its in databases.items() if its.get("error")]
    soon = [name for name, its in databases.items() if name not in wrong and its["lost_in_s"] is not None]
    others = [name for name in databases if name not in {*wrong, *soon}]
    if look.width is None or len(databases) <= _MOST:
        for name in (*wrong, *soon, *others):
            yield from _log(name, databases[name], log["state"], look)
        return
    first = [*wrong, *soon][:_MOST]
    for name in first:
        yield from _log(name, databases[name], log["state"], look)
    left = Counter(databases[name]["error"]["code"] for name in wrong if name not in first)
    for code, count in left.most_common():
        yield Text.assemble(("log", "bold"), f"     {count:,} more databases: ", (f"[{code}]", "bold red"))
    rest = [*others, *(name for name in soon if name not in first)]
    if rest:
        yield Text.assemble(("log", "bold"), f"     {_furthest(rest, databases, look, all_=not wrong)}")


def down_lines(databases: Mapping[str, Side], look: StatusStyle) -> Iterator[Text]:
    """Report which databases had errors when their half ended."""
    wrong = {name: its for name, its in databases.items() if its.get("error")}
    for name, its in islice(wrong.items(), None if look.width is None else _MOST):
        yield _trouble(f"        {name} ", its, look)
    if look.width is not None and len(wrong) > _MOST:
        yield Text(f"        and {len(wrong) - _MOST:,} more databases")


def row_lines(reads: Mapping[str, Side], look: StatusStyle) -> Iterator[Text]:
    """Report how far the existing rows of each database are read."""
    under_way = [name for name, one in reads.items() if one["state"] != "succeeded"]
    names: Sequence[str] = [*under_way, *(name for name in reads if name not in under_way)]
    left: Sequence[str] = ()
    if look.width is not None and len(reads) > _MOST:
        names, left = under_way[:_MOST], [*under_way[_MOST:], *names[len(under_way) :]]
    for name in names:
        read = reads[name]
        failed = read["state"] == "failed" and not requests.has_come_back(read)
        said = f"    {name}: {requests.first_read_in_words(read)}"
        said = wrap_sentence(said, look.width, _INDENT, len("rows"))
        yield Text.assemble(("rows", "bold"), (said, "bold red" if failed else ""))
        if read["empty"]:
            empty = f"without rows, so without a topic yet: {name_some(read['empty'])}"
            yield Text(f"        {wrap_sentence(empty, look.width, _INDENT, _INDENT)}", "dim")
    if left:
        done = sum(reads[name]["state"] == "succeeded" for name in left)
        rows = sum(reads[name]["rows"] for name in left)
        what = f"{done:,} of {len(left):,} {'other ' if names else ''}databases are read, {rows:,} rows"
        yield Text.assemble(("rows", "bold"), f"    {what}")


def _log(name: str, its: Side, half: str, look: StatusStyle) -> Iterator[Text]:
    behind = _behind(its, look) or "how far behind is unknown"
    late = "" if its["lag_ms"] is None else f", its newest event came {duration_text(its['lag_ms'])} late"
    lost = its["lost_in_s"]
    soon = "" if lost is None else f"; what is not read is lost in {duration_text(lost * 1000)}"
    waits = "" if half == HalfState.RUNNING.value else f"; the worker is {half}"
    if not waits and not its.get("error") and its.get("state") in _ENDED:
        waits = f"; its task is {its['state']}"
    yield Text.assemble(("log", "bold"), f"     {name}: {behind}{late}{waits}", (soon, "yellow"))
    if its.get("error"):
        yield _trouble("        ", its, look)
    for why, tables in its.get("left_out", {}).items():
        more = tables["count"] - len(tables["tables"])
        names = ", ".join(tables["tables"]) + (f" and {more:,} more" if more else "")
        said = f"not captured, {why}: {names}"
        yield Text(f"        {wrap_sentence(said, look.width, _INDENT, _INDENT)}", "dim")


def _trouble(lead: str, its: Side, look: StatusStyle) -> Text:
    lead += f"{its.get('state') or 'failed'}: "
    return Text.assemble(lead, (error_words(its["error"], look, _INDENT, len(lead)), "bold red"))


def _behind(its: Side, look: StatusStyle) -> str | None:
    unread = unread_text(its["behind_bytes"], its["through_ms"], look.now_ms)
    return None if unread is None else f"{unread} behind"


def _furthest(names: Sequence[str], databases: Mapping[str, Side], look: StatusStyle, *, all_: bool) -> str:
    """Say of many databases which is furthest behind."""

    def distance(name: str) -> tuple[float, float]:
        its = databases[name]
        through = its["through_ms"]
        return its["behind_bytes"] or 0, 0 if through is None else look.now_ms - through

    furthest = max(names, key=distance)
    far = _behind(databases[furthest], look)
    told = "how far behind is unknown" if far is None else f"{furthest} is the furthest, {far}"
    return f"{len(names):,} {'' if all_ else 'other '}databases: {told}"
