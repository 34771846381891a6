"""`wrackline tail`: the verb; it shows rows, that is its job, and says nothing of them anywhere else.

It ends with 0 when the reader of its output has gone, or Ctrl-C was pressed: both are how one leaves it.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from wrackline.control.output import Options, say
from wrackline.control.pipeline_file import good_pipeline
from wrackline.control.tail import documents
from wrackline.control.tail.chosen import NOTHING_YET, called, chosen, wanted
from wrackline.control.tail.decoded import Decoder, Event, Record
from wrackline.control.tail.lines import Look, line
from wrackline.control.tail.reading import Feed, Spans
from wrackline.control.tail.start import NEWEST, Start, by_time, first_offset, start
from wrackline.schemas.registry import Registry, access
from wrackline.schemas.settings import Values
from wrackline.schemas.topics import is_of_table

_MOST: Final = 1_000_000_000

Show = Callable[[Event], str]


def tail(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            help="schema.table, database.schema.table, or a whole topic's name; none: all tables of the"
            " pipeline.",
        ),
    ] = None,
    *,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="beginning|end|OFFSET|TIME",
            help=f"Where to begin; else with the newest {NEWEST} of each partition.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--count",
            min=1,
            max=_MOST,
            help="End after so many events; without --from and --follow: the newest so many.",
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("-f", "--follow", help="Wait for what comes; else it ends where the topics do now."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """Show the events of a pipeline's topics, decoded; nothing is changed.

    A line an event: when it was written, table, partition:offset, what, key, and the columns, of an
    update only those that differ. Topics beside the rows are named whole, as shop1.transaction.
    """
    context.ensure_object(Options).json = json
    begins = start(begin)
    values = good_pipeline(file).good()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        shown = _print(values, _Asked(tuple(tables or ()), begins, count, follow), json=json)
        if not shown and not json:
            say("no event is there")
        sys.stdout.flush()
    except KeyboardInterrupt:
        return
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line asks for."""

    names: Sequence[str]
    begin: Start
    count: int | None
    follow: bool


def _print(values: Values, asked: _Asked, *, json: bool) -> int:
    """Print the events; return how many they were."""
    printed, server = 0, values.text("topic.prefix")
    with Feed(values) as feed, Registry(access(values)) as registry:
        decoder = Decoder(registry.text)
        spans = feed.spans(wanted(server, asked.names))
        topics = chosen(server, asked.names, {spot.topic for spot in spans})
        if not topics and not asked.follow:
            raise NOTHING_YET(server=server)
        spans = {spot: span for spot, span in spans.items() if spot.topic in topics}
        meant = topics.__contains__ if asked.names else partial(is_of_table, server)
        show = documents.line if json else _liner(called(server, topics))
        for batch in _limited(_batches(feed, asked, spans, meant), asked.count):
            for record in batch:
                sys.stdout.write(show(decoder.event(record)) + "\n")
                printed += 1
            sys.stdout.flush()
    return printed


def _batches(
    feed: Feed, asked: _Asked, spans: Spans, meant: Callable[[str], bool]
) -> Iterator[Sequence[Record]]:
    """Give the records that are asked for, as they come."""
    begin = asked.begin
    if begin is None:
        most = asked.count if asked.count and not asked.follow else NEWEST
        found = list(by_time(feed.newest(spans, most).values()))
        yield found[-asked.count :] if asked.count else found
        begin = "end"
    begins = (
        feed.since(begin, spans)
        if isinstance(begin, datetime)
        else {spot: first_offset(begin, span) for spot, span in spans.items()}
    )
    yield from feed.follow(begins, meant) if asked.follow else feed.up_to(begins, spans)


def _limited(batches: Iterator[Sequence[Record]], most: int | None) -> Iterator[Sequence[Record]]:
    """Give no more than so many, and ask for none behind them."""
    left = most
    for batch in batches:
        yield batch if left is None else batch[:left]
        left = left if left is None else left - len(batch)
        if left is not None and left <= 0:
            return


def _liner(call: Callable[[str], str]) -> Show:
    """Return how events become lines: with colours and cut on a terminal, whole and plain elsewhere."""
    console = Console(highlight=False, soft_wrap=True)
    look = Look(console.width if sys.stdout.isatty() or "COLUMNS" in os.environ else None, call)

    def show(event: Event) -> str:
        text = line(event, look)
        if not console.is_terminal:
            return text.plain
        with console.capture() as captured:  # for what it prints itself ends in its own way if nobody reads
            console.print(text, end="")
        return captured.get()

    return show
