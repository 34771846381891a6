"""How every command ends: an error as text, with --json as a document too, and one of `Exit`.

    done                    its exit code, once all output is out
    an error of ours        code, sentence, hint; its traceback only with --debug
    a file with faults      its findings, as `wrackline check` shows them
    a wrong command line    how it is used
    Ctrl-C, or a "no"       nothing more is done
    its reader has gone     as `head` leaves: silence, and 0, unless it had an exit code already

In: the application and its arguments.  Out: the end of the process.  A document is on one line, so that it is
one more object if a command prints an object per line.  A command with a log reports it there.
"""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

from wrackline.control.cli.terminal.finding_text import findings_document, show_findings
from wrackline.control.cli.terminal.output import Options, harmless_text, print_json
from wrackline.control.cli.terminal.word_wrap import wrap_hint, wrap_sentence
from wrackline.control.runtime.check.pipeline_file import UnfitFile, log_findings
from wrackline.control.runtime.ground.exits import Exit, exit_of
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define

USAGE = define("cli.usage", Definite, "{why}", hint="how it is used: {command} --help")
LEFT = define("cli.left", OperatorNeeded, "the command was interrupted", hint="repeat the command")
FAULT = define(
    "cli.fault",
    Definite,
    "a fault of Wrackline's own ({kind})",
    hint="the same command with --debug shows where; what it shows may hold rows' values",
)


def run_and_exit(app: typer.Typer, arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with one of `Exit`."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked, code = Options(), int(Exit.OK)
    try:
        code, say = _run(app, given, asked)
        say()
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the second is rich's way to report the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the interpreter's last flush
    sys.exit(code)


def _run(  # noqa: PLR0911 - a line for each way to end
    app: typer.Typer, given: Sequence[str], asked: Options
) -> tuple[int, Callable[[], None]]:
    """Run a command; return its exit code, and what reports the reason."""
    try:
        return app(args=given, prog_name="wrackline", obj=asked, standalone_mode=False) or Exit.OK, _silence
    except WracklineError as error:
        return exit_of(error), partial(_say, error, asked)
    except UnfitFile as unfit:
        return Exit.FINDINGS, partial(_say_findings, unfit, asked)
    except typer.TyperException as wrong:
        return wrong.exit_code, partial(_say_usage, wrong, json=asked.json or "--json" in given)
    except typer.Abort:
        return Exit.LEFT, partial(_say, LEFT(), asked)
    except SystemExit as end:  # completion ends so, and so do both libraries when the reader has gone
        if isinstance(end.__context__, BrokenPipeError):
            raise BrokenPipeError from end
        return end.code if isinstance(end.code, int) else Exit.OK, _silence
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last rim; its text may hold anything, so only --debug shows it
        return Exit.FAULT, partial(_say_fault, error, asked)


def _silence() -> None:
    pass


def _say(error: WracklineError, asked: Options) -> None:
    if asked.debug:
        traceback.print_exception(error)
    if asked.log is not None:
        asked.log.error("failed", line=f"error {error}", error=error.document())
        return
    if asked.json:
        print_json({"error": error.document()}, line=True)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    width = console.width if sys.stderr.isatty() else None
    sentence = wrap_sentence(f"[{error.code}] {error.sentence}", width, 2, len("error "))
    hint = f"\n  hint: {wrap_hint(error.hint, width, 4, 8)}" if error.hint else ""
    console.print(harmless_text(Text.assemble(("error", "bold red"), f" {sentence}{hint}")))


def _say_fault(error: Exception, asked: Options) -> None:
    if asked.debug:
        traceback.print_exception(error)
    name = type(error).__name__
    if asked.log is not None:
        line = f"a fault of Wrackline's own ({name}); the same command with --debug shows where"
        asked.log.critical("fault", line=line, fault=name)
    else:
        _say(FAULT(kind=name), Options(json=asked.json))


def _say_findings(unfit: UnfitFile, asked: Options) -> None:
    if asked.log is not None:
        log_findings(asked.log, unfit.file, unfit.checked)
    elif asked.json:
        print_json(findings_document(unfit.file, unfit.checked), line=True)
    else:
        show_findings(unfit.file, unfit.checked)


def _say_usage(wrong: typer.TyperException, *, json: bool) -> None:
    context = getattr(wrong, "ctx", None)
    if json:
        command = "wrackline" if context is None else context.command_path
        print_json({"error": USAGE(why=wrong.format_message(), command=command).document()}, line=True)
    show = getattr(wrong, "show", None)  # the library's own: usage, and where help is
    if show is not None:
        show()
