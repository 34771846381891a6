"""Where a log is gone on with whose place no dump can be asked for; what two servers show is tried there."""

from typing import Any

import pytest

from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition
from wrackline.producers.sources.mysql.resume import large_offsets
from wrackline.schemas.errors import Transient

HISTORY = MySqlHistory("s", "binlog.000099", 5)
HIGH = MySqlPosition(3, 99, 1 << 32, history=HISTORY)


def shown(monkeypatch: pytest.MonkeyPatch, *files: str) -> None:
    """A server with these files, and nothing behind the place."""

    def ask(_: object, statement: str, *given: object) -> list[dict[str, Any]]:  # noqa: ARG001
        return [{"Log_name": file} for file in files] if statement == "SHOW BINARY LOGS" else []

    monkeypatch.setattr(large_offsets, "query_dicts", ask)


def test_the_next_file_is_the_next_number(monkeypatch: pytest.MonkeyPatch) -> None:
    shown(monkeypatch, "binlog.000099", "binlog.000100", "binlog.000101")
    found = large_offsets.reachable_position(None, HIGH, HISTORY)  # type: ignore[arg-type] # nothing is asked of it
    assert found == MySqlPosition(3, 100, 4)
    assert found.history == MySqlHistory("s", "binlog.000100", 0)


def test_a_file_that_is_still_written_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    shown(monkeypatch, "binlog.000098", "binlog.000099")
    with pytest.raises(Transient, match="the next file has not begun"):
        large_offsets.reachable_position(None, HIGH, HISTORY)  # type: ignore[arg-type] # nothing is asked of it
