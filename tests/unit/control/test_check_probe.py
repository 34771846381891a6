"""`wrackline check --probe` prints the source's assumptions, for people and for programs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld, given_of
from wrackline.control.cli import command_line
from wrackline.control.local.sqlserver_standin.agent import Agent
from wrackline.control.local.sqlserver_standin.model.capture import CaptureJob
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.probe import target_trial
from wrackline.control.runtime.probe.target_trial import TargetTrial
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.sources.sqlserver.assume import log_observer
from wrackline.schemas.errors import OperatorNeeded, define

Probe = Callable[..., tuple[int, str]]
REFUSED = define("test.probe_refused", OperatorNeeded, "no right to make a table", hint="GRANT CREATE")


@pytest.fixture
def world() -> Iterator[SqlServerWorld]:
    made = SqlServerWorld(2, MarkKind.SIGNAL)
    with Agent(made.model, scan_every=0.01):
        yield made
    made.close()


@pytest.fixture
def probe(
    world: SqlServerWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Probe:
    monkeypatch.setattr(log_observer, "LOOK_S", 0.01)
    monkeypatch.setattr(command_line, "add_server_findings", lambda checked: checked)  # Kafka is not there
    file = tmp_path / "shop.toml"
    given = given_of(world.standin.port, "shop0", "shop1") | {"signal.data.collection": "public.signals"}
    file.write_text("".join(f'{name} = "{value}"\n' for name, value in given.items()))

    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            command_line.main(["check", str(file), *words])
        assert isinstance(ended.value.code, int)
        return ended.value.code, capsys.readouterr().out

    return run


def test_a_user_sees_each_assumption_of_each_database(probe: Probe) -> None:
    code, said = probe("--probe")
    assert code == Exit.OK, said
    lines = said.splitlines()
    assert [line for line in lines if "stand-in" in line] == [
        f"{name}: Microsoft SQL Server 2022: a stand-in for Wrackline's tests, not a real server"
        for name in ("shop0", "shop1")
    ]
    moved = "the rows of an UPDATE that exchanges keys, in their order, lose no key"
    assert lines.count(f"holds         A7  {moved}") == 2
    assert sum(line.startswith("not tried     A5  the commands") for line in lines) == 2
    assert "report it" not in said


def test_one_that_fails_is_to_be_reported(
    world: SqlServerWorld, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan, broken = CaptureJob.scan, world.model.databases["shop1"].job()

    def late(job: CaptureJob, most: int | None, _: object) -> int:
        return scan(job, most, {"public_signals"} if job is broken else ())

    monkeypatch.setattr(CaptureJob, "scan", late)
    code, said = probe("--probe")
    assert code == Exit.FINDINGS, said
    assert (
        said.count("does not hold A1  a commit that is listed has all of its rows in the change tables") == 1
    )
    assert "changes can be lost" in said
    in_one_line = " ".join(said.split())  # where a line breaks depends on the file's path
    assert "report it to the project, with what this prints: wrackline check" in in_one_line
    code, said = probe("--probe", "--json")
    assert code == Exit.FINDINGS
    found = json.loads(said)["assumptions"]
    assert [one["database"] for one in found] == ["shop0", "shop1"]
    verdicts = [{one["id"]: one["verdict"] for one in report["assumptions"]} for report in found]
    assert (verdicts[0]["A1"], verdicts[1]["A1"], verdicts[1]["A5"]) == ("holds", "fails", "untried")


def test_without_the_option_nothing_is_tried(world: SqlServerWorld, probe: Probe) -> None:
    code, said = probe("--json")
    assert code == Exit.OK
    assert "assumptions" not in json.loads(said)
    assert world.model.databases["shop0"].commits == 0
    assert probe("--probe", "--offline")[0] == Exit.USAGE


def test_another_source_has_none(probe: Probe, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    text = file.read_text().replace('"sqlserver"', '"postgres"').replace("driver.encrypt", "#")
    lines = [line for line in text.splitlines() if not line.startswith(("#", "poll", "signal"))]
    file.write_text("\n".join(lines).replace("database.names", "database.dbname").replace(",shop1", ""))
    code, said = probe("--probe")
    assert (code, said.splitlines()[-1]) == (
        Exit.OK,
        "the source relies on nothing that only a server could show",
    )


def test_a_target_is_tried_too_and_its_refusal_is_a_finding(
    probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it is really merged into is shown with servers (tests/integration/assess)."""
    tried: list[str] = []

    def good(trial: TargetTrial) -> dict[str, object]:
        tried.append(trial.table.name)
        return {"rows": 10, "columns": 3}

    def refused(_: TargetTrial) -> dict[str, object]:
        raise REFUSED.fill({})

    code, said = probe("--probe", "--json")
    assert (code, json.loads(said)["target"]) == (Exit.OK, None)
    file = tmp_path / "shop.toml"
    file.write_text(file.read_text() + f'[target]\nkind = "iceberg"\nwarehouse = "{tmp_path}"\n')
    monkeypatch.setattr(TargetTrial, "_run", good)
    code, said = probe("--probe")
    assert (code, said.splitlines()[-1].split()[:2]) == (Exit.OK, ["ok", "merge"])
    assert "(rows 10, columns 3)" in said
    monkeypatch.setattr(TargetTrial, "_run", refused)
    code, said = probe("--probe", "--json")
    found = json.loads(said)
    assert (code, found["ok"], found["target"]["ok"]) == (Exit.FINDINGS, False, False)
    assert [one["suggestion"] for one in found["findings"]] == ["GRANT CREATE"]
    monkeypatch.setattr(target_trial, "find_spec", lambda _: None)
    assert probe("--probe")[0] == Exit.OK, "without Spark nothing is merged"
    assert len(tried) == 1
