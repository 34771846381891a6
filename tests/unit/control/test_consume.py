"""What `wrackline consume` says and ends with, where no server is needed."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.fakes.duck_world import DuckWorld
from tests.fakes.target_world import FakeTargetWorld
from tests.unit.settings.shop import GOOD, checked
from wrackline.consumers.batch.replay import ReplayResult
from wrackline.consumers.batch.report import BatchReport
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.contract.target import SparkTarget, UpkeepResult
from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.control.cli import command_line
from wrackline.control.cli.commands import letters_commands
from wrackline.control.runtime.ground.exits import Exit, exit_of_all
from wrackline.control.runtime.logs.lines import log_to
from wrackline.control.runtime.running.consume import consume
from wrackline.control.runtime.running.consumer_log import ConsumerLog
from wrackline.control.runtime.running.consumer_loop import pace, table_upkeep, upkeep_interval
from wrackline.control.runtime.running.transaction_boundaries import check_boundaries
from wrackline.control.runtime.spark.target_access import NO_TARGET
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.target_suite import TABLE

BUSY = Transient("test.busy", "busy", "wait")
READ = BatchRange("s.d.p.t", {0: 3}, {0: 7})


def values(**given: str) -> Values:
    found = checked({**GOOD, **given}).values
    assert found is not None
    return found


def test_a_pipeline_that_ends_in_kafka_is_not_consumed() -> None:
    with pytest.raises(OperatorNeeded) as caught:
        consume(checked(GOOD), log_to(sys.stdout, for_programs=True), once=True, spark_log=None)
    assert caught.value.code == NO_TARGET.code


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ((), Exit.OK),
        ((Transient,), Exit.TRANSIENT),
        ((Definite, Transient), Exit.DEFINITE),
        ((Transient, OperatorNeeded), Exit.OPERATOR),
    ],
)
def test_one_round_ends_with_what_is_hardest_to_repair(
    kinds: tuple[type[WracklineError], ...], code: Exit
) -> None:
    assert exit_of_all([kind("test.code", "", "") for kind in kinds]) == code


def test_no_delete_is_forgotten_while_a_letter_may_be_older(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FakeTargetWorld()
    asked: list[int] = []
    kept = DeadLetter(RecordPosition("s.db.public.orders", 0, 1), "some.code", "why", None, None, 1)
    tend = table_upkeep(world.target, values())

    def noted(table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        assert table.schema == "public"
        asked.append(forget_before_ms)
        return UpkeepResult()

    monkeypatch.setattr(world.target, "upkeep", noted)
    tend("s.db.public.orders")
    world.target.letters.keep(TABLE.id, [kept])
    tend("s.db.public.orders")
    tend("s.db.public.others")
    assert asked[0] > 0
    assert asked[1] == 0
    assert asked[2] >= asked[0]
    table_upkeep(world.target, values(**{"consume.delete.retention.ms": str(2**63 - 1)}))(
        "s.db.public.others"
    )
    assert asked[3] == 0, "no target has a moment so long ago"


def test_a_target_whose_upkeep_is_dear_is_tended_each_day(tmp_path: Path) -> None:
    """The upkeep of a warehouse reads whole tables; what is set is done all the same."""
    lake, warehouse = FakeTargetWorld().target, DuckWorld(tmp_path).target

    def hours(**given: str) -> list[float]:
        found = values(**given)
        return [upkeep_interval(cast("SparkTarget", one), found) / 3600 for one in (lake, warehouse)]

    assert hours() == [1, 24]
    assert hours(**{"consume.upkeep.interval.ms": "7200000"}) == [2, 2]
    assert hours(**{"consume.upkeep.interval.ms": "0"}) == [0, 0], "never"


def test_patience_is_the_settings() -> None:
    made = pace(values())
    assert (made.interval, made.at_once, made.patience.most_wait, made.patience.in_all) == (
        1.0,
        2,
        60.0,
        None,
    )
    given = {
        "errors.retry.timeout": "5000",
        "errors.retry.delay.max.ms": "700",
        "consume.parallel.tables": "9",
    }
    made = pace(values(**given))
    assert (made.at_once, made.patience.most_wait, made.patience.in_all) == (9, 0.7, 5.0)


def test_boundaries_need_a_source_that_publishes_them() -> None:
    with pytest.raises(OperatorNeeded, match=r"consume\.no_transaction_metadata"):
        check_boundaries(values(**{"consume.transaction.boundaries": "true"}))
    both = {"consume.transaction.boundaries": "true", "provide.transaction.metadata": "true"}
    check_boundaries(values(**both))
    check_boundaries(values())


def test_what_makes_values_right_is_not_set_from_outside() -> None:
    """T-K11."""
    (problem,) = checked({**GOOD, "spark.sql.session.timeZone": "Asia/Tokyo"}).problems
    assert problem.error.code == "settings.invalid"
    assert dict(values(**{"spark.executor.cores": "2"}).below("spark."))["executor.cores"] == "2"


def test_lines_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([0.0, 0.0, 1.0, 10.0])
    log = log_to(sys.stdout, for_programs=True).bind(pipeline="shop")
    teller = ConsumerLog(log, ConsumerFigures("s"), clock=lambda: next(now, 10.0))
    teller.merged("s.d.p.t", READ, 1.5)
    teller.merged("s.d.p.t", READ, 1.5)  # too soon for a line
    teller.failed("s.d.p.t", TableRetryState(BUSY, stopped=True))
    teller.outage(None)
    teller.ends(whole=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["merged", "stopped", "continues", "stopped"]
    assert (lines[0]["batches"], lines[0]["offsets"], lines[0]["pipeline"]) == (1, 4, "shop")
    assert (lines[3]["batches"], lines[3]["offsets"], lines[3]["whole"]) == (2, 8, True)
    assert lines[1]["error"] == {"code": "test.busy", "kind": "Transient", "sentence": "busy", "hint": "wait"}


def test_the_last_batches_are_reported_by_a_look_that_finds_no_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [0.0]
    teller = ConsumerLog(log_to(sys.stdout, for_programs=True), ConsumerFigures("s"), clock=lambda: now[0])
    for at in (0.0, 1.0, 2.0):
        now[0] = at
        teller.merged("s.d.p.t", READ, 1.5)
        teller.round_done()  # a trickle does not bring a line a look
    for at in (9.9, 10.0, 30.0):
        now[0] = at
        teller.round_done()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["event"], line["batches"], line["offsets"]) for line in lines] == [
        ("merged", 1, 4),
        ("merged", 3, 12),
    ]
    assert [line["line"].partition(" offsets")[0] for line in lines] == [
        "merged 1 batch, 4",
        "merged 3 batches, 12",
    ]


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (ReplayResult(0, {}), "there are no letters\n"),
        (ReplayResult(2, {}), "d.p.t: merged 2, left 0\n"),
    ],
)
def test_a_replay_without_letters_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, done: ReplayResult, said: str
) -> None:
    table = TableId("d", "p", "t")
    opened = SimpleNamespace(
        desk=SimpleNamespace(tables=lambda: [table]), replay=lambda _: done, failed=[], exit=Exit.OK
    )
    monkeypatch.setattr(letters_commands, "_open_replays", lambda _: nullcontext(opened))
    with pytest.raises(SystemExit) as ended:
        command_line.main(["letters", "replay", "pipeline.toml"])
    assert ended.value.code in {None, Exit.OK}
    assert capsys.readouterr().out == said


def test_new_dead_letters_are_reported_with_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    figures = ConsumerFigures("s")
    teller = ConsumerLog(log_to(sys.stdout, for_programs=True), figures, clock=lambda: 0.0)
    for letters in (2, 0, 1):
        figures.batch(BatchReport(READ, Applied(), letters=letters))
        teller.merged("s.d.p.t", READ, 0.1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = [(one["table"], one["letters"], one["in_all"]) for one in lines if one["event"] == "set aside"]
    assert told == [("d.p.t", 2, 2), ("d.p.t", 1, 3)]


def test_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    teller = ConsumerLog(log_to(sys.stdout, for_programs=False), ConsumerFigures("s"))
    teller.failed("s.d.p.t", TableRetryState(BUSY))
    teller.ends(whole=False)
    said = capsys.readouterr().out
    assert said.startswith("d.p.t waits: [test.busy] busy\n  hint: wait\n")
    assert "given up" in said
