"""`wrackline assess`: the gate before a deployment; it can try the servers, and run safe fixes.

It is not `check`, which promises to change nothing and ends well with warnings: an assessment may write (and
removes it), and a warning that nobody has accepted closes the gate.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from wrackline.control.cli.assess.assessment_text import show_assessment, show_mended
from wrackline.control.cli.terminal.output import Json, Options, print_json
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.runtime.check.file_check import check_file
from wrackline.control.runtime.check.pipeline_file import UnfitFile
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.probe.assess import assess_pipeline, mend_source
from wrackline.control.runtime.probe.verdict import GateVerdict
from wrackline.schemas.redaction import Secret

EXITS = {GateVerdict.GOOD: Exit.OK, GateVerdict.ERRORS: Exit.FINDINGS, GateVerdict.WARNINGS: Exit.WARNINGS}


def assess(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Try each server: log in, write, read back, and remove it again."),
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Run the safe fixes at the source, as --admin, before.")
    ] = False,
    admin: Annotated[
        str,
        typer.Option(
            "--admin",
            metavar="URL",
            envvar="WRACKLINE_ADMIN",
            help="An administrator of the source: postgresql://user:password@host/database, mysql://… or mssql://…;"
            " better in the environment, where other users do not see it.",
            show_default=False,
            show_envvar=True,
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Assess a pipeline before it starts, as a gate does.

    Exits with 0 if it may start, 1 if there are errors, 2 if there are warnings that `assess.accept` does not
    name.
    """
    context.ensure_object(Options).json = json
    if apply and not admin:
        raise typer.BadParameter("--apply needs --admin, or WRACKLINE_ADMIN in the environment")
    checked = check_file(file, Installed(), os.environ)
    if checked.stops or checked.pipeline is None:
        raise UnfitFile(file, checked)
    mended = []
    if apply:
        with show_progress("running the safe fixes", json=json):
            mended = list(mend_source(checked.pipeline, Secret(admin)))
    with show_progress("trying the source, Kafka and the target" if probe else "asking them", json=json):
        found = assess_pipeline(checked, probe=probe)
    if json:
        applied = [one.document() for one in mended]
        print_json({"file": str(file), **found.document(), "applied": applied})
    else:
        show_mended(mended)
        show_assessment(file, found)
    if code := EXITS[found.verdict]:
        raise typer.Exit(code)
