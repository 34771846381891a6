"""Shows progress while a command takes its time: a moving line on a terminal, nothing elsewhere.

In: what is done, and how far that is where it can be counted.  Out: a bar that is gone when the work is done;
what is printed meanwhile is above it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

_BAR = 20  # columns


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """The line, where there is one."""

    progress: Progress | None = None
    task: TaskID | None = None

    def now(self, what: str, done: int | None = None, total: int | None = None) -> None:
        """Show what is done now."""
        if self.progress is not None and self.task is not None:
            self.progress.update(self.task, description=what, completed=done, total=total)


@contextmanager
def show_progress(what: str, *, json: bool) -> Iterator[ProgressLine]:
    """Show a line until the block ends."""
    console = Console(highlight=False)
    if json or not sys.stdout.isatty() or console.is_dumb_terminal:
        yield ProgressLine()
        return
    columns = SpinnerColumn(), BarColumn(_BAR), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=console, transient=True) as progress:
        yield ProgressLine(progress, progress.add_task(what, total=None))
