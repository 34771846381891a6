"""`wrackline spark …`: what a Spark needs that another program starts.

In: a pipeline's file.  Out: one line for a command of Spark's own, or a document; as

    spark-submit --jars "$(wrackline spark jars pipeline.toml)" "$(wrackline spark application)" consume ...
"""

from pathlib import Path
from typing import Annotated

import typer

from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.check.pipeline_file import good_pipeline

app = typer.Typer(
    name="spark",
    help="Print what spark-submit and a Spark Connect server need.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def jars(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    json: Json = False,
) -> None:
    """Print the jars that a pipeline's Spark needs, for --jars; missing ones are downloaded."""
    # here, because a user without Spark has no jars for it
    from wrackline.consumers.contract.target import load_target  # noqa: PLC0415
    from wrackline.control.runtime.spark.jars import spark_jars  # noqa: PLC0415
    from wrackline.control.runtime.spark.spark_session import jars_of  # noqa: PLC0415
    from wrackline.control.runtime.spark.target_access import target_of  # noqa: PLC0415

    context.ensure_object(Options).json = json
    values, kind = target_of(good_pipeline(file))
    needed = jars_of(load_target(kind).needs(values))
    found = [str(path.absolute()) for path in spark_jars(needed)]
    if json:
        print_json({"jars": found})
    else:
        say(",".join(found))


@app.command(name="application")
def application_file(context: typer.Context, *, json: Json = False) -> None:
    """Print the application's path for spark-submit; write a command after it, such as consume."""
    context.ensure_object(Options).json = json
    file = str(Path(__file__).absolute().parents[1] / "submit" / "application.py")
    if json:
        print_json({"application": file})
    else:
        say(file)
