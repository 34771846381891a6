"""The command line: verbs over the same functions that REST and the console use.

In: arguments.  Out: text for people, or with --json one JSON document on standard output; the exit code is
one of `Exit`.  An error prints its code, sentence and hint; its traceback only with --debug.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, TextIO, cast

import typer
from rich.console import Console
from rich.text import Text

from wrackline.control.check_file import check_file
from wrackline.control.check_server import check_server
from wrackline.control.check_target import check_target
from wrackline.control.delete_cli import delete
from wrackline.control.doctor import examine
from wrackline.control.exits import Exit, exit_of
from wrackline.control.explain import Explained, all_settings, explained, find_setting
from wrackline.control.init_cli import init
from wrackline.control.installed import Installed
from wrackline.control.letters_cli import app as letters_app
from wrackline.control.logs.lines import AsJson, Log, as_json, log_to
from wrackline.control.offsets_cli import app as offsets_app
from wrackline.control.output import Json, Options, print_json, say
from wrackline.control.pipeline_file import good_pipeline, show_findings
from wrackline.control.run import run
from wrackline.control.snapshot_cli import app as snapshot_app
from wrackline.control.spark_cli import app as spark_app
from wrackline.control.status_cli import status
from wrackline.control.status_line import Screen
from wrackline.control.tables_cli import tables
from wrackline.control.tail.command import tail
from wrackline.control.worker import work
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.setting import NotHonoured, Setting
from wrackline.schemas.settings import definition

app = typer.Typer(
    name="wrackline",
    help="Copies live databases into lakehouses and warehouses, and keeps the copies exact.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


app.add_typer(offsets_app)
app.add_typer(snapshot_app)
app.add_typer(letters_app)
app.add_typer(spark_app)
app.command()(init)
app.command()(delete)
app.command()(status)
app.command()(tail)
app.command()(tables)


@app.callback()
def options(
    context: typer.Context,
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Copies live databases into lakehouses and warehouses, and keeps the copies exact."""
    context.ensure_object(Options).debug = debug


@app.command()
def doctor(context: typer.Context, *, json: Json = False) -> None:
    """Say what is here of all that Wrackline needs."""
    context.ensure_object(Options).json = json
    facts = list(examine())
    if json:
        print_json({"facts": [asdict(fact) for fact in facts]})
    else:
        width = max(len(fact.name) for fact in facts)
        for fact in facts:
            mark, style = ("ok", "green") if fact.good else ("--", "bold red" if fact.needed else "yellow")
            hint = "" if fact.good else f"\n   {'':{width}}  {fact.hint}"
            say(Text.assemble((mark, style), f" {fact.name:{width}}  {fact.found}{hint}"))
    if any(fact.needed and not fact.good for fact in facts):
        raise typer.Exit(Exit.FINDINGS)


@app.command()
def check(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    offline: Annotated[bool, typer.Option("--offline", help="Check the file alone; ask no server.")] = False,
    json: Json = False,
) -> None:
    """Check a pipeline's file, its source's server, its tables and its target; nothing is changed."""
    context.ensure_object(Options).json = json
    checked = check_file(file, Installed(), os.environ)
    if checked.pipeline is not None and not checked.stops and not offline:
        looked = check_server(checked.pipeline)
        of_target = check_target(checked.pipeline, looked.topics)
        checked = replace(checked, findings=(*checked.findings, *looked.findings, *of_target))
    if json:
        print_json({"file": str(file), "ok": not checked.stops, "findings": checked.findings})
    else:
        show_findings(file, checked)
    if checked.stops:
        raise typer.Exit(Exit.FINDINGS)


@app.command(name="run")
def run_pipeline(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    json: AsJson = None,
) -> None:
    """Run a pipeline in the foreground until SIGTERM or SIGINT.

    It publishes the source's changes to Kafka; what merges them into a target is started apart.
    """
    if as_json(asked=json) or not sys.stdout.isatty():
        log, of_findings = _log(context, asked=json)
        run(good_pipeline(file, of_findings), log)
        return
    with closing(Screen()) as screen:
        run(good_pipeline(file), log_to(cast("TextIO", screen), for_programs=False), draw=screen.draw)


@app.command(name="consume")
def consume_pipeline(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Bring every table to where its topic is now, and end.")
    ] = False,
    spark_log: Annotated[
        Path | None, typer.Option("--spark-log", help="Append what Spark and Java print to this file.")
    ] = None,
    json: AsJson = None,
) -> None:
    """Merge a pipeline's topics into its target until SIGTERM or SIGINT.

    A table whose error asks for somebody is stopped, and the others go on; SIGHUP has it tried again.
    """
    # here, for who does not merge needs no Spark
    from wrackline.control.consume import consume  # noqa: PLC0415

    log, of_findings = _log(context, asked=json)
    code = consume(good_pipeline(file, of_findings), log, once=once, spark_log=spark_log)
    if code:
        raise typer.Exit(code)


@app.command()
def worker(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="pipeline.toml...", help="The pipelines' files.")],
    *,
    rest_port: Annotated[
        int | None,
        typer.Option(
            "--rest-port",
            min=0,
            max=65_535,
            help="Answer as Kafka Connect's REST does, on this port of 127.0.0.1; 0: a free one."
            " The worker then stays when all pipelines have ended.",
        ),
    ] = None,
    json: AsJson = None,
) -> None:
    """Run the source halves of pipelines, each in a process of its own, until SIGTERM or SIGINT.

    A crashed one is begun again; one whose error asks for somebody is FAILED, and the others stream on.
    """
    log, of_findings = _log(context, asked=json, named=True)
    code = work({file: good_pipeline(file, of_findings) for file in files}, log, rest_port=rest_port)
    if code:
        raise typer.Exit(code)


@app.command()
def errors(
    context: typer.Context,
    code: Annotated[str | None, typer.Argument(help="One code, as pg.slot_lost.")] = None,
    *,
    json: Json = False,
) -> None:
    """Explain an error's code or a finding's id, or list all of them."""
    context.ensure_object(Options).json = json
    wanted = explained(code)
    if json:
        print_json({"errors": [_code_as_json(entry) for entry in wanted]})
    elif code:
        entry = wanted[0]
        say(Text.assemble((entry.code, "bold"), f"  {entry.kind}: {entry.acts}"))
        say(f"  {entry.sentence}\n  hint: {entry.hint}")
    else:
        for entry in wanted:
            say(Text.assemble((f"{entry.code:32}", "bold"), f" {entry.kind:14} {entry.sentence}"))


@app.command()
def settings(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="One name, as topic.prefix.")] = None,
    *,
    json: Json = False,
) -> None:
    """Explain a setting, or list all of them."""
    context.ensure_object(Options).json = json
    if name is not None:
        _show_setting(find_setting(name), json=json)
        return
    wanted = all_settings()
    if json:
        print_json({"settings": [definition(s.name, s, place) for place, s in enumerate(wanted, 1)]})
        return
    for setting in wanted:
        default = "required" if setting.required else setting.default or ""
        say(Text.assemble((f"{setting.name:52}", "bold"), f" {setting.type.value.lower():9} {default}"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with one of `Exit`."""
    asked = Options()
    try:
        app(args=arguments, prog_name="wrackline", obj=asked)
    except WracklineError as error:
        _show_error(error, asked)
        sys.exit(exit_of(error))
    except BrokenPipeError:  # the reader of our output, as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.OK)
    except Exception as error:  # noqa: BLE001 - the last rim; its text may hold anything, so only --debug shows it
        if asked.debug:
            traceback.print_exc()
        _show_fault(type(error).__name__, asked)
        sys.exit(Exit.FAULT)


def _log(context: typer.Context, *, asked: bool | None, named: bool = False) -> tuple[Log, Log | None]:
    """Return the log of a command that runs for long; and where findings go, unless they are shown."""
    json = as_json(asked=asked)
    log = log_to(sys.stdout, for_programs=json, named=named)
    context.ensure_object(Options).log = log if json else None
    return log, log if json else None


def _show_setting(found: Setting | NotHonoured, *, json: bool) -> None:
    match found, json:
        case Setting(), True:
            print_json(definition(found.name, found, 1))
        case Setting(), False:
            default = "required" if found.required else f"default {found.default or 'none'}"
            kind, importance = found.type.value.lower(), found.importance.value.lower()
            say(Text.assemble((found.name, "bold"), f"  {kind}, {default}, {importance} importance"))
            words = f"\n  one of: {', '.join(found.recommended)}" if found.recommended else ""
            say(f"  {found.doc}{words}")
        case NotHonoured(), True:
            print_json(asdict(found))
        case NotHonoured(), False:
            effect = "refused" if found.refused else "no effect"
            say(Text.assemble((found.name, "bold"), f"  {effect}: {found.why}\n  hint: {found.hint}"))


def _show_error(error: WracklineError, asked: Options) -> None:
    if asked.debug:
        traceback.print_exception(error)
    if asked.log is not None:
        asked.log.error("failed", line=f"error {error}", error=error.document())
        return
    if asked.json:
        print_json({"error": error.document()})
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("error", "bold red"), f" {error}"))


def _show_fault(name: str, asked: Options) -> None:
    line = f"a fault of Wrackline's own ({name}); the same command with --debug shows where"
    if asked.log is not None:
        asked.log.critical("fault", line=line, fault=name)
    else:
        Console(stderr=True, highlight=False, soft_wrap=True).print(line, markup=False)


def _code_as_json(entry: Explained) -> dict[str, str]:
    return {"code": entry.code, "kind": entry.kind, "sentence": entry.sentence, "hint": entry.hint}


if __name__ == "__main__":
    main()
