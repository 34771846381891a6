"""A secret that changes in its file is taken by the next process of a task; the worker is not restarted."""

import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.settings.shop import CANARY, GOOD
from wrackline.control.runtime.group import group_worker
from wrackline.control.runtime.group.config_records import Connector
from wrackline.control.runtime.group.group_settings import WorkerGroup, load_group
from wrackline.control.runtime.worker import task_process
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas import message_texts
from wrackline.schemas.pipelines.pipeline import Pipeline

KAFKAS, DATABASES = "kafka.sasl.password", "database.password"
Begun = Callable[[socket.socket], None]


class Nursery:
    """Begins a task in this process."""

    def way(self, main: Callable[..., None], *arguments: object) -> Begun:
        return partial(main, *arguments)


def by_file(folder: Path) -> Begun:
    """The way of a worker of files."""
    file = folder / "shop.toml"
    given = {**GOOD, **refers(folder), "secrets.allow.folders": str(folder)}
    file.write_text("".join(f"{name} = '{text}'\n" for name, text in given.items()))
    return Nursery().way(task_process.run_file, file, TaskPlace())


def by_group(folder: Path) -> Begun:
    """The way of a group, whose own file has the log-in for Kafka."""
    file = folder / "group.toml"
    mine = {"group.id": "prod", "secrets.allow.folders": str(folder), KAFKAS: refers(folder)[KAFKAS]}
    mine |= {name: GOOD[name] for name in ("kafka.bootstrap.servers", "schema.registry.url")}
    mine |= {name: text for name, text in refers(folder).items() if name.startswith("kafka.")}
    file.write_text("".join(f"{name} = '{text}'\n" for name, text in mine.items()))
    group = load_group(file, {})
    assert isinstance(group, WorkerGroup)
    kept = {name: text for name, text in GOOD.items() if name not in mine}
    kept[DATABASES] = refers(folder)[DATABASES]
    nursery: Any = Nursery()
    begun: Any = group_worker._begins(nursery, group, Connector("shop", kept, 1, DesiredState.RUN, 0), [0])
    return begun[0]  # type: ignore[no-any-return] # it takes one argument here


def refers(folder: Path) -> dict[str, str]:
    login = {"kafka.security.protocol": "sasl_ssl", "kafka.sasl.mechanism": "PLAIN"}
    login |= {"kafka.sasl.username": "cdc", KAFKAS: f"${{file:{folder}/secrets:kafka}}"}
    return {**login, DATABASES: f"${{file:{folder}/secrets:database}}"}


@pytest.mark.parametrize("way", [by_file, by_group])
def test_a_secret_that_changed_is_taken_by_the_next_process(
    way: Callable[[Path], Begun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-SECRET-16."""
    taken: list[tuple[str, str]] = []

    def run(pipeline: Pipeline, *_: object, **__: object) -> None:
        values = pipeline.good()
        taken.append((values.secret(DATABASES).reveal(), values.secret(KAFKAS).reveal()))
        assert values.redactor.clean(" ".join(taken[-1])) == "*** ***", "it cleans its own log of them"

    hints = message_texts._ProcessHints()
    monkeypatch.setattr(message_texts, "_PROCESS", hints)
    monkeypatch.setattr(task_process, "run", run)
    monkeypatch.setattr(Lifeline, "hold", lambda _: None)  # which would end this process
    secrets = tmp_path / "secrets"
    secrets.write_text(f"database={CANARY}-1\nkafka={CANARY}-2\n")
    begin = way(tmp_path)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        begin(theirs)
        secrets.write_text(f"database={CANARY}-3\nkafka={CANARY}-4\n")
        begin(theirs)
    assert hints.rest is (way is by_group), "a group has no pipeline's file that a hint could name"
    assert taken == [(f"{CANARY}-{first}", f"{CANARY}-{second}") for first, second in ((1, 2), (3, 4))]
