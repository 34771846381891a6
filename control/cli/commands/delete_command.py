"""`wrackline delete`: shows what exists and what goes, asks, and removes it."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.services.deletion import delete_planned
from wrackline.control.runtime.services.deletion_plan import (
    DeletionPlan,
    DeletionRequest,
    PipelineParts,
    open_parts,
    plan_deletion,
)


def delete(  # noqa: PLR0913 - each is a flag
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    topics: Annotated[bool, typer.Option("--topics", help="Also remove the topics with the data.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Also remove the target's tables.")] = False,
    without_source: Annotated[
        bool, typer.Option("--without-source", help="Do not contact the source: it no longer exists.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    json: Json = False,
) -> None:
    """Remove what a stopped pipeline created.

    That is its slot, publication and internal topics, but not its file.
    """
    context.ensure_object(Options).json = json
    pipeline, wanted = good_pipeline(file), DeletionRequest(topics, tables, not without_source)
    gone: list[str] = []

    with open_parts(pipeline, wanted) as at:
        with show_progress("asking the source, Kafka and the target what is there", json=json):
            found = plan_deletion(at, pipeline, wanted)
        if not json:
            _say(at.name, found)
        if found.goes and not dry_run:
            if not yes:
                _ask(at.name)
            _remove(at, found, gone, json=json)
    if json:
        print_json(_document(at.name, found, gone))
    elif found.goes and not dry_run:
        say(f"{at.name} is deleted; its file is still there: {file}")


def _remove(at: PipelineParts, found: DeletionPlan, gone: list[str], *, json: bool) -> None:
    with show_progress("fencing the pipeline", json=json) as shown:

        def tell(name: str) -> None:
            gone.append(name)
            shown.now("removing", len(gone), len(found.goes))
            if not json:
                say(f"removed: {name}")

        delete_planned(at, found, tell)


def _say(name: str, found: DeletionPlan) -> None:
    kept = {one.name: one.bytes for there in found.source.values() for one in there}
    for one in found.goes:
        held = kept.get(one)
        say(f"to remove: {one}" + (f" (keeps {held} bytes of log)" if held is not None else ""))
    for left in found.left:
        by_hand = f"; by hand: {left.drop}" if left.drop else ""
        say(f"remains: {left.name}: {left.why}{by_hand}")
    if not found.goes:
        say(f"there is nothing of {name} to remove")


def _ask(name: str) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            "there is no terminal to confirm on: repeat the command with --yes, or look with --dry-run"
        )
    typer.confirm(f"Remove these parts of {name} permanently?", abort=True, err=True)


def _document(name: str, found: DeletionPlan, gone: list[str]) -> dict[str, Any]:
    return {
        "pipeline": name,
        "found": found.goes,
        "removed": gone,
        "left": [{"name": left.name, "why": left.why, "by_hand": left.drop} for left in found.left],
    }
