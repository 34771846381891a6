"""The source's assumptions hold on the stand-in, and each is found to fail on one that is broken on purpose.

The stand-in is not a SQL Server: this shows that a probe works, not that an assumption holds anywhere.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.fixtures.sqlserver_world import USER, SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.capture import CaptureJob
from wrackline.control.local.sqlserver_standin.model.database import Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.model.log_numbers import ZERO
from wrackline.control.local.sqlserver_standin.model.tables import Cells, ModelTable
from wrackline.control.local.sqlserver_standin.model.transactions import ChangeKind, ModelTransaction
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.assumptions import AssumptionVerdict, JudgedAssumption
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.contract.trials import LEFT_S, trial_stamp
from wrackline.producers.sources.sqlserver.assume import assumption_sql
from wrackline.producers.sources.sqlserver.source import SqlServerSource
from wrackline.schemas.tables.table import SourcePartition

HOLDS, FAILS, UNTRIED = AssumptionVerdict.HOLDS, AssumptionVerdict.FAILS, AssumptionVerdict.UNTRIED
ALL = ("A1", "A2", "A3", "A4", "A5", "A6", "A7")
TWO_TABLES = (
    "BEGIN TRANSACTION; INSERT INTO [public].orders (shop, number) VALUES (N'a', 1);"
    " INSERT INTO [public].orders (shop, number) VALUES (N'a', 2);"
    " INSERT INTO [public].elsewhere (note) VALUES (1); COMMIT TRANSACTION;"
)
SIGNALS = ("SELECT", "INSERT", "DELETE")
READ = (("SELECT", one) for one in ("cdc", "public.orders", "public.elsewhere"))
RIGHTS = frozenset({*READ, *((right, "public.signals") for right in SIGNALS)})


class Probed:
    """A world with a transaction over two tables, and what a probe says of it."""

    def __init__(self, **more: str) -> None:
        self.world = SqlServerWorld(1, MarkKind.SIGNAL, **more)
        self.database = self.world.database(self.partition)
        self.database.enable_table("public.elsewhere")
        self.database.scan()
        self.world.run(self.partition, TWO_TABLES)
        self.database.scan()

    @property
    def partition(self) -> SourcePartition:
        return self.world.source.partitions()[0]

    @property
    def job(self) -> CaptureJob:
        return self.database.job()

    def allow(self, *more: tuple[str, str], views_state: bool = True) -> None:
        """Take all rights but a pipeline's own, and these."""
        self.world.model.administrators.clear()
        self.world.model.viewers = {USER} if views_state else set()
        rights = RIGHTS | frozenset(more)
        grant = Grant(schemas=frozenset(), views_state=False, single=rights)
        self.world.model.grant(USER, self.database.name, grant)

    def look(self, rest: Callable[[], object] | None = None) -> dict[str, JudgedAssumption]:
        """Probe; `rest` is what the server does while the probe waits."""
        source, scan = self.world.source, rest or self.database.scan
        assert isinstance(source, SqlServerSource)

        def wait(_: float) -> None:
            scan()

        report = source.assumptions(self.partition, wait)
        assert "stand-in" in report.server or not report.server
        assert [one.id for one in report.assumptions] == list(ALL)
        return {one.id: one for one in report.assumptions}

    def verdicts(self, rest: Callable[[], object] | None = None) -> dict[str, AssumptionVerdict]:
        return {name: one.verdict for name, one in self.look(rest).items()}

    def left(self) -> list[object]:
        """Return what a probe has left: rows, and transactions."""
        return [*self.database.table("public.signals").keys_between((), ()), *self.database.running]


Make = Callable[..., Probed]


@pytest.fixture
def make() -> Iterator[Make]:
    probed: list[Probed] = []

    def made(**more: str) -> Probed:
        probed.append(Probed(**more))
        return probed[-1]

    yield made
    for one in probed:
        one.world.close()


def test_all_hold_on_the_stand_in_and_nothing_is_left(make: Make) -> None:
    probed = make()
    assert probed.verdicts() == dict.fromkeys(ALL, HOLDS)
    assert probed.left() == []


def late_rows(probed: Probed, _: pytest.MonkeyPatch) -> Callable[[], object]:
    """A commit is listed before its rows are there."""
    return lambda: probed.database.scan(late={"public_signals"})


def rows_seconds_late(probed: Probed, _: pytest.MonkeyPatch) -> Callable[[], object]:
    """A row comes after all that is written has come, and is removed."""
    signals, orders = (probed.job.instances[f"public_{name}"] for name in ("signals", "orders"))

    def rest() -> None:
        probed.database.scan()
        if signals.rows and not probed.left() and len(orders.rows) == 2:
            orders.rows.append(orders.rows[0]._replace(start_lsn=signals.rows[0].start_lsn))

    return rest


def late_listing(probed: Probed, _: pytest.MonkeyPatch) -> Callable[[], object]:
    """A commit is listed below one that was listed before."""
    first = len(probed.job.mapping)

    def rest() -> None:
        if len(probed.job.mapping) == first + 1:
            last = probed.job.mapping[-1]
            below = (int.from_bytes(last.start_lsn, "big") - 1).to_bytes(10, "big")
            probed.job.mapping.insert(first, last._replace(start_lsn=below))
        probed.database.scan(1)

    return rest


def late_versions(probed: Probed, patch: pytest.MonkeyPatch) -> Callable[[], object]:
    """A read of versions does not see what the change tables have."""

    def view(one: SqlSession, _: ModelDatabase, __: frozenset[str]) -> tuple[None, int | None, bool]:
        return None, 0 if one.settings.isolation == "SNAPSHOT" else None, False

    patch.setattr(SqlSession, "view", view)
    return probed.database.scan


def low_savepoint(probed: Probed, patch: pytest.MonkeyPatch) -> Callable[[], object]:
    """A savepoint has a place below what is committed."""
    save, low = ModelTransaction.save, probed.job.mapping[0].start_lsn

    def broken(one: ModelTransaction, name: str) -> bytes:
        save(one, name)
        one.savepoints[-1] = one.savepoints[-1]._replace(number=low)
        return low

    patch.setattr(ModelTransaction, "save", broken)
    return probed.database.scan


def stale_savepoint(probed: Probed, patch: pytest.MonkeyPatch) -> Callable[[], object]:
    """A savepoint has the place of an earlier one."""
    save, places = ModelTransaction.save, list[bytes]()

    def broken(one: ModelTransaction, name: str) -> bytes:
        places.append(save(one, name))
        one.savepoints[-1] = one.savepoints[-1]._replace(number=places[0])
        return places[0]

    patch.setattr(ModelTransaction, "save", broken)
    return probed.database.scan


def commands_of_each_table(probed: Probed, _: pytest.MonkeyPatch) -> Callable[[], object]:
    """Each table of a transaction has commands of its own."""
    for instance in probed.job.instances.values():
        instance.rows = [
            row._replace(command=sum(one.start_lsn == row.start_lsn for one in instance.rows[: at + 1]))
            for at, row in enumerate(instance.rows)
        ]
    return probed.database.scan


def silent_scans(probed: Probed, _: pytest.MonkeyPatch) -> Callable[[], object]:
    """An empty scan does not say how far it has read."""

    def rest() -> None:
        probed.database.scan()
        probed.job.scanned = ZERO

    return rest


def moves_row_by_row(probed: Probed, patch: pytest.MonkeyPatch) -> Callable[[], object]:
    """An UPDATE of keys is a delete and an insert, row by row."""

    def broken(one: ModelTransaction, table: ModelTable, befores: list[Cells], afters: list[Cells]) -> None:
        for before, after in zip(befores, afters, strict=True):
            one._log(table, ChangeKind.DELETE, before, None, one._next_command())
            one._log(table, ChangeKind.INSERT, None, after, one._next_command())

    patch.setattr(ModelTransaction, "_log_update", broken)
    return probed.database.scan


def moves_as_updates(probed: Probed, patch: pytest.MonkeyPatch) -> Callable[[], object]:
    """An UPDATE of keys is an update, row by row."""

    def broken(one: ModelTransaction, table: ModelTable, befores: list[Cells], afters: list[Cells]) -> None:
        command = one._next_command()
        for before, after in zip(befores, afters, strict=True):
            one._log(table, ChangeKind.UPDATE, before, after, command)

    patch.setattr(ModelTransaction, "_log_update", broken)
    return probed.database.scan


@pytest.mark.parametrize(
    ("id_", "broken"),
    [
        ("A1", late_rows),
        ("A1", rows_seconds_late),
        ("A2", late_listing),
        ("A3", late_versions),
        ("A4", low_savepoint),
        ("A4", stale_savepoint),
        ("A5", commands_of_each_table),
        ("A6", silent_scans),
        ("A7", moves_row_by_row),
        ("A7", moves_as_updates),
    ],
)
def test_a_broken_stand_in_is_found(
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    id_: str,
    broken: Callable[[Probed, pytest.MonkeyPatch], Callable[[], object]],
) -> None:
    probed = make()
    found = probed.look(broken(probed, monkeypatch))
    assert {name for name, one in found.items() if one.verdict is FAILS} == {id_}, found
    assert found[id_].advice
    assert probed.left() == []


def test_an_idle_database_without_a_signal_table_shows_little(make: Make) -> None:
    probed = make(
        **{
            "incremental.snapshot.watermarking.strategy": "fence",
            "signal.data.collection": "other.public.signals",
        }
    )
    found = probed.look()
    assert [name for name, one in found.items() if one.verdict is HOLDS] == ["A5", "A6"]
    assert "signal.data.collection" in found["A3"].seen


def test_what_others_write_is_enough_for_the_first_two(make: Make) -> None:
    probed = make(**{"read.only": "true", "incremental.snapshot.watermarking.strategy": "fence"})
    numbers = iter(range(3, 1000))

    def rest() -> None:
        insert = f"INSERT INTO [public].orders (shop, number) VALUES (N'a', {next(numbers)});"
        probed.world.run(probed.partition, insert)
        probed.database.scan()

    found = probed.look(rest)
    assert [name for name, one in found.items() if one.verdict is HOLDS] == ["A1", "A2", "A5"]
    assert "read.only" in found["A7"].seen
    assert "idle" in found["A6"].seen
    assert not any("signals" in str(one.table.name) for item in probed.job.log for one in item.records)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lacks", "untried", "statement"),
    [
        ("UPDATE", {"A7"}, "GRANT UPDATE ON OBJECT::[public].[signals] TO [reader];"),
        ("VIEW SERVER STATE", {"A4", "A6"}, "USE master; GRANT VIEW SERVER STATE TO [reader];"),
        ("DELETE", {"A1", "A2", "A3", "A4", "A7"}, "GRANT DELETE ON OBJECT::[public].[signals] TO [reader];"),
        ("versions", {"A3"}, "ALLOW_SNAPSHOT_ISOLATION is OFF"),
        ("capture job", {"A1", "A2", "A3", "A4", "A6", "A7"}, "see the capture job"),
        ("database", set(ALL), "can't be read now"),
    ],
)
def test_what_can_t_be_tried_says_why(make: Make, lacks: str, untried: set[str], statement: str) -> None:
    probed = make()
    if lacks in {"UPDATE", "VIEW SERVER STATE", "DELETE"}:
        probed.allow(*[("UPDATE", "public.signals")] * (lacks != "UPDATE"), views_state="VIEW" not in lacks)
    if lacks == "DELETE":
        grant = probed.database.grants[USER]
        fewer = Grant(schemas=frozenset(), single=grant.single - {("DELETE", "public.signals")})
        probed.world.model.grant(USER, probed.database.name, fewer)
    probed.database.allows_snapshots = lacks != "versions"
    probed.job.runs = lacks != "capture job"
    probed.database.state = "RESTORING" if lacks == "database" else "ONLINE"
    found = probed.look()
    assert {name for name, one in found.items() if one.verdict is UNTRIED} == untried, found
    assert not [one for one in found.values() if one.verdict is FAILS]
    assert statement in " ".join(found[name].seen for name in untried)
    assert all(found[name].seen for name in untried)
    assert probed.left() == []


@pytest.mark.parametrize("numbered", [None, False])
def test_a_signal_table_whose_rows_can_t_come_back_is_not_written_to(
    make: Make, *, numbered: bool | None
) -> None:
    probed = make()
    probed.database.disable_table("public_signals")
    if numbered is not None:
        probed.database.enable_table("public.signals", has_command=numbered)
        probed.database.scan()
    found = probed.look()
    assert "the signal table shop0.public.signals has no capture instance" in found["A3"].seen
    assert (found["A1"].verdict, found["A5"].verdict) == (UNTRIED, HOLDS)


def test_a_commit_that_comes_while_the_newest_rows_are_read_is_no_fault(make: Make) -> None:
    probed = make()

    def commit() -> None:
        probed.world.run(probed.partition, "INSERT INTO [public].orders (shop, number) VALUES (N'a', 3);")
        probed.database.scan()

    probed.world.model.plan("TOP (500)", act=commit)
    assert probed.verdicts()["A1"] is HOLDS


def test_a_commit_that_a_page_may_have_cut_is_not_judged(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of two rows has the whole commit of one table; whether it has, a page does not show."""
    probed = make()
    monkeypatch.setattr(assumption_sql, "MOST_ROWS", 2)
    assert probed.verdicts()["A5"] is UNTRIED


@pytest.mark.parametrize("text", ["SAVE TRANSACTION", "CASE WHEN", "COMMIT TRANSACTION"])
def test_an_error_leaves_no_row_and_no_transaction(make: Make, text: str) -> None:
    probed = make()
    probed.world.model.plan(text, ServerError(1205, "Transaction was deadlocked."))
    assert set(probed.verdicts().values()) == {UNTRIED}
    assert probed.left() == []


def test_rows_of_a_probe_that_was_killed_are_removed_by_a_later_one(make: Make) -> None:
    probed = make()
    now = probed.world.around.now_ms() / 1000
    ids = [f"wrackline-probe-{trial_stamp(now - age, 7)}" for age in (LEFT_S + 60, LEFT_S - 60)]
    with probed.database.transaction() as one:
        one.insert("public.signals", *({"id": name, "type": "x"} for name in [*ids, "wrackline-probe-mine"]))
    probed.look()
    left = [
        cells[0] for _, cells in probed.database.begin().own_rows(probed.database.table("public.signals"))
    ]
    assert left == sorted([ids[1], "wrackline-probe-mine"])
