"""A check in a process of its own finds what `wrackline check` finds, and has an end."""

import json
import os
import signal
import socket
from pathlib import Path
from threading import Event

import pytest

from tests.unit.control.test_cli import GOOD, wrackline
from wrackline.control.runtime.check import assessment
from wrackline.producers.connect.nursery import Nursery
from wrackline.schemas.errors import Transient
from wrackline.schemas.settings.secret_refs import Allowed

CANARY = "c4n4ry"
WRONG = GOOD.replace("topic.prefix", "topic.prefx").replace("c4n4ry-hunter2", "${env:HOME_c4n4ry}")


def never(line: socket.socket) -> None:
    """Be a check whose server never answers."""
    assert line
    Event().wait(60)


def dies(line: socket.socket) -> None:
    """Be a check that is ended from outside."""
    assert line
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def nursery() -> Nursery:
    return Nursery(["wrackline.control.runtime.check.assessment"])


def test_it_finds_what_the_command_finds(nursery: Nursery, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(WRONG)
    told = json.loads(wrackline("check", str(file), "--json").stdout)
    assert told.pop("file") == str(file)
    assert assessment.assess("shop", nursery.way(assessment.assess_file, file)) == told
    assert [finding["id"] for finding in told["findings"]]
    given = {"name": "shop", "topic.prefx": "a"}
    of_map = assessment.assess("shop", nursery.way(assessment.assess_settings, given, Allowed()))
    assert "settings.unknown" in {finding["id"] for finding in of_map["findings"]}
    assert of_map["ok"] is False


def test_it_has_an_end(nursery: Nursery) -> None:
    with pytest.raises(Transient, match=r"check\.not_in_time.* shop"):
        assessment.assess("shop", nursery.way(never), 0.0)
    with pytest.raises(Transient, match=r"check\.not_done.* shop ended with -9"):
        assessment.assess("shop", nursery.way(dies))
