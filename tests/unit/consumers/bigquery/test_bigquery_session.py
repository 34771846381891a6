"""A job whose answer was lost is asked for by its name, and not done again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import requests
from google.api_core.exceptions import Conflict, Forbidden, RetryError
from google.auth.credentials import AnonymousCredentials
from google.cloud.bigquery import Client

from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.places import StagedLayout, StagedRelation
from wrackline.consumers.staged.service import CarriedFiles, StageTable
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.staged.target import StagedTarget
from wrackline.consumers.targets.bigquery.connect import open_client
from wrackline.consumers.targets.bigquery.partitions import KeyPartitions
from wrackline.consumers.targets.bigquery.service import BigQueryService
from wrackline.consumers.targets.bigquery.session import CALL_S, BigQuerySession, JobPolicy
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.schemas.settings.settings_registry import Values

MOVE = StateMove("`w`.`state`", 41, {"number": "42"}, "TRUE")
STAGE = StageTable(StagedRelation("w", "stage"), (StageColumn("k", Primitive.TEXT),))


class Row(tuple[Any, ...]):
    __slots__ = ()

    def values(self) -> tuple[Any, ...]:
        return tuple(self)


class Job:
    def __init__(
        self, rows: Sequence[Row] = (), output_rows: int | None = None, polls: Sequence[Exception] = ()
    ) -> None:
        self._rows, self.output_rows = rows, output_rows
        self.patience: list[float] = []
        self._polls = list(polls)

    def result(self, *, retry: object, timeout: float, job_retry: object = None) -> Any:
        assert retry is not None
        assert job_retry is None, "a script that is run again under another name is not known by its name"
        self.patience.append(timeout)
        if self._polls:
            raise self._polls.pop(0)
        return self if self.output_rows is not None else self._rows


class LostAnswers:
    """A client whose server does what it is asked, and whose answers are lost: then the name is taken."""

    project = "shop"

    def __init__(self, job: Job, *, lost: bool) -> None:
        self._job, self._lost = job, lost
        self.asked: list[tuple[str, object]] = []
        self.configs: list[Any] = []
        self.done = 0

    def query(self, text: str, *, job_config: object, job_id: str | None = None, **_: object) -> Job:
        self.asked.append((text.split(";", maxsplit=1)[0], job_id))
        return self._do(job_config)

    def load_table_from_file(
        self, file: Any, table: object, *, job_config: object, job_id: str, **_: object
    ) -> Job:
        self.asked.append((f"{table} {file.read()!r}", job_id))
        return self._do(job_config)

    def get_job(self, job_id: str, **_: object) -> Job:
        self.asked.append(("get", job_id))
        return self._job

    def _do(self, config: object) -> Job:
        self.configs.append(config)
        self.done += 1
        if self._lost:
            raise Conflict("Already Exists")  # type: ignore[no-untyped-call]
        return self._job


def session_of(client: LostAnswers) -> BigQuerySession:
    return BigQuerySession(cast("Client", client), JobPolicy(600, {"wrackline": "shop"}))


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(("outcome", "moved"), [("done", True), ("moved", False)])
def test_a_commit_is_known_by_its_name(*, lost: bool, outcome: str, moved: bool) -> None:
    client = LostAnswers(Job([Row((outcome,))]), lost=lost)
    assert session_of(client).commit(MOVE, [], "__ab") is moved
    asked = [("BEGIN TRANSACTION", "wrackline_commit___ab")]
    assert client.asked == [*asked, *([("get", "wrackline_commit___ab")] if lost else [])]
    assert client.done == 1
    assert int(client.configs[0].job_timeout_ms) == 600_000
    assert client.configs[0].labels == {"wrackline": "shop"}


@pytest.mark.parametrize("lost", [False, True])
def test_a_load_is_known_by_its_name(tmp_path: Path, *, lost: bool) -> None:
    addresses = []
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
        addresses.append(str(tmp_path / name))
    client = LostAnswers(Job(output_rows=7), lost=lost)
    assert session_of(client).load(STAGE, CarriedFiles(tuple(addresses), 14), "__ab") == 14
    names = [name for text, name in client.asked if text != "get"]
    assert names == ["wrackline_load0___ab", "wrackline_load1___ab"]
    assert [text for text, _ in client.asked if text != "get"] == ["shop.w.stage b'a'", "shop.w.stage b'b'"]
    config = client.configs[0]
    assert [(field.name, field.field_type) for field in config.schema] == [("k", "STRING")]
    assert (config.create_disposition, config.labels) == ("CREATE_NEVER", {"wrackline": "shop"})
    assert client.done == 2


def test_a_question_has_no_name() -> None:
    client = LostAnswers(Job([Row((1, "a"))]), lost=False)
    assert session_of(client).rows("SELECT 1") == [(1, "a")]
    assert client.asked == [("SELECT 1", None)]


def too_soon() -> Exception:
    said = [{"reason": "rateLimitExceeded", "message": "too many table update operations for this table"}]
    return Forbidden("?", errors=said)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("is_asked_again", [False, True])
def test_a_statement_that_comes_too_soon_is_sent_again(
    monkeypatch: pytest.MonkeyPatch, *, is_asked_again: bool
) -> None:
    """dlt#161: of many columns that are added, BigQuery takes five in ten seconds."""
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    ended = too_soon()
    if is_asked_again:  # the client asks for the result of a job that has failed, until its time is over
        ended = RetryError("?", ended)  # type: ignore[no-untyped-call]
    client = LostAnswers(Job(polls=[ended, ended]), lost=False)
    session_of(client).run("ALTER TABLE t ADD COLUMN a INT64")
    assert client.asked == [("ALTER TABLE t ADD COLUMN a INT64", None)] * 3
    assert len(waits) == 2
    denied = Forbidden("?", errors=[{"reason": "accessDenied"}])  # type: ignore[no-untyped-call]
    with pytest.raises(Forbidden):
        session_of(LostAnswers(Job(polls=[denied]), lost=False)).run("DROP TABLE t")
    assert len(waits) == 2


def test_a_long_job_is_asked_for_again_and_again() -> None:
    """A single question that hangs is given up; the job is not begun again for that."""
    job = Job([Row(("done",))], polls=[TimeoutError(), TimeoutError()])
    client = LostAnswers(job, lost=False)
    assert session_of(client).commit(MOVE, [], "__ab")
    assert (job.patience, client.done) == ([CALL_S] * 3, 1)


def test_a_job_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100_000, 300))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    job = Job(polls=[TimeoutError()] * 9, output_rows=1)
    with pytest.raises(TimeoutError):
        session_of(LostAnswers(job, lost=False)).commit(MOVE, [], "__ab")
    assert len(job.patience) == 3, "660 seconds are over"


def test_a_poll_that_dies_says_so() -> None:
    """What became of the job is asked of the state's row, by whoever holds the batch."""
    job = Job([Row(("done",))], polls=[requests.ConnectionError("reset")])
    with pytest.raises(requests.ConnectionError):
        session_of(LostAnswers(job, lost=False)).commit(MOVE, [], "__ab")


def test_the_client_is_closed_with_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Client] = []
    monkeypatch.setattr(Client, "close", lambda self: closed.append(self))  # noqa: PLW0108 - a method
    credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
    client = Client(project="shop", credentials=credentials)
    service = BigQueryService(client, KeyPartitions(None), JobPolicy(60))
    target = StagedTarget(service, StagedLayout("{schema}", "wrackline", RELATIONS), DriverCarrier())
    BigQuerySession(client, JobPolicy(60)).close()
    assert closed == [], "other sessions share it"
    target.close()
    assert closed == [client]


def test_a_client_whose_first_call_fails_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Client] = []
    monkeypatch.setattr(Client, "close", lambda self: closed.append(self))  # noqa: PLW0108 - a method
    monkeypatch.setattr(Client, "query", broken)
    given = {"target.project": "shop", "target.location": "EU", "target.endpoint": "http://127.0.0.1:1"}
    with pytest.raises(ArithmeticError):
        open_client(cast("Values", Given(given)))
    assert len(closed) == 1


def broken(*_: object, **__: object) -> None:
    raise ArithmeticError


class Given(dict[str, str]):
    def text(self, name: str) -> str:
        return self[name]
