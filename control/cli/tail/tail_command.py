"""`wrackline tail`: the verb; its purpose is to show rows, and it shows them nowhere else.

It ends with 0 when the reader of its output has gone, or Ctrl-C was pressed: both are normal ways to end.
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

from wrackline.control.cli.tail.event_lines import LineStyle, line
from wrackline.control.cli.terminal.moment_argument import FORM
from wrackline.control.cli.terminal.output import Options, say
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.events import event_documents
from wrackline.control.runtime.events.feed import Feed, Spans
from wrackline.control.runtime.events.record_decoder import DecodedEvent, RecordDecoder, TopicRecord
from wrackline.control.runtime.events.start_offsets import (
    NEWEST,
    Start,
    first_offset,
    merge_by_time,
    read_start,
)
from wrackline.control.runtime.events.topic_choice import (
    NOTHING_YET,
    choose_topics,
    name_topics,
    topic_filter,
)
from wrackline.schemas.kafka.schema_registry import RegistryClient, registry_access
from wrackline.schemas.kafka.topic_names import is_of_table
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values

_MOST: Final = 1_000_000_000

Show = Callable[[DecodedEvent], str]


def tail(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            help="schema.table, database.schema.table, or a topic's full name; default: all tables of the"
            " pipeline.",
        ),
    ] = None,
    *,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="beginning|end|OFFSET|TIME",
            help=f"Where to begin; default: the newest {NEWEST} events of each partition.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--count",
            min=1,
            max=_MOST,
            help="End after this many events; without --from and --follow, the newest ones.",
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("-f", "--follow", help="Wait for new events; default: end where the topics end now."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """Show the decoded events of a pipeline's topics.

    Each line is one event: its time, table, partition:offset, operation, key and columns; for an update
    only the columns that differ. Topics without rows need their full name, such as shop1.transaction.
    """
    context.ensure_object(Options).json = json
    try:
        begins = read_start(begin)
    except ValueError:
        raise typer.BadParameter(FORM) from None
    values = good_pipeline(file).good()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        shown = _print(values, _TailOptions(tuple(tables or ()), begins, count, follow), json=json)
        if not shown and not json:
            say("there are no events")
        sys.stdout.flush()
    except KeyboardInterrupt:
        return
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(frozen=True, slots=True)
class _TailOptions:
    """The options of the command line."""

    names: Sequence[str]
    begin: Start
    count: int | None
    follow: bool


def _print(values: Values, asked: _TailOptions, *, json: bool) -> int:
    """Print the events; return how many they were."""
    printed, server, naming = 0, values.text("topic.prefix"), naming_of(values)
    with Feed(values) as feed, RegistryClient(registry_access(values)) as registry:
        decoder = RecordDecoder(registry.text)
        spans = feed.spans(topic_filter(server, asked.names, naming))
        topics = choose_topics(server, asked.names, {spot.topic for spot in spans}, naming)
        if not topics and not asked.follow:
            raise NOTHING_YET(server=server)
        spans = {spot: span for spot, span in spans.items() if spot.topic in topics}
        meant = topics.__contains__ if asked.names else partial(is_of_table, server, naming=naming)
        show = event_documents.line if json else _liner(name_topics(server, topics, naming))
        for batch in _limit(_batches(feed, asked, spans, meant), asked.count):
            for record in batch:
                sys.stdout.write(show(decoder.event(record)) + "\n")
                printed += 1
            sys.stdout.flush()
    return printed


def _batches(
    feed: Feed, asked: _TailOptions, spans: Spans, meant: Callable[[str], bool]
) -> Iterator[Sequence[TopicRecord]]:
    """Yield the requested records, as they come."""
    begin = asked.begin
    if begin is None:
        most = asked.count if asked.count and not asked.follow else NEWEST
        found = list(merge_by_time(feed.newest(spans, most).values()))
        yield found[-asked.count :] if asked.count else found
        begin = "end"
    begins = (
        feed.since(begin, spans)
        if isinstance(begin, datetime)
        else {spot: first_offset(begin, span) for spot, span in spans.items()}
    )
    yield from feed.follow(begins, meant) if asked.follow else feed.up_to(begins, spans)


def _limit(batches: Iterator[Sequence[TopicRecord]], most: int | None) -> Iterator[Sequence[TopicRecord]]:
    """Yield at most this many, and read none after them."""
    left = most
    for batch in batches:
        yield batch if left is None else batch[:left]
        left = left if left is None else left - len(batch)
        if left is not None and left <= 0:
            return


def _liner(call: Callable[[str], str]) -> Show:
    """Return how events become lines: with colours and cut on a terminal, whole and plain elsewhere."""
    console = Console(highlight=False, soft_wrap=True)
    look = LineStyle(console.width if sys.stdout.isatty() or "COLUMNS" in os.environ else None, call)

    def show(event: DecodedEvent) -> str:
        text = line(event, look)
        if not console.is_terminal:
            return text.plain
        with console.capture() as captured:  # a direct print would end differently if the reader has gone
            console.print(text, end="")
        return captured.get()

    return show
