"""What people ask of the machine in a history, and whether they got it.

A request comes from outside, and then it is repeated until Kafka has its receipt; or as a row of the signal
table, and then it stands in the log.  A request that succeeded has delivered every row that was there when
it was taken: as a row of its own, or by a later event of its key.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tests.simulation.chance import Chance
from tests.simulation.database import Database, Signalled
from tests.simulation.publisher import ENDED, Durable
from tests.simulation.replica import Broken
from tests.simulation.settings import Settings
from tests.simulation.shapes import BAG, DOMAINS, LAST, bound, rank, table_of
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    Request,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.schemas.kafka.receipts import RequestState
from wrackline.schemas.tables.table import TableId

SIGNAL = "execute-snapshot"


@dataclass(eq=False)
class Order:
    """One snapshot that was asked for."""

    asked: SnapshotRequest
    signalled: bool
    held: bool = False  # by this run of the machine
    since: int = 0  # records that were made before it was taken
    there: set[tuple[TableId, bytes]] = field(default_factory=set)


class Orders:
    """All that was asked in a history."""

    def __init__(self, chance: Chance, settings: Settings, database: Database, durable: Durable) -> None:
        self._chance, self._settings, self._database, self._durable = chance, settings, database, durable
        self.taken: dict[str, Order] = {}
        self.stopped = self._resumed = self._mended = False
        self._asked = 0
        self._tables = tuple(table.shape.schema.id for table in database.tables)

    def first(self, machine: Callable[[Request], None], made: int) -> None:
        """Ask for every table, once."""
        self._ask(SnapshotRequest("first", self._tables, Purpose.INITIAL), machine, made)

    def another(self, machine: Callable[[Request], None], made: int) -> str:
        """Ask for something, or for something again."""
        self._asked += 1
        chance, name = self._chance, f"order{self._asked}"
        what, tables = (
            chance.number(),
            tuple(table for table in self._tables if chance.happens(0.6)) or self._tables,
        )
        if what < 0.15 and self.taken:
            order = chance.pick(list(self.taken.values()))
            self._take(order, machine, made)
            return f"{order.asked.id} again"
        if what < 0.25:
            machine(PauseRequest(f"{name}-pause", tables))
            return f"pause {_names(tables)}"
        if what < 0.4:
            machine(ResumeRequest(f"{name}-resume", tables))
            return f"resume {_names(tables)}"
        if what < 0.45:
            self.stopped = True
            machine(StopRequest(f"{name}-stop", tables))
            return f"stop {_names(tables)}"
        if what < 0.65:
            at = chance.below(min(len(self._tables), BAG))
            table, domain = self._tables[at], DOMAINS[at]
            if chance.happens(0.5):
                asked = SnapshotRequest(name, (table,), keys=(chance.pick(domain), chance.pick(domain)))
            else:
                low, high = chance.pick((None, *domain)), chance.pick((None, *domain))
                asked = SnapshotRequest(name, (table,), low=low, high=high)
        else:
            surrogate = "version" if chance.happens(0.2) else None
            anew = bool(self._settings.losses) and chance.happens(0.3)
            asked = SnapshotRequest(name, tables, surrogate_key=surrogate, anew=anew)
        self._ask(asked, machine, made)
        return f"{asked.id}: {_names(asked.tables)} {asked.low or ''} {asked.high or ''} {asked.keys or ''}"

    def signalled(self, name: str, machine: Callable[[Request], None], made: int) -> None:
        """A request comes back through the log."""
        self._take(self.taken[name], machine, made)

    def repeated(self, machine: Callable[[Request], None], made: int) -> None:
        """After a crash, ask again what came from outside and was not acknowledged."""
        for order in self.taken.values():
            order.since, order.held = min(order.since, made), False
            if not order.signalled and order.asked.id not in self._durable.receipts:
                self._take(order, machine, made)

    def forgotten(self) -> None:
        """The log is lost: what stood in it and was not taken has to be asked for once more."""
        for order in self.taken.values():
            order.signalled = False

    def resume_at_last(self, machine: Callable[[Request], None]) -> bool:
        """Once it is quiet, let all that was paused continue; whether that was to be done."""
        if self._resumed:
            return False
        self._resumed = True
        machine(ResumeRequest("last"))
        return True

    def fix(self, machine: Callable[[Request], None], made: int, aside: Collection[TableId]) -> bool:
        """Once all rests, ask again for tables that were set aside; whether that was to be done."""
        if self._mended or not aside:
            return False
        self._mended = True
        order = self.taken["repaired"] = Order(SnapshotRequest("repaired", tuple(aside)), signalled=False)
        self._take(order, machine, made)
        return True

    @property
    def ended(self) -> bool:
        """Whether every request has ended, as Kafka has it."""
        return all(self._durable.receipts.get(name) in ENDED for name in self.taken)

    def judge(self, spoiled: Collection[TableId], *, refused: bool) -> set[TableId]:
        """Whether each got what it asked for; return the tables that must be whole if they have not failed.

        `spoiled` tables were set aside once, `refused`: a read failed for another reason than time repairs.
        """
        covered: set[TableId] = set()
        for name, order in self.taken.items():
            became, first = self._durable.receipts[name], order.asked.purpose is Purpose.INITIAL
            if became is RequestState.CANCELLED and (first or not self.stopped) and not spoiled:
                raise Broken("receipt", f"{name} was cancelled, and nobody asked for it")
            wrong = refused or (self._settings.fails and not first) or spoiled
            if became is RequestState.FAILED and not wrong:
                raise Broken("receipt", f"{name} failed, and nothing had gone wrong")
            if first:
                covered.update(order.asked.tables)
            if became is RequestState.SUCCEEDED:
                self._delivered(order)
                if not order.asked.keys and order.asked.low is None and order.asked.high is None:
                    covered.update(order.asked.tables)
        return covered

    def _ask(self, asked: SnapshotRequest, machine: Callable[[Request], None], made: int) -> None:
        order = self.taken[asked.id] = Order(asked, self._chance.happens(0.4))
        if order.signalled:
            self._database.append(Signalled(asked.id, SIGNAL, "{}"))
        else:
            self._take(order, machine, made)

    def _take(self, order: Order, machine: Callable[[Request], None], made: int) -> None:
        """Hand it to the machine, and remember which rows were there."""
        if not order.held and order.asked.id not in self._durable.receipts:
            order.since, order.there = made, self._rows(order.asked)
        order.held = True
        machine(order.asked)

    def _rows(self, asked: SnapshotRequest) -> set[tuple[TableId, bytes]]:
        low, high = rank(asked.low or ()), (LAST if asked.high is None else rank(asked.high))
        there = set()
        for name in asked.tables:
            at = table_of(name)
            table = self._database.tables[at]
            if at == BAG:
                continue  # what is of it is the replica's to judge
            for key in table.rows:
                hidden = any((at, key) in transaction.left for transaction in self._database.hidden)
                wanted = key in asked.keys if asked.keys else low <= rank(key) <= high
                if wanted and not hidden:
                    there.add((name, table.shape.key_bytes(key)))
        return there

    def _delivered(self, order: Order) -> None:
        seen: set[tuple[TableId, bytes]] = set()
        for name, key, _ in self._durable.records[order.since :]:
            if key is not None:
                seen.add((name, key))
            else:
                seen |= {(table, other) for table, other in order.there if table == name}
        lacking = order.there - seen
        if lacking and not self._settings.skipped:
            named = sorted(f"{table.name} {'/'.join(map(str, bound(key)))}" for table, key in lacking)
            raise Broken("undelivered", f"{order.asked.id} ended without {', '.join(named)}")


def _names(tables: tuple[TableId, ...]) -> str:
    return ", ".join(table.name for table in tables) or "all"
