"""`wrackline tables`: what a pipeline captures at its source, and what of it is in Kafka.

In: a pipeline's file.  Out: each table with its key, its columns and its topic; what the filters leave out is
counted, where the source can tell.  A table that can't be described says why in its place.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from wrackline.control.doing import doing
from wrackline.control.exits import exit_of_all
from wrackline.control.output import Json, Options, print_json, say
from wrackline.control.pipeline_file import good_pipeline
from wrackline.control.run import around
from wrackline.control.tail import ends
from wrackline.control.tail.shown import escaped, escaped_lines, name
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.knock import knock
from wrackline.producers.plugin import Source, Surveying, load
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableId, TableSchema
from wrackline.schemas.topics import assign


@dataclass(frozen=True, slots=True)
class Held:
    """What a topic holds now."""

    partitions: int
    most: int  # offsets from its first to its end: events, and the marks of their transactions


@dataclass(frozen=True, slots=True)
class Captured:
    """A table, or why it can't be described; its topic, or why it can have none."""

    table: TableId
    shape: TableSchema | WracklineError
    topic: str | WracklineError

    @property
    def errors(self) -> Sequence[WracklineError]:
        """What somebody should know of it."""
        return [one for one in (self.shape, self.topic) if isinstance(one, WracklineError)]


@dataclass(frozen=True, slots=True)
class Survey:
    """All that was found; `left_out` is None where the source can't tell."""

    captured: Sequence[Captured]
    left_out: Sequence[TableId] | None
    held: Mapping[str, Held] | WracklineError

    @property
    def errors(self) -> Iterator[WracklineError]:
        """Every error in it."""
        if isinstance(self.held, WracklineError):
            yield self.held
        for one in self.captured:
            yield from one.errors


def tables(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="List those too that the filters leave out.")
    ] = False,
    json: Json = False,
) -> None:
    """List the tables that a pipeline captures, with their keys, columns and topics; nothing is changed."""
    context.ensure_object(Options).json = json
    pipeline = good_pipeline(file)
    with doing("the source is asked for its tables", json=json):
        found = _survey(pipeline)
    if json:
        print_json(document(found, everything=everything))
    else:
        for line in lines(found, everything=everything):
            say(line)
    code = exit_of_all(found.errors)
    if code:
        raise typer.Exit(code)


def lines(survey: Survey, *, everything: bool) -> Iterator[Text]:
    """Return the survey for people."""
    if isinstance(survey.held, WracklineError):
        yield Text.assemble(("topics", "bold"), "  can't be said: ", (str(survey.held), "yellow"))
    for one in survey.captured:
        yield Text(escaped(str(one.table)), "bold")
        if isinstance(one.shape, TableSchema):
            key = ", ".join(map(name, one.shape.key)) or "no key"
            columns = (f"{name(each.name)} {escaped(each.type.source)}" for each in one.shape.columns)
            yield Text(f"  key      {key}")
            yield Text(f"  columns  {', '.join(columns)}")
        if isinstance(one.topic, str):
            yield Text(f"  topic    {one.topic}: {_holds(survey.held, one.topic)}")
        for error in one.errors:
            yield Text(escaped_lines(f"  {error}"), "yellow")  # it names tables
    left_out = survey.left_out
    told = "" if left_out is None else f"; left out by the filters: {len(left_out)}"
    hint = " (--all lists them)" if left_out and not everything else ""
    yield Text(f"captured: {len(survey.captured)}{told}{hint}")
    for table in left_out or () if everything else ():
        yield Text(f"  {escaped(str(table))}", "dim")


def document(survey: Survey, *, everything: bool) -> dict[str, Any]:
    """Return the survey as plain values."""
    left_out, held = survey.left_out, survey.held
    made: dict[str, Any] = {
        "tables": [_table(one, held) for one in survey.captured],
        "left_out": None if left_out is None else len(left_out),
    }
    if everything:
        made["left_out_tables"] = None if left_out is None else [str(table) for table in left_out]
    if isinstance(held, WracklineError):
        made["error"] = held.document()
    return made


def _table(one: Captured, held: Mapping[str, Held] | WracklineError) -> dict[str, Any]:
    made: dict[str, Any] = {"table": str(one.table)}
    if isinstance(one.shape, TableSchema):
        made |= {
            "key": list(one.shape.key),
            "key_kind": one.shape.key_kind.value,
            "columns": [
                {"name": each.name, "type": each.type.source, "nullable": each.nullable}
                for each in one.shape.columns
            ],
        }
    if isinstance(one.topic, str):
        there = held.get(one.topic) if isinstance(held, Mapping) else None
        made |= {
            "topic": one.topic,
            "partitions": None if there is None else there.partitions,
            "events_at_most": None if there is None else there.most,
        }
    return made | ({"errors": [error.document() for error in one.errors]} if one.errors else {})


def _holds(held: Mapping[str, Held] | WracklineError, topic: str) -> str:
    if isinstance(held, WracklineError):
        return "unknown"
    there = held.get(topic)
    if there is None:
        return "not there yet"
    parts = f"{there.partitions} partition{'s' if there.partitions > 1 else ''}"
    return f"{parts}, {f'at most {there.most:,} events' if there.most else 'no events'}"


def _survey(pipeline: Pipeline) -> Survey:
    if pipeline.source is None or pipeline.values is None:
        raise ValueError("a pipeline with errors captures no tables")
    source = load(pipeline.source).open(pipeline.values, around())
    try:
        captured = [one for partition in source.partitions() for one in _captured(source, partition)]
        left_out = None
        if isinstance(source, Surveying):
            left_out = [table for partition in source.partitions() for table in source.left_out(partition)]
    finally:
        source.close()
    return Survey(captured, left_out, _held(pipeline.values, captured))


def _captured(source: Source, partition: SourcePartition) -> Iterator[Captured]:
    found = source.tables(partition)
    assigned = assign(partition.server, found)
    shapes = source.described(partition, found) if isinstance(source, Surveying) else {}
    for table in found:
        topic = assigned.topics.get(table)
        shape = shapes.get(table) or _shape(source, partition, table)
        yield Captured(table, shape, topic or assigned.refused[table])


def _shape(source: Source, partition: SourcePartition, table: TableId) -> TableSchema | WracklineError:
    try:
        return source.describe(partition, table)
    except WracklineError as error:
        return error


def _held(values: Values, captured: Sequence[Captured]) -> Mapping[str, Held] | WracklineError:
    """Ask Kafka for the topics; the tables are worth something without it."""
    wanted = {one.topic for one in captured if isinstance(one.topic, str)}
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    try:
        knock(client, time.monotonic)
        found = ends.spans(client, f"{values.text('name')}.tables", wanted.__contains__)
    except WracklineError as error:
        return error
    held: dict[str, Held] = {}
    for spot, span in found.items():
        before = held.get(spot.topic, Held(0, 0))
        held[spot.topic] = Held(before.partitions + 1, before.most + span.end - span.first)
    return held
