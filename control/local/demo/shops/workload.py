"""The shop at work: first orders, then small transactions at a steady pace, on a separate thread.

In: a database and a seed.  Out: changed rows, and how many events they must become, counted from what the
database reports of each committed statement.  A transaction that is rolled back counts for nothing.
"""

import random
import threading
import time
from types import TracebackType
from typing import Self

from wrackline.control.local.demo.shops.shop import Shop, StatementResult

TICK = 0.05  # seconds from one transaction to the next
FIRST_ROWS = 500


class Workload:
    """Fills the shop, and from `begin` on changes it until the block ends."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self._shop = shop.open()
        self._chance = random.Random(seed)  # noqa: S311 - a workload's chance, no secret
        self._ids: list[int] = []
        self._turn = threading.Lock()  # one transaction at a time
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="workload")
        self._error: BaseException | None = None
        self._seed = 0
        self.events = 0  # that the committed changes must become
        self.rolled_back = 0

    def __enter__(self) -> Self:
        with self._turn:
            self._commit(self._shop.insert(FIRST_ROWS, self._next_seed(FIRST_ROWS)))
        return self

    def begin(self) -> None:
        """Start the live changes."""
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        if self._thread.ident is not None:  # it was started
            self._thread.join()
        self._shop.close()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raise what stopped the workload, if anything did."""
        if self._error is not None:
            raise self._error

    def add_column(self) -> None:
        """Add a column with a default: each row has another value then, and no event reports it."""
        with self._turn:
            self._shop.add_column()

    def _work(self) -> None:
        try:
            due = time.monotonic()
            while not self._end.wait(max(0.0, due - time.monotonic())):
                due += TICK
                with self._turn:
                    self._transaction()
        except BaseException as error:  # noqa: BLE001 - raised where the workload is awaited
            self._error = error

    def _transaction(self) -> None:
        chance, shop = self._chance, self._shop
        kind = chance.random()
        if kind < 0.45:
            rows = chance.randint(10, 30)
            self._commit(shop.insert(rows, self._next_seed(rows)))
        elif kind < 0.75:
            self._commit(shop.update(self._some(30)), shop.rewrite(self._some(3), self._next_seed(1)))
        elif kind < 0.85:
            self._commit(shop.rekey(self._take_ids(8)))
        elif kind < 0.95:
            self._commit(shop.delete(self._take_ids(12)), shop.update(self._some(5)))
        else:
            shop.insert(5, self._next_seed(5))
            shop.delete(self._some(10))
            shop.rollback()
            self.rolled_back += 1

    def _commit(self, *changes: StatementResult) -> None:
        self._shop.commit()
        for done in changes:
            self._ids += done.ids
            self.events += done.events

    def _next_seed(self, rows: int) -> int:
        self._seed += rows
        return self._seed - rows + 1

    def _some(self, rows: int) -> list[int]:
        return self._chance.sample(self._ids, min(rows, len(self._ids)))

    def _take_ids(self, rows: int) -> list[int]:
        """Choose rows whose ids end with this transaction."""
        chosen = self._some(rows)
        gone = set(chosen)
        self._ids = [number for number in self._ids if number not in gone]
        return chosen
