"""`wrackline tables`: what a pipeline captures at its source, and what of it is in Kafka.

In: a pipeline's file.  Out: each table with its key, its columns and its topic; what the filters leave out is
counted, if the source knows it.  A table that can't be described has its error in its place.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.events.value_text import show_name
from wrackline.control.runtime.ground.exits import exit_of_all
from wrackline.control.runtime.ground.terminal_text import escape, escape_lines
from wrackline.control.runtime.services.table_survey import (
    CapturedTable,
    TableSurvey,
    TopicContents,
    survey_tables,
)
from wrackline.producers.contract.uncaptured import uncaptured_text
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableSchema


def tables(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list the tables that the filters leave out.")
    ] = False,
    json: Json = False,
) -> None:
    """List the tables that a pipeline captures.

    Each with its key, columns and topic. Changes nothing.
    """
    context.ensure_object(Options).json = json
    pipeline = good_pipeline(file)
    with show_progress("asking the source for its tables", json=json):
        found = survey_tables(pipeline)
    if json:
        print_json(survey_document(found, everything=everything))
    else:
        for line in survey_lines(found, everything=everything):
            say(line)
    code = exit_of_all(found.errors)
    if code:
        raise typer.Exit(code)


def survey_lines(survey: TableSurvey, *, everything: bool) -> Iterator[Text]:
    """Return the survey for people."""
    if isinstance(survey.held, WracklineError):
        yield Text.assemble(("topics", "bold"), "  unknown: ", (str(survey.held), "yellow"))
    for one in survey.captured:
        yield Text(escape(str(one.table)), "bold")
        if isinstance(one.shape, TableSchema):
            key = ", ".join(map(show_name, one.shape.key)) or "no key"
            columns = (f"{show_name(each.name)} {escape(each.type.source)}" for each in one.shape.columns)
            yield Text(f"  key      {key}")
            yield Text(f"  columns  {', '.join(columns)}")
        if isinstance(one.topic, str):
            yield Text(f"  topic    {one.topic}: {_contents_text(survey.held, one.topic)}")
        for error in one.errors:
            yield Text(escape_lines(f"  {error}"), "yellow")  # it names tables
    left_out = survey.left_out
    told = f"; not captured: {escape(uncaptured_text(left_out))}" if left_out else ""
    hint = " (--all lists them)" if left_out and not everything else ""
    yield Text(f"captured: {len(survey.captured)}{told}{hint}")
    for table, why in (left_out or {}).items() if everything else ():
        yield Text(f"  {escape(str(table))}: {why.value}", "dim")


def survey_document(survey: TableSurvey, *, everything: bool) -> dict[str, Any]:
    """Return the survey as plain values."""
    left_out, held = survey.left_out, survey.held
    made: dict[str, Any] = {
        "tables": [_table(one, held) for one in survey.captured],
        "left_out": None if left_out is None else len(left_out),
    }
    if everything:
        made["left_out_tables"] = None if left_out is None else list(map(str, left_out))
        why = {str(table): its.value for table, its in (left_out or {}).items()}
        made["left_out_why"] = None if left_out is None else why
    if isinstance(held, WracklineError):
        made["error"] = held.document()
    return made


def _table(one: CapturedTable, held: Mapping[str, TopicContents] | WracklineError) -> dict[str, Any]:
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


def _contents_text(held: Mapping[str, TopicContents] | WracklineError, topic: str) -> str:
    if isinstance(held, WracklineError):
        return "unknown"
    there = held.get(topic)
    if there is None:
        return "not there yet"
    parts = f"{there.partitions} partition{'s' if there.partitions > 1 else ''}"
    return f"{parts}, {f'at most {there.most:,} events' if there.most else 'no events'}"
