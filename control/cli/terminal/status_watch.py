"""`wrackline status --watch`: a look every few seconds, until Ctrl-C or SIGTERM.

In: what asks, and what makes a page of an answer.  Out: on a terminal a live picture, whose last state stays;
elsewhere a block of lines per look, or an object per look; and the exit code of the last look.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from wrackline.control.cli.terminal.database_text import StatusStyle
from wrackline.control.cli.terminal.output import harmless_text, print_json, say
from wrackline.control.cli.terminal.status_text import reads_under_way
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.terminal_text import visible
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.services.status import PipelineStatus
from wrackline.control.runtime.services.status_documents import status_document

_FEWEST = 5  # tables, however low the terminal
_AROUND = 12  # rows of a terminal that are left for all but the tables
_BAR = 20  # columns
_BARS = 5  # of the tables that are being read, the first by name

Page = Callable[[PipelineStatus, StatusStyle], Iterable[Text]]
Show = Callable[[PipelineStatus], None]


def watch(ask: Callable[[], PipelineStatus], page: Page, every: float, *, json: bool) -> int:
    """Show each look; return the exit code of the last one."""
    console = Console(highlight=False)
    code = Exit.LEFT  # none has come yet
    live = not json and sys.stdout.isatty() and not console.is_dumb_terminal
    with _picture(console, page, every) if live else nullcontext(_object if json else _block(page)) as show:
        try:
            with _both_signals():
                while True:
                    found = ask()
                    show(found)
                    code = found.exit
                    time.sleep(every)
        except KeyboardInterrupt:
            pass
    return code


@contextmanager
def _both_signals() -> Iterator[None]:
    """Let SIGTERM end it as Ctrl-C does, so that the terminal has its cursor again."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _picture(console: Console, page: Page, every: float) -> Iterator[Show]:
    with Live(console=console, auto_refresh=False) as live:

        def show(found: PipelineStatus) -> None:
            most = max(_FEWEST, console.height - _AROUND)
            lines = page(found, StatusStyle(console.width, now_ms(), most))
            live.update(picture(found, lines, every), refresh=True)

        yield show


def picture(found: PipelineStatus, lines: Iterable[Text], every: float) -> Group:
    """Return a page with its time, and bars for the tables that are being read."""
    head = Text.assemble(
        (found.pipeline, "bold"), (f"  {time.strftime('%H:%M:%S')}, every {every:g} s; Ctrl-C ends it", "dim")
    )
    bars = Table.grid(padding=(0, 2))
    reads = list(reads_under_way(found))[:_BARS]
    for name, percent, words in reads:
        bar: RenderableType = "" if percent is None else ProgressBar(100, percent, width=_BAR)
        bars.add_row(Text(visible(name)), bar, Text(visible(words)))
    return Group(head, *map(harmless_text, lines), *((Text(), bars) if reads else ()))


def _block(page: Page) -> Show:
    def show(found: PipelineStatus) -> None:
        say(time.strftime("%Y-%m-%d %H:%M:%S"))
        for line in page(found, StatusStyle(None, now_ms())):
            say(line)
        say("")
        sys.stdout.flush()

    return show


def _object(found: PipelineStatus) -> None:
    print_json({"ts_ms": now_ms(), **status_document(found)}, line=True)
    sys.stdout.flush()
