"""The command line: verbs over the same functions that REST and the console use.

In: arguments.  Out: text for people, or with --json one JSON document on standard output; the exit code is
one of `Exit` (`terminal/error_exit.py`).
"""

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final, NoReturn, TextIO, cast

import typer
from rich.text import Text
from typer.core import TyperGroup

from wrackline.control.cli.assess.assess_command import assess
from wrackline.control.cli.assess.assessment_text import trial_line
from wrackline.control.cli.commands.delete_command import delete
from wrackline.control.cli.commands.doctor import examine
from wrackline.control.cli.commands.explain import Explanation, all_settings, explain_codes, find_setting
from wrackline.control.cli.commands.letters_commands import app as letters_app
from wrackline.control.cli.commands.offsets_commands import app as offsets_app
from wrackline.control.cli.commands.rest_commands import app as rest_app
from wrackline.control.cli.commands.snapshot_commands import app as snapshot_app
from wrackline.control.cli.commands.spark_commands import app as spark_app
from wrackline.control.cli.commands.status_command import status
from wrackline.control.cli.commands.table_commands import app as table_app
from wrackline.control.cli.commands.tables_command import tables
from wrackline.control.cli.commands.worker_command import worker
from wrackline.control.cli.init.init_command import init
from wrackline.control.cli.remote import remote_commands as remote
from wrackline.control.cli.remote.draft_commands import app as draft_app
from wrackline.control.cli.remote.lineage_command import lineage
from wrackline.control.cli.remote.slo_command import slo
from wrackline.control.cli.tail.tail_command import tail
from wrackline.control.cli.terminal.assumption_text import any_fails, show_assumptions
from wrackline.control.cli.terminal.error_exit import run_and_exit
from wrackline.control.cli.terminal.finding_text import findings_document, show_findings
from wrackline.control.cli.terminal.output import AsJson, Json, Options, log_of, print_json, say, text_width
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.cli.terminal.screen import Screen
from wrackline.control.cli.terminal.word_wrap import wrap_hint, wrap_sentence
from wrackline.control.runtime.check.assessment import add_server_findings
from wrackline.control.runtime.check.file_check import check_file
from wrackline.control.runtime.check.pipeline_file import UnfitFile, good_pipeline
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.revision import commit
from wrackline.control.runtime.logs.lines import as_json, log_to
from wrackline.control.runtime.probe.assumption_trials import try_assumptions
from wrackline.control.runtime.probe.target_trial import try_target
from wrackline.control.runtime.probe.trial_runs import TrialResult
from wrackline.control.runtime.running.run import run
from wrackline.producers.contract.assumptions import AssumptionReport
from wrackline.producers.task import memory_tuning
from wrackline.schemas.settings.setting import NotHonoured, Setting
from wrackline.schemas.settings.settings_registry import definition

_ORDER: Final = (
    *("init", "check", "assess", "run", "consume", "worker", "status", "slo", "snapshot", "letters"),
    *("table", "tables", "tail", "offsets", "lineage", "connectors", "draft", "apply", "pause", "resume"),
    *("restart", "stop", "delete", "doctor", "errors", "settings", "spark", "rest"),
)


class _InOrder(TyperGroup):
    """Lists the commands in the order in which the life of a pipeline needs them."""

    def list_commands(self, ctx: object) -> list[str]:
        del ctx
        return list(_ORDER)


app = typer.Typer(
    name="wrackline",
    cls=_InOrder,
    help="Copies live databases into lakehouse tables, and keeps the copies exact.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.add_typer(offsets_app)
app.add_typer(snapshot_app)
app.add_typer(letters_app)
app.add_typer(table_app)
app.add_typer(spark_app)
app.add_typer(rest_app)
app.command()(assess)
app.add_typer(draft_app)
app.command()(init)
app.command()(delete)
app.command()(status)
app.command()(slo)
app.command()(tail)
app.command()(tables)
app.command()(lineage)
app.command()(worker)
for verb in (remote.connectors, remote.pause, remote.resume, remote.restart, remote.stop, remote.apply):
    app.command()(verb)


def _version(asked: bool) -> None:  # noqa: FBT001 - so typer calls it
    if asked:
        say(f"wrackline {version('wrackline')} (commit {commit()})")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    *,
    _shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Copies live databases into lakehouse tables, and keeps the copies exact."""
    context.ensure_object(Options).debug = debug


@app.command()
def doctor(context: typer.Context, *, json: Json = False) -> None:
    """List what Wrackline needs, and whether this machine has it."""
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
    offline: Annotated[
        bool, typer.Option("--offline", help="Check only the file; contact no server.")
    ] = False,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Also try the source's assumptions on its server, and a table of its own in the target.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Check a pipeline's file, source, Kafka and target.

    Changes nothing. With --probe, a source that has a signal table writes rows into it, and removes them; in
    the target a table is made, merged into, and dropped.
    """
    context.ensure_object(Options).json = json
    if probe and offline:
        raise typer.BadParameter("--probe asks the source's server, and --offline forbids it")
    checked = check_file(file, Installed(), os.environ)
    if not offline:
        with show_progress("asking the source, Kafka and the target", json=json):
            checked = add_server_findings(checked)
    if checked.stops:
        raise UnfitFile(file, checked)
    reports: Sequence[AssumptionReport] = ()
    tried: TrialResult | None = None
    if probe and checked.pipeline is not None:
        with show_progress("watching the source's log", json=json):
            reports = try_assumptions(checked.pipeline)
        with show_progress("merging into a table of the target", json=json):
            tried = try_target(checked.pipeline, checked.topics)
    if tried is not None and tried.finding is not None:
        checked = replace(checked, findings=(*checked.findings, tried.finding))
    if json:
        more = {"assumptions": reports, "target": None if tried is None else tried.document()}
        print_json(findings_document(file, checked) | (more if probe else {}))
    else:
        show_findings(file, checked)
        if probe:
            show_assumptions(file, reports)
        if tried is not None:
            say(trial_line(tried))
    if any_fails(reports) or checked.stops:
        raise typer.Exit(Exit.FINDINGS)


@app.command(name="run")
def run_pipeline(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    json: AsJson = None,
) -> None:
    """Publish a pipeline's changes to Kafka until SIGTERM.

    `wrackline consume` merges them into a target.
    """
    memory_tuning.use_one_heap()
    if as_json(asked=json) or not sys.stdout.isatty():
        log = log_of(context, asked=json)
        run(good_pipeline(file), log)
        return
    with closing(Screen()) as screen:
        run(good_pipeline(file), log_to(cast("TextIO", screen), for_programs=False), draw=screen.draw)


@app.command(name="consume")
def consume_pipeline(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="pipeline.toml", help="The pipeline's file.")],
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Merge what the topics contain now, then end.")
    ] = False,
    spark_log: Annotated[
        Path | None, typer.Option("--spark-log", help="Append the output of Spark and Java to this file.")
    ] = None,
    json: AsJson = None,
) -> None:
    """Merge a pipeline's topics into its target until SIGTERM.

    A table whose error needs an operator stops, and the others continue. After SIGHUP it is tried again.
    """
    # here, because a user that does not merge needs no Spark
    from wrackline.control.runtime.running.consume import consume  # noqa: PLC0415

    log = log_of(context, asked=json)
    code = consume(good_pipeline(file), log, once=once, spark_log=spark_log)
    if code:
        raise typer.Exit(code)


@app.command()
def errors(
    context: typer.Context,
    code: Annotated[str | None, typer.Argument(help="A code or an id, such as pg.slot_lost.")] = None,
    *,
    json: Json = False,
) -> None:
    """Explain an error code or a finding's id, or list all of them."""
    context.ensure_object(Options).json = json
    wanted = explain_codes(code)
    if json:
        print_json({"errors": [_code_as_json(entry) for entry in wanted]})
    elif code:
        entry, width = wanted[0], text_width()
        acts = wrap_sentence(f"{entry.kind}: {entry.acts}", width, 2, len(entry.code) + 2)
        say(Text.assemble((entry.code, "bold"), f"  {acts}"))
        say(f"  {wrap_sentence(entry.sentence, width, 2, 2)}\n  hint: {wrap_hint(entry.hint, width, 4, 8)}")
    else:
        width = text_width()
        for entry in wanted:
            head, kind = f"{entry.code:32}", f" {entry.kind:14} "
            sentence = wrap_sentence(entry.sentence, width, 4, len(head) + len(kind))
            say(Text.assemble((head, "bold"), f"{kind}{sentence}"))


@app.command()
def settings(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="A name, such as topic.prefix.")] = None,
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


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with one of `Exit`."""
    run_and_exit(app, arguments)


def _show_setting(found: Setting | NotHonoured, *, json: bool) -> None:
    match found, json:
        case Setting(), True:
            print_json(definition(found.name, found, 1))
        case Setting(), False:
            default = "required" if found.required else f"default {found.default or 'none'}"
            kind, importance = found.type.value.lower(), found.importance.value.lower()
            say(Text.assemble((found.name, "bold"), f"  {kind}, {default}, {importance} importance"))
            words = f"\n  one of: {', '.join(found.recommended)}" if found.recommended else ""
            say(f"  {wrap_sentence(found.doc, text_width(), 2, 2)}{words}")
        case NotHonoured(), True:
            print_json(asdict(found))
        case NotHonoured(), False:
            effect = "refused" if found.refused else "no effect"
            say(Text.assemble((found.name, "bold"), f"  {effect}: {found.why}\n  hint: {found.hint}"))


def _code_as_json(entry: Explanation) -> dict[str, str]:
    return {"code": entry.code, "kind": entry.kind, "sentence": entry.sentence, "hint": entry.hint}
