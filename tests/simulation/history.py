"""One history, from one integer: a while of everything at once, then quiet, then the judgement.

database, log, readers, Kafka, crashes, requests: one thing at a time, whatever the seed says
quiet: writers end, nothing fails; the log moves on by itself, and all must end in a bounded time
judgement: the topic's reader saw nothing go back, its replica equals the tables, requests got their rows
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tests.simulation.chance import Chance
from tests.simulation.database import Database, Emptied, Spoiled, Wrote
from tests.simulation.planting import SOUND, Fault
from tests.simulation.replica import Broken, Reader
from tests.simulation.settings import Settings, settings_of
from tests.simulation.shapes import BAG
from wrackline.producers.snapshot.table_state import TableStatus

MOST_QUIET = 1_000  # rounds in which everything must come to rest; histories were seen that need 500
_CALM = frozenset({TableStatus.STREAMING, TableStatus.FAILED, TableStatus.GONE})


class Failure(NamedTuple):
    """A history that broke a rule."""

    seed: int
    rule: str
    what: str
    settings: Settings

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.settings.mark.value}) {self.rule}: {self.what}"


def run(
    seed: int,
    fault: Fault = SOUND,
    settings: Settings | None = None,
    note: Callable[[str], None] | None = None,
) -> Failure | None:
    """Run one history; None if it broke no rule."""
    settings = fault.bias(settings_of(seed)) if settings is None else settings
    try:
        with fault.in_place():
            _History(seed, fault, settings, note).run()
    except Broken as broken:
        return Failure(seed, broken.rule, str(broken), settings)
    except Exception as error:  # noqa: BLE001 - whatever the machine raises breaks the history
        return Failure(seed, "error", f"{type(error).__name__}: {error}", settings)
    return None


def told(seed: int, fault: Fault = SOUND, settings: Settings | None = None) -> list[str]:
    """A history in words."""
    words: list[str] = []
    failure = run(seed, fault, settings, words.append)
    return [*words, "no rule is broken" if failure is None else str(failure)]


def shrunk(failure: Failure, fault: Fault = SOUND) -> Failure:
    """The same rule broken by a tamer history of the same seed: fewer steps, fewer kinds of trouble."""
    best = failure
    while True:
        for tamer in _tamer(best.settings):
            found = run(best.seed, fault, tamer)
            if found is not None and found.rule == best.rule:
                best = found
                break
        else:
            return best


def _tamer(settings: Settings) -> list[Settings]:
    """The settings with one thing less, the greatest first."""
    writes = settings.writes
    found = [replace(settings, steps=steps) for steps in (settings.steps // 2, settings.steps * 3 // 4)]
    found += [replace(settings, steps=settings.steps - less) for less in (8, 3, 1)]
    found += [
        replace(settings, crashes=0.0),
        replace(settings, fails=0.0),
        replace(settings, losses=0.0),
        replace(settings, bag=False),
        replace(settings, orders=0.0),
        replace(settings, cuts=0.0),
        replace(settings, parts=0.0),
        replace(settings, tables=max(1, settings.tables - 1)),
        replace(settings, readers=1),
        replace(settings, writes=replace(writes, partial=0.0)),
        replace(settings, writes=replace(writes, key_change=0.0)),
        replace(settings, writes=replace(writes, delete=0.0)),
        replace(settings, writes=replace(writes, hidden=0.0)),
        replace(settings, writes=replace(writes, truncate=0.0)),
        replace(settings, writes=replace(writes, alter=0.0)),
        replace(settings, writes=replace(writes, roll_back=0.0)),
        replace(settings, writes=replace(writes, idle=0.0)),
    ]
    return [tamer for tamer in found if tamer.steps > 0 and tamer != settings]


class _History:
    def __init__(
        self, seed: int, fault: Fault, settings: Settings, note: Callable[[str], None] | None
    ) -> None:
        self.chance, self.settings, self.note = Chance(seed), settings, note
        tables = settings.tables + (settings.bag and settings.tables == BAG)
        self.database = Database(self.chance, settings.writes, tables, note)
        self.task = fault.task(self.chance, settings, self.database, note)

    def run(self) -> None:
        first = self.chance.below(self.settings.steps // 2)
        deck = self._deck()
        for step in range(self.settings.steps):
            if step == first:
                self.task.orders.first(self.task.request, self.task.made)
            self.chance.pick(deck)()
        self._quiet()
        self._judge()

    def _deck(self) -> list[Callable[[], None]]:
        """All that may happen, each as often as it shall."""
        settings = self.settings
        return [
            *[self._crash] * round(200 * settings.crashes),
            *[self._lose] * round(200 * settings.losses),
            *[self._ask] * round(200 * settings.orders),
            *[self.database.act] * 75,
            *[self._log] * 40,
            *[self._reader] * 50,
            *[self._work] * 12,
            *[self._release] * 8,
            *[self._publish] * 12,
        ]

    def _crash(self) -> None:
        if self.note:
            self.note("crash")
        self.task.boot()

    def _lose(self) -> None:
        if self.note:
            self.note("the log is lost, the next one begins now")
        self.task.lose()

    def _ask(self) -> None:
        asked = self.task.orders.another(self.task.request, self.task.made)
        if self.note:
            self.note(f"asked: {asked}")

    def _log(self) -> None:
        self.task.deliver()
        if self.chance.happens(0.7):
            self.task.release()

    def _reader(self) -> None:
        if self.task.readers.jobs:
            self.task.advance(fails=self.settings.fails)
        else:
            self.task.begin_work()

    def _work(self) -> None:
        self.task.begin_work()

    def _release(self) -> None:
        self.task.release()

    def _publish(self) -> None:
        self.task.publish(self.chance.number())
        self.task.now += self.chance.number() * 20

    def _quiet(self) -> None:
        """Nothing more goes wrong, and all must come to rest."""
        task = self.task
        if self.note:
            self.note("quiet")
        self.database.settle()
        for _ in range(MOST_QUIET):
            if task.orders.resume_at_last(task.request):
                continue
            self._round()
            if self._rests() and not task.orders.fix(task.request, task.made, task.stream.aside):
                return
        statuses = [task.machine.status(table.shape.schema.id) for table in self.database.tables]
        raise Broken("stuck", f"{statuses} {self.task.durable.receipts} {len(task.readers.jobs)} jobs")

    def _round(self) -> None:
        task = self.task
        task.deliver(30)
        task.release()
        task.begin_work()
        for _ in range(5 * len(task.readers.jobs)):
            if task.readers.jobs:
                task.advance(fails=0.0)
        if not task.stream.behind and self.chance.happens(0.2):
            self.database.append()  # another session's transaction: the log's place moves
        task.publish(1.0)
        task.now += 30

    def _rests(self) -> bool:
        task = self.task
        return (
            not task.stream.behind
            and not task.readers.jobs
            and task.publisher.idle
            and task.orders.ended
            and all(task.machine.status(table.shape.schema.id) in _CALM for table in self.database.tables)
        )

    def _judge(self) -> None:
        task, durable = self.task, self.task.durable
        entries = [entry for logged in self.database.log for entry in logged.entries]
        spoiled = {entry.shape.schema.id for entry in entries if isinstance(entry, Spoiled)}
        covered = task.orders.judge(spoiled, refused=task.refused)
        reader = Reader(self.settings.skipped)
        reader.read(durable.records)
        logged: Counter[int] = Counter()
        for entry in entries:
            if isinstance(entry, Wrote):
                told = sum(part[0] not in self.settings.skipped for part in entry.parts)
                logged[entry.shape.table] += told
            elif isinstance(entry, Emptied):
                logged[entry.shape.table] += 1
        for at, table in enumerate(self.database.tables):
            of, was = logged[at], reader.log_events[at]
            if was != of and table.shape.schema.id not in spoiled and not task.losses:
                raise Broken("lost", f"{was} of {of} events of table {at} were published")
        failed = {
            table.shape.schema.id
            for table in self.database.tables
            if task.machine.status(table.shape.schema.id) is TableStatus.FAILED
        }
        reader.compare(self.database, covered - failed)
