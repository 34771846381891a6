"""Threads whose errors never go unnoticed: a worker that no longer reads its group's records must end.

In: what each thread does.  Out: the first unexpected error; the code that checks it ends the worker, and its
tasks go to the others.
"""

from collections.abc import Callable
from threading import Thread


class Threads:
    """Makes them."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def make(self, name: str, run: Callable[[], None]) -> Thread:
        """Make one, not yet started."""

        def guarded() -> None:
            try:
                run()
            except BaseException as error:  # noqa: BLE001 - it is raised where the worker ends
                self.error = self.error or error

        return Thread(target=guarded, name=name, daemon=True)
