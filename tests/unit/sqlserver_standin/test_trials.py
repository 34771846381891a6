"""What `assess --probe` tries in a database, on the stand-in; and that nothing is left of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.fixtures.sqlserver_world import PASSWORD, USER, SqlServerWorld, given_of
from tests.unit.sqlserver_standin.test_agent import until
from wrackline.control.local.sqlserver_standin.agent import Agent
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.optional_parts import Sizing, TableSize
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.contract.steps import Batch, Progress
from wrackline.producers.contract.trials import Measures, SourceTrials, Trying
from wrackline.producers.sources.sqlserver import trials
from wrackline.producers.sources.sqlserver.connect.server_errors import RIGHT_MISSING
from wrackline.producers.sources.sqlserver.database import SqlServerDatabase
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.trials import ADMIN_REFUSED, LOG_UNSEEN
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import Secret
from wrackline.schemas.tables.table import TableId

KILLED = """
import json, sys, time
from pathlib import Path
from tests.fixtures.sqlserver_world import SqlServerRegistry, read_settings
from wrackline.producers import failpoints
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.sqlserver import PLUGIN
failpoints.arm("probe_signal=kill")
around = Surroundings(time.monotonic, lambda: 0, SqlServerRegistry().register, 6000)
source = PLUGIN.open(read_settings(json.loads(sys.argv[1])), around)
source.trying(source.partitions()[0]).trials()[1].run()
"""


class Tried:
    """A world whose capture job runs, and what is tried in it."""

    def __init__(self, kind: MarkKind = MarkKind.SIGNAL, *, captures: bool = True, **more: str) -> None:
        self.world = SqlServerWorld(1, kind, **more)
        self.database = self.world.database(self.world.source.partitions()[0])
        self._agent = Agent(self.world.model, 0.02 if captures else None)
        self._ends = ExitStack()
        self._ends.callback(self.world.close)
        self._ends.enter_context(self._agent)

    @property
    def server(self) -> SourceTrials:
        source = self.world.source
        assert isinstance(source, Trying)
        return source.trying(source.partitions()[0])

    def run(self, id_: str) -> Measures:
        """Run a trial."""
        [one] = (one for one in self.server.trials() if one.id == id_)
        return one.run()

    def left(self) -> list[object]:
        """Return what is left: rows, and transactions."""
        return [*self.database.table("public.signals").keys_between((), ()), *self.database.running]

    def written(self) -> int:
        """Count the rows that the signal table's change table has got."""
        self.database.scan()
        return len(self.database.job().instances["public_signals"].rows)

    def close(self) -> None:
        self._ends.close()


Make = Callable[..., Tried]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Tried] = []

    def make_one(kind: MarkKind = MarkKind.SIGNAL, *, captures: bool = True, **more: str) -> Tried:
        made.append(Tried(kind, captures=captures, **more))
        return made[-1]

    yield make_one
    for one in made:
        one.close()


def test_a_row_is_found_again_in_the_change_tables_and_nothing_is_left(make: Make) -> None:
    tried = make()
    assert [one.id for one in tried.server.trials()] == ["login", "log"]
    assert tried.run("login") == {"tls": "no"}
    assert tried.run("log")["written"] == "shop0.public.signals"
    assert (tried.written(), tried.left()) == (2, [])


@pytest.mark.parametrize("more", [{}, {"read.only": "true"}], ids=["may write", "read.only"])
def test_where_marks_are_places_the_log_is_only_read(make: Make, more: dict[str, str]) -> None:
    query = "UPDATE [public].elsewhere SET note = 7;"
    tried = make(MarkKind.FENCE, **{"heartbeat.action.query": query, "heartbeat.interval.ms": "1", **more})
    tried.world.run(tried.world.source.partitions()[0], "INSERT INTO [public].elsewhere (note) VALUES (1);")
    assert tried.run("log")["written"] == "no"
    assert tried.written() == 0
    [row] = (cells for _, cells in tried.database.begin().own_rows(tried.database.table("public.elsewhere")))
    assert row[1] == (1 if more else 7), "the heartbeat's query is tried too, unless nothing may be written"


def test_a_row_that_does_not_come_is_an_error_also_where_others_come(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "PATIENCE_S", 0.5)
    tried = make(captures=False, **{"capture.instance.rotate": "true"})
    partition = tried.world.source.partitions()[0]
    tried.database.add_column("public.orders", "more", "int null")
    tried.database.scan()

    def others() -> None:
        tried.world.run(partition, "INSERT INTO [public].orders (shop, number) VALUES (N'a', 1);")
        tried.database.scan()

    tried.world.model.plan("COMMIT TRANSACTION", act=others)
    with pytest.raises(WracklineError) as raised:
        tried.run("log")
    assert raised.value.code == LOG_UNSEEN.code
    assert "USE [shop0]" in raised.value.hint
    assert tried.left() == []
    assert set(tried.database.job().instances) == {"public_orders", "public_signals"}, "nothing is rotated"


class LogThatBreaks:
    """Says where it begins, as a stream does before it has read anything, and can't be read."""

    def __init__(self) -> None:
        self._first = [Batch((Progress(SqlServerPosition(1, bytes(10))),), 0)]

    def poll(self, _deadline: float) -> Batch:
        if not self._first:
            raise RIGHT_MISSING(doing="read the change tables", reason="no")
        return self._first.pop()

    def ask(self) -> None:
        """Do nothing."""

    close = ask


def test_a_log_that_only_says_where_it_begins_is_not_one_that_is_read(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = make(MarkKind.FENCE)
    monkeypatch.setattr(SqlServerDatabase, "stream", lambda *_, **__: LogThatBreaks())
    with pytest.raises(WracklineError) as raised:
        tried.run("log")
    assert raised.value.code == RIGHT_MISSING.code


def test_a_right_or_a_place_that_is_missing_is_the_error_of_a_start(make: Make) -> None:
    for kind, code in ((MarkKind.SIGNAL, RIGHT_MISSING.code), (MarkKind.FENCE, RIGHT_MISSING.code)):
        tried = make(kind)
        tried.world.model.administrators.clear()
        rights = frozenset({("SELECT", "cdc"), ("SELECT", "public.signals"), ("INSERT", "public.signals")})
        grant = Grant(schemas=frozenset(), views_state=False, single=rights)
        tried.world.model.grant(USER, tried.database.name, grant)
        with pytest.raises(WracklineError) as raised:
            tried.run("log")
        assert raised.value.code == code
        assert tried.left() == []


def test_an_error_between_the_two_statements_is_rolled_back(make: Make) -> None:
    tried = make()
    tried.world.model.plan("COMMIT TRANSACTION", ServerError(1205, "Transaction was deadlocked."))
    with pytest.raises(WracklineError):
        tried.run("log")
    assert (tried.written(), tried.left()) == (0, [])


def test_a_trial_that_is_killed_leaves_nothing(make: Make) -> None:
    tried = make()
    given = given_of(tried.world.standin.port, "shop0") | {"signal.data.collection": "public.signals"}
    done = subprocess.run([sys.executable, "-c", KILLED, json.dumps(given)], check=False, env={**os.environ})
    assert done.returncode == -signal.SIGKILL, "or nothing was killed"
    until(lambda: not tried.left())  # the server finds that the session has ended
    assert tried.written() == 0


def test_the_clock_and_the_time_that_rows_are_kept(make: Make) -> None:
    tried = make()
    assert abs(tried.server.clock_ms() - tried.world.around.now_ms()) < 60_000
    pace = tried.server.log_pace()
    assert (pace.bytes_per_s, pace.most_bytes, pace.most_s) == (None, None, 4320 * 60)
    assert pace.raise_limit.format(minutes=9) == (
        "USE [shop0]; EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 9;"
    )
    tried.world.model.administrators.clear()
    tried.world.model.grant(USER, "shop0", Grant(schemas=frozenset({"public", "cdc"}), views_state=False))
    assert tried.server.log_pace().most_s is None, "a pipeline's login may not list the jobs"


def test_how_many_rows_each_table_has(make: Make) -> None:
    tried = make()
    source, partition = tried.world.source, tried.world.source.partitions()[0]
    tried.world.run(partition, "INSERT INTO [public].elsewhere (note) VALUES (1);")
    tried.world.run(partition, "INSERT INTO [public].elsewhere (note) VALUES (2);")
    tried.database.create_table("public.twice", {"id": "int", "code": "int"}, ("id",), ("code",))
    tried.world.run(partition, "INSERT INTO [public].twice (id, code) VALUES (1, 1);")
    assert isinstance(source, Sizing)
    found = source.sizes(partition)
    assert found[TableId("shop0", "public", "elsewhere")] == TableSize(2, None)
    assert found[TableId("shop0", "public", "orders")] == TableSize(0, None)
    assert found[TableId("shop0", "public", "twice")] == TableSize(1, None), "its second index counts nothing"


def test_an_administrator_runs_a_fix_in_the_database(make: Make) -> None:
    tried = make()
    tried.world.model.create_login("boss", "p@ss/word", administrator=True)
    statement = "ALTER DATABASE [shop0] SET ALLOW_SNAPSHOT_ISOLATION OFF"
    tried.server.mend(Secret("mssql://boss:p%40ss%2Fword@127.0.0.1"), statement)
    assert not tried.database.allows_snapshots
    port = tried.world.standin.port
    tried.server.mend(
        Secret(f"mssql://boss:p%40ss%2Fword@localhost:{port}"),
        "EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 9",
    )
    assert tried.server.log_pace().most_s == 540


@pytest.mark.parametrize(
    ("url", "statement", "shown"),
    [
        (f"mssql://{USER}:wrong-secret@127.0.0.1", "SELECT 1", "refuses the login"),
        (f"mssql://{USER}:{PASSWORD}@127.0.0.1", "DROP DATABASE nothing", ""),
        (f"mssql://{USER}:{PASSWORD}@127.0.0.1:port", "SELECT 1", "its port is not a number"),
        (f"mssql://{USER}:{PASSWORD}[@127.0.0.1", "SELECT 1", "it can't be read as a URL"),
        (f"mssql://{USER}:{PASSWORD}\u2100@127.0.0.1", "SELECT 1", "it can't be read as a URL"),
    ],
)
def test_a_fix_that_can_t_be_run_says_why_without_the_secret(
    make: Make, url: str, statement: str, shown: str
) -> None:
    with pytest.raises(WracklineError) as raised:
        make().server.mend(Secret(url), statement)
    assert raised.value.code == ADMIN_REFUSED.code
    assert shown in raised.value.sentence
    assert "secret" not in raised.value.sentence
