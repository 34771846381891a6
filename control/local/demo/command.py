"""`./run demo`: its arguments, what it prints at the end, and its exit code.

In: arguments.  Out: 0 when the copy is exact, 1 when it is not, as other commands' otherwise (exits.py), 130
after Ctrl-C.  However it ends, everything that it started has ended before.
"""

import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from wrackline.control.local.demo import folder as demo_folder
from wrackline.control.local.demo import paste_lines
from wrackline.control.local.demo.demo_screen import DemoScreen
from wrackline.control.local.demo.parts.parts import start_parts
from wrackline.control.local.demo.shops.known import SHOPS, ShopKind
from wrackline.control.local.demo.shops.shop import Line
from wrackline.control.local.demo.story import Ending, Story
from wrackline.control.local.demo.warehouses.known import WAREHOUSES, WarehouseKind
from wrackline.control.runtime.ground.exits import Exit, exit_of
from wrackline.control.runtime.ground.number_text import count_text
from wrackline.schemas.errors import WracklineError

INTERRUPTED = 130
_KEYS_SHOWN = 10
_KEPT = "Everything keeps running until Ctrl-C. In another terminal, in {here}:"
_ENDED = (
    "The servers end now; --keep would leave them, for {client} and wrackline tail. What stays, in {here}:"
)
_NEXT = "Next, a table of your own, step by step: docs/tutorial.md"

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def demo(
    source: Annotated[ShopKind, typer.Option(help="The shop's database.")] = ShopKind.POSTGRES,
    target: Annotated[
        WarehouseKind, typer.Option(help="Where the copy lies; a service's name is that of an emulator.")
    ] = WarehouseKind.ICEBERG,
    folder: Annotated[Path, typer.Option(help="Folder of servers, logs and tables.")] = Path(".stack/demo"),
    seconds: Annotated[int, typer.Option(min=3, max=3600, help="How long the workload runs.")] = 30,
    seed: Annotated[int, typer.Option(help="The seed of the random workload.")] = 1,
    *,
    keep: Annotated[bool, typer.Option("--keep", help="Keep everything running until Ctrl-C.")] = False,
) -> None:
    """Copy a live shop from a database through Kafka into a table, and prove the copy exact."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    console, shop, copy, here = Console(highlight=False), SHOPS[source], WAREHOUSES[target], Path.cwd()
    code = int(Exit.FAULT)
    try:
        with (
            demo_folder.hold_folder(folder) as own,
            DemoScreen(console, shop.title, copy.label) as screen,
            start_parts(own, shop, copy, screen.say) as parts,
        ):
            ending = Story(parts, screen, seconds=seconds, seed=seed).tell()
            screen.freeze()
            code = int(Exit.OK if ending.good else Exit.FINDINGS)
            print_ending(console, ending, (shop.title, copy.title), screen.seconds())
            if keep:
                lines = paste_lines.lines_while_running(parts.folder, parts.kafka.bootstrap, parts.shop, copy)
                _say(console, Text.assemble("\n", ("The console", "bold"), f": {parts.console}"))
                _print_looks(console, _KEPT.format(here=here), lines)
                threading.Event().wait()
        heading = _ENDED.format(client=shop.client, here=here)
        _print_looks(console, heading, paste_lines.lines_after_end(parts.folder, copy))
        _say(console, Text(f"\n{_NEXT}"))
    except KeyboardInterrupt:
        code = code if keep and code != Exit.FAULT else INTERRUPTED
        console.print("ended; everything that was started has been stopped")
    except WracklineError as error:
        _print_error(error)
        code = int(exit_of(error))
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Leave by unwinding, so that everything is stopped; a second signal doesn't disturb that."""
    del number, frame
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt


def print_ending(console: Console, ending: Ending, ends: tuple[str, str], seconds: float) -> None:
    """Print the verdict and the counts; keys of what differs, never a value.  `ends`: source and target."""
    source, target = ends
    verdict = ending.verdict
    rows = count_text(verdict.rows, "row", "rows")
    if verdict.equal:
        columns = count_text(verdict.columns, "column", "columns")
        values = count_text(verdict.rows * verdict.columns, "value is", "values are")
        same = f"{rows} of {columns}, {values} the same in {source} and in {target}"
        _print(console, "EQUAL", "bold green", same)
    else:
        _print(console, "DIFFERENT", "bold red", f"{rows} in {source}; in {target}:")
        for one, many, keys in (
            ("column is on one side only", "columns are on one side only", verdict.absent),
            ("row is missing", "rows are missing", verdict.missing),
            ("row is too many", "rows are too many", verdict.surplus),
            ("row differs", "rows differ", verdict.changed),
        ):
            if keys:
                more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
                listed = f"{'; '.join(keys[:_KEYS_SHOWN])}{more}"
                console.print(f"  {count_text(len(keys), one, many)}: {listed}", soft_wrap=True)
    once = ending.events == ending.changes and not ending.doubled
    _print(
        console,
        "exactly once" if once else "NOT exactly once",
        "green" if once else "bold red",
        f"{count_text(ending.changes, 'change', 'changes')}, {count_text(ending.events, 'event', 'events')},"
        f" {count_text(ending.doubled, 'duplicate', 'duplicates')}, across a kill -9 and"
        f" {count_text(ending.rolled_back, 'rollback', 'rollbacks')}",
    )
    console.print(f"took {seconds:.0f} s")


def _print(console: Console, mark: str, style: str, sentence: str) -> None:
    _say(console, Text.assemble((mark, style), f": {sentence}"))


def _say(console: Console, text: Text) -> None:
    """Print a sentence, broken between words on a terminal and nowhere else."""
    console.print(text, soft_wrap=not console.is_terminal)


def _print_looks(console: Console, heading: str, lines: Sequence[Line]) -> None:
    """Print lines that can be pasted into another terminal."""
    _say(console, Text(f"\n{heading}"))
    for what, line in lines:
        console.print(Text.assemble((f"  # {what}\n", "dim"), f"  {line}"), soft_wrap=True)


def _print_error(error: WracklineError) -> None:
    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble(("error", "bold red"), f" {error}"), soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        console.print(Text(note, style="dim"), soft_wrap=True)
