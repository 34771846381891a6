"""What `assess --probe` tries in a database, over the model; the log is one that is handed in."""

from collections.abc import Callable
from typing import cast

import pytest

from tests.unit.producers.oracle.mining_world import PDB, MiningWorld
from wrackline.producers.contract.steps import Batch, Passing, Progress, Signal
from wrackline.producers.kit.polled_stream import PolledStream
from wrackline.producers.sources.oracle import trials
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at
from wrackline.producers.sources.oracle.trials import OracleTrials
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.redaction import Secret
from wrackline.schemas.tables.table import TableId

SIGNALS = TableId(PDB, "SHOP", "SIGNALS")


class FakeLog:
    """A log whose next batch is made when it is asked for."""

    def __init__(self, step: Callable[[], Passing | None]) -> None:
        self._step, self._polls = step, 0
        self.asked, self.closed = 0, False

    def poll(self, deadline: float) -> Batch | None:
        del deadline
        self._polls += 1
        found = self._step() if self._polls > 1 else None
        return None if found is None else Batch((found,), 0)

    def ask(self) -> None:
        self.asked += 1

    def close(self) -> None:
        self.closed = True


class TrialWorld:
    """A database, and what is tried in it."""

    def __init__(self, *, signals: bool = False, **more: str) -> None:
        self.world = MiningWorld(1, PDB, **more)
        self.model = self.world.model
        self.model.grant("C##READER", "INSERT ANY TABLE", "DELETE ANY TABLE")
        self.model.create_table(
            "SHOP.SIGNALS",
            {"ID": "VARCHAR2(80)", "TYPE": "VARCHAR2(32)", "DATA": "VARCHAR2(2048)"},
            key=("ID",),
        )
        self.beats = 0
        self.log = FakeLog(self.reached)
        table = SIGNALS if signals else None
        opened = cast("PolledStream[None]", self.log)
        self.tried = OracleTrials(self.world.connector, self.world.settings, table, lambda: opened, self.beat)

    def beat(self) -> None:
        self.beats += 1

    def reached(self) -> Passing:
        return Progress(self.position(self.model.scn))

    def position(self, scn: int) -> OraclePosition:
        return OraclePosition(1, last_at(scn), incarnation=self.world.incarnation, done=last_at(scn))

    def run(self, trial: str) -> object:
        return next(one for one in self.tried.trials() if one.id == trial).run()


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "PATIENCE_S", 0.3)


def test_the_root_and_the_database_are_logged_in_to() -> None:
    tried = TrialWorld()
    assert tried.run("login") == {"tls": "no"}
    assert f'ALTER SESSION SET CONTAINER = "{PDB}"' in tried.model.statements
    assert tried.model.driver.connections == 0
    tried.model.revoke("C##READER", "SET CONTAINER")
    with pytest.raises(WracklineError):
        tried.run("login")


def test_the_log_is_mined_up_to_an_scn_of_now() -> None:
    tried = TrialWorld()
    found = tried.run("log")
    assert isinstance(found, dict)
    assert (found["written"], tried.beats, tried.log.closed) == ("no", 1, True)
    assert tried.model.driver.connections == 0


def test_a_log_that_does_not_come_so_far_is_an_error() -> None:
    tried = TrialWorld()
    tried.log = FakeLog(lambda: Progress(tried.position(5)))
    tried.tried = OracleTrials(
        tried.world.connector,
        tried.world.settings,
        None,
        lambda: cast("PolledStream[None]", tried.log),
        tried.beat,
    )
    with pytest.raises(OperatorNeeded, match=r"oracle.log_unseen"):
        tried.run("log")
    assert tried.log.asked
    assert tried.log.closed


def test_a_row_of_the_signal_table_comes_back_and_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "trial_stamp", lambda *_: "stamp")
    tried = TrialWorld(signals=True)

    def signal_of(name: str) -> Callable[[], Passing]:
        return lambda: Signal(
            f"wrackline-trial-{name}-close", "snapshot-window-close", "{}", tried.position(1)
        )

    tried.log._step = signal_of("another")
    with pytest.raises(OperatorNeeded, match=r"oracle.log_unseen"):
        tried.run("log")
    tried.log._step = signal_of("stamp")
    found = tried.run("log")
    assert isinstance(found, dict)
    assert (found["written"], tried.beats) == (f"{PDB}.SHOP.SIGNALS", 0)
    assert [sql for sql in tried.model.statements if sql.startswith(("INSERT", "DELETE"))][:2] == [
        'INSERT INTO "SHOP"."SIGNALS" VALUES (:row_id, :row_type, :row_data)',
        'DELETE FROM "SHOP"."SIGNALS" WHERE "ID" = :row_id',
    ]
    assert tried.model.rows("SELECT * FROM SIGNALS") == []


def test_archived_logs_alone_are_opened_and_nothing_is_written() -> None:
    tried = TrialWorld(signals=True, log__mining__archive__log__only__mode="true")
    tried.log._step = lambda: Progress(tried.position(5))
    found = tried.run("log")
    assert isinstance(found, dict)
    assert (found["written"], tried.beats) == ("no", 0)
    assert not any(sql.startswith("INSERT") for sql in tried.model.statements)


def test_the_clock_is_the_servers_in_utc() -> None:
    tried = TrialWorld()
    tried.model.database.server_zone = 330
    assert tried.tried.clock_ms() == tried.model.database.now * 1_000


def test_the_pace_is_what_was_archived_within_a_day() -> None:
    tried = TrialWorld()
    assert tried.tried.log_pace().bytes_per_s is None
    tried.model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    tried.model.switch_log()
    pace = tried.tried.log_pace()
    assert pace.bytes_per_s is not None
    assert pace.bytes_per_s > 0
    assert pace.most_bytes == 10_737_418_240
    tried.model.fail("V$RECOVERY_FILE_DEST", 942)
    assert tried.tried.log_pace().most_bytes is None


def test_a_fix_is_run_as_the_administrator_in_each_container() -> None:
    tried = TrialWorld()
    tried.model.create_table("SHOP.LINES", {"ID": "NUMBER(10)"}, log_all=False)
    tried.model.create_user(
        "C##ADMIN", "m@nager", "DBA", "CREATE SESSION", "SET CONTAINER", "ALTER ANY TABLE"
    )
    fix = (
        f'ALTER SESSION SET CONTAINER = "{PDB}"; ALTER TABLE "SHOP"."LINES" ADD SUPPLEMENTAL LOG DATA (ALL)'
        " COLUMNS;"
    )
    tried.tried.mend(Secret("oracle://c%23%23admin:m%40nager@node1:1521"), fix)
    assert tried.model.table("SHOP.LINES").log_groups == ["ALL COLUMN LOGGING"]
    assert tried.model.driver.connections == 0


@pytest.mark.parametrize(
    "url", ["oracle://system:wrong-geheim@node1:1521", "oracle://a:geheim@host:port", "geheim"]
)
def test_a_fix_that_cannot_be_run_shows_no_password(url: str) -> None:
    tried = TrialWorld()
    with pytest.raises(OperatorNeeded, match=r"oracle.admin_refused") as caught:
        tried.tried.mend(Secret(url), "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;")
    assert "geheim" not in str(caught.value)
