"""Changes that wait in a file: they come back in order, without those that were taken back."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.producers.oracle.redo_model import mined
from wrackline.producers.sources.oracle.mining.mined_row import INSERT
from wrackline.producers.sources.oracle.transactions import spill_file
from wrackline.producers.sources.oracle.transactions.mined_change import MinedChange
from wrackline.producers.sources.oracle.transactions.spill_file import SpillFile
from wrackline.schemas.errors import Transient


class Disk(io.BytesIO):
    """A file whose calls can be made to fail."""


def change(number: int) -> MinedChange:
    return MinedChange(INSERT, "R", unclosed=False, rows=[mined(number, INSERT, redo=f"{number}")])


def left(file: SpillFile) -> list[list[int]]:
    return [[one.rows[0].scn for _, one in file.read(number)] for number in range(len(file))]


def test_what_is_written_behind_a_read_is_behind_all_else(tmp_path: Path) -> None:
    file = SpillFile(tmp_path)
    file.append([change(1), change(2)])
    size = file.size
    file.append([change(3)])
    assert left(file) == [[1, 2], [3]]
    assert file.read(0)
    file.append([change(4)])
    file.drop(0, 0)
    assert left(file) == [[2], [3], [4]]
    assert [one.rows[0].scn for one in file.take_back()] == [4]
    assert [one.rows[0].scn for one in file.take_back()] == [3]
    assert file.size == size
    file.append([change(5)])
    assert left(file) == [[2], [5]]
    file.close()


def test_a_file_gives_back_the_room_of_what_was_taken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = io.BytesIO()
    monkeypatch.setattr(spill_file, "TemporaryFile", lambda **_: real)
    file = SpillFile(tmp_path)
    file.append([change(1)])
    file.append([change(2)])
    file.take_back()
    assert len(real.getvalue()) == file.size > 0


@pytest.mark.parametrize(
    ("call", "error", "does"),
    [
        ("flush", OSError(28, "No space left on device"), lambda file: file.append([change(2)])),
        ("read", OSError(), lambda file: file.read(0)),
        ("truncate", OSError(5, "Input/output error"), SpillFile.take_back),
    ],
)
def test_a_disk_that_fails_is_said(
    call: str,
    error: OSError,
    does: Callable[[SpillFile], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise error

    disk = Disk()
    monkeypatch.setattr(spill_file, "TemporaryFile", lambda **_: disk)
    file = SpillFile(tmp_path)
    file.append([change(1)])
    monkeypatch.setattr(Disk, call, fails)
    with pytest.raises(Transient, match=error.strerror or "OSError") as caught:
        does(file)
    assert caught.value.code == "oracle.spill_failed"
