"""`wrackline status --watch`: a look every few seconds, until Ctrl-C or SIGTERM.

In: what asks, and what makes a page of an answer.  Out: on a terminal a live picture, whose last state stays;
elsewhere a block of lines a look, or an object a line; and the exit code that the last look had.
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

from wrackline.control.exits import Exit
from wrackline.control.moments import now_ms
from wrackline.control.output import harmless, print_json, say
from wrackline.control.status import Status
from wrackline.control.status_documents import whole
from wrackline.control.status_text import Look, being_read
from wrackline.control.visible import visible

_FEWEST = 5  # tables, however low the terminal
_AROUND = 12  # rows of a terminal that are left for what is no table
_BAR = 20  # columns
_BARS = 5  # of those that are read first by name

Page = Callable[[Status, Look], Iterable[Text]]
Show = Callable[[Status], None]


def watch(ask: Callable[[], Status], page: Page, every: float, *, json: bool) -> int:
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

        def show(found: Status) -> None:
            most = max(_FEWEST, console.height - _AROUND)
            lines = page(found, Look(console.width, now_ms(), most))
            live.update(picture(found, lines, every), refresh=True)

        yield show


def picture(found: Status, lines: Iterable[Text], every: float) -> Group:
    """Return a page with its time, and bars for the tables that are being read."""
    head = Text.assemble(
        (found.pipeline, "bold"), (f"  {time.strftime('%H:%M:%S')}, every {every:g} s; Ctrl-C ends it", "dim")
    )
    bars = Table.grid(padding=(0, 2))
    reads = list(being_read(found))[:_BARS]
    for name, percent, words in reads:
        bar: RenderableType = "" if percent is None else ProgressBar(100, percent, width=_BAR)
        bars.add_row(Text(visible(name)), bar, Text(visible(words)))
    return Group(head, *map(harmless, lines), *((Text(), bars) if reads else ()))


def _block(page: Page) -> Show:
    def show(found: Status) -> None:
        say(time.strftime("%Y-%m-%d %H:%M:%S"))
        for line in page(found, Look(None, now_ms())):
            say(line)
        say("")
        sys.stdout.flush()

    return show


def _object(found: Status) -> None:
    print_json({"ts_ms": now_ms(), **whole(found)}, line=True)
    sys.stdout.flush()
