"""What `wrackline consume` says and ends with, where no server is needed."""

import json
import sys

import pytest

from tests.contract.target_suite import TABLE
from tests.fakes.target_world import FakeTargetWorld
from tests.unit.settings.shop import GOOD, checked
from wrackline.consumers.account import Account
from wrackline.consumers.figures import Figures
from wrackline.consumers.letters import Letter, Spot
from wrackline.consumers.plan import Applied
from wrackline.consumers.plugin import Upkept
from wrackline.consumers.rounds import Range
from wrackline.consumers.standing import Standing
from wrackline.control.consume import consume
from wrackline.control.consume_boundaries import check_boundaries
from wrackline.control.consume_telling import Teller
from wrackline.control.driving import pace, upkeep
from wrackline.control.exits import Exit, exit_of_all
from wrackline.control.logs.lines import log_to
from wrackline.control.target_alone import NO_TARGET
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

BUSY = Transient("test.busy", "busy", "wait")
READ = Range("s.d.p.t", {0: 3}, {0: 7})


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
def test_one_round_ends_with_what_is_hardest_to_mend(
    kinds: tuple[type[WracklineError], ...], code: Exit
) -> None:
    assert exit_of_all([kind("test.code", "", "") for kind in kinds]) == code


def test_no_delete_is_forgotten_while_a_letter_may_be_older(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FakeTargetWorld()
    asked: list[int] = []
    kept = Letter(Spot("s.db.public.orders", 0, 1), "some.code", "why", None, None, 1)
    tend = upkeep(world.target, values())

    def noted(table: TableId, *, forget_before_ms: int) -> Upkept:
        assert table.schema == "public"
        asked.append(forget_before_ms)
        return Upkept()

    monkeypatch.setattr(world.target, "upkeep", noted)
    tend("s.db.public.orders")
    world.target.letters.keep(TABLE.id, [kept])
    tend("s.db.public.orders")
    tend("s.db.public.others")
    assert asked[0] > 0
    assert asked[1] == 0
    assert asked[2] >= asked[0]


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


def test_boundaries_need_somebody_who_publishes_them() -> None:
    with pytest.raises(OperatorNeeded, match=r"consume\.no_transaction_metadata"):
        check_boundaries(values(**{"consume.transaction.boundaries": "true"}))
    both = {"consume.transaction.boundaries": "true", "provide.transaction.metadata": "true"}
    check_boundaries(values(**both))
    check_boundaries(values())


def test_what_makes_values_right_is_not_set_from_outside() -> None:
    (problem,) = checked({**GOOD, "spark.sql.session.timeZone": "Asia/Tokyo"}).problems
    assert problem.error.code == "settings.invalid"
    assert dict(values(**{"spark.executor.cores": "2"}).below("spark."))["executor.cores"] == "2"


def test_lines_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([0.0, 0.0, 1.0, 10.0])
    log = log_to(sys.stdout, for_programs=True).bind(pipeline="shop")
    teller = Teller(log, Figures("s"), clock=lambda: next(now, 10.0))
    teller.merged("s.d.p.t", READ, 1.5)
    teller.merged("s.d.p.t", READ, 1.5)  # too soon for a line
    teller.failed("s.d.p.t", Standing(BUSY, stopped=True))
    teller.outage(None)
    teller.ends(whole=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["merged", "stopped", "goes on", "stopped"]
    assert (lines[0]["batches"], lines[0]["offsets"], lines[0]["pipeline"]) == (1, 4, "shop")
    assert (lines[3]["batches"], lines[3]["offsets"], lines[3]["whole"]) == (2, 8, True)
    assert lines[1]["error"] == {"code": "test.busy", "kind": "Transient", "sentence": "busy", "hint": "wait"}


def test_new_dead_letters_are_told_with_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    figures = Figures("s")
    teller = Teller(log_to(sys.stdout, for_programs=True), figures, clock=lambda: 0.0)
    for letters in (2, 0, 1):
        figures.batch(Account(READ, Applied(), letters=letters))
        teller.merged("s.d.p.t", READ, 0.1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = [(one["table"], one["letters"], one["in_all"]) for one in lines if one["event"] == "set aside"]
    assert told == [("d.p.t", 2, 2), ("d.p.t", 1, 3)]


def test_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    teller = Teller(log_to(sys.stdout, for_programs=False), Figures("s"))
    teller.failed("s.d.p.t", Standing(BUSY))
    teller.ends(whole=False)
    said = capsys.readouterr().out
    assert said.startswith("d.p.t waits: [test.busy] busy\n  hint: wait\n")
    assert "let go" in said
