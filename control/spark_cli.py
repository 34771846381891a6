"""`wrackline spark …`: what a Spark that somebody else starts has to be given.

In: a pipeline's file.  Out: one line for a command of Spark's own, or a document; as

    spark-submit --jars "$(wrackline spark jars pipeline.toml)" "$(wrackline spark application)" consume ...
"""

from pathlib import Path
from typing import Annotated

import typer

from wrackline.control import submit
from wrackline.control.output import Json, Options, print_json, say
from wrackline.control.pipeline_file import good_pipeline

app = typer.Typer(
    name="spark",
    help="Say what spark-submit and a Spark Connect server have to be given.",
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
    """Name the jars that a pipeline's Spark needs, for --jars; those that are not here are fetched."""
    # here, for who has no Spark has no jars for it
    from wrackline.consumers import plugin  # noqa: PLC0415
    from wrackline.control.spark_session import jars_of  # noqa: PLC0415
    from wrackline.control.stack.jars import spark_jars  # noqa: PLC0415
    from wrackline.control.target_alone import target_of  # noqa: PLC0415

    context.ensure_object(Options).json = json
    values, kind = target_of(good_pipeline(file))
    needed = jars_of(plugin.load(kind).needs(values))
    found = [str(path.absolute()) for path in spark_jars(needed)]
    if json:
        print_json({"jars": found})
    else:
        say(",".join(found))


@app.command(name="application")
def application_file(context: typer.Context, *, json: Json = False) -> None:
    """Name the application's file; what is put after it is a command as on this command line."""
    context.ensure_object(Options).json = json
    file = str(Path(*submit.__path__, "application.py").absolute())
    if json:
        print_json({"application": file})
    else:
        say(file)
