"""What the driver holds of a batch, and what is left on this machine of files."""

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.fakes.direct_changes import direct_changes
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.contract.plan import Applied, MergePlan, plan_merge
from wrackline.consumers.staged.carriers import DriverCarrier, PartRange, part_ranges, remove_left_folders
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn, staged_columns
from wrackline.consumers.targets.bigquery.dialect import DIALECT
from wrackline.testing.targets.merge_model import latest
from wrackline.testing.targets.target_suite import HERE, TABLE, A, change


def test_changes_with_a_row_that_is_too_long_are_left_to_spark() -> None:
    """It names what is wrong with them."""
    for size, held in ((100, True), (101, False)):
        plan: MergePlan = plan_merge(TABLE, DIALECT.identifiers, Applied({HERE: 1}))
        row = change("c", A, 1, "é" * 10, "y" * (size - 20))
        changes = direct_changes(latest([row], plan.floor), plan)
        ours = sum(len(one) for one in (changes.seq[0].as_py(), "c", A[0])) + 64  # the key's hash
        limit = Limit(most_row_bytes=100 + ours)
        first, *others = staged_columns(plan, DIALECT)
        carrier = DriverCarrier()
        files = carrier.carry_changes(changes, plan, [replace(first, limit=limit), *others])
        assert (files is not None) is held
        if files is not None:
            carrier.forget(files)


def carry_rows(carrier: DriverCarrier) -> None:
    carrier.carry_rows([["a row's value"]], [StageColumn("value_part", Primitive.TEXT)])


def carry_changes(carrier: DriverCarrier) -> None:
    plan: MergePlan = plan_merge(TABLE, DIALECT.identifiers, Applied({HERE: 1}))
    changes = direct_changes(latest([change("c", A, 1, "x")], plan.floor), plan)
    carrier.carry_changes(changes, plan, staged_columns(plan, DIALECT))


@pytest.mark.parametrize("carry", [carry_rows, carry_changes])
def test_nothing_is_left_of_a_file_for_which_there_is_no_room(
    carry: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(_: object, file: Path) -> None:
        file.write_bytes(b"a part of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(pq, "write_table", half)
    assert callable(carry)
    with pytest.raises(OSError, match="No space"):
        carry(DriverCarrier())
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys
from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn
DriverCarrier().carry_rows([["a row's value"]], [StageColumn("value_part", Primitive.TEXT)])
print("written", flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "wrackline-batch-elsewhere").symlink_to(tmp_path)
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"written\n"
        mine = DriverCarrier()
        files = mine.carry_rows([["mine"]], [StageColumn("value_part", Primitive.TEXT)])
        assert remove_left_folders() == 0
        assert len(list(tmp_path.glob("*/*.parquet"))) == 2
        other.kill()
        other.wait()
    DriverCarrier()
    assert [str(file) for file in tmp_path.glob("*/*.parquet")] == list(files.addresses)
    mine.forget(files)
    assert [one.name for one in tmp_path.iterdir()] == ["wrackline-batch-elsewhere"]


def test_a_folder_of_another_machine_or_of_an_older_version_goes_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock on shared storage may be unknown here, and an older version may have none."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = DriverCarrier().carry_rows([["mine"]], [StageColumn("value_part", Primitive.TEXT)])
    (mine,) = (Path(one).parent for one in kept.addresses)
    names = ["wrackline-batch-older", "wrackline-batch-0123456789ab-other"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.parquet").write_bytes(b"x")
    left = tmp_path / f"{mine.name.rpartition('-')[0]}-left"
    left.mkdir()
    assert remove_left_folders() == 1, "a process of this machine would have locked it"
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([mine.name, *names])
    long_ago = time.time() - 8 * 86_400
    for folder in tmp_path.iterdir():
        os.utime(folder, (long_ago, long_ago))
    assert remove_left_folders() == 2
    assert list(tmp_path.iterdir()) == [mine], "it is locked, whatever its age"


def test_a_file_system_without_locks_for_folders_holds_a_batch_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EBADF, "as NFS answers for a folder")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fcntl, "flock", refuse)
    carrier = DriverCarrier()
    files = carrier.carry_rows([["mine"]], [StageColumn("value_part", Primitive.TEXT)])
    assert remove_left_folders() == 0
    assert files.rows == 1
    carrier.forget(files)
    assert list(tmp_path.iterdir()) == []


MIB = 1 << 20


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([], []),
        ([(3, 5, 1)], [PartRange(3, 3, 5)]),
        ([(1, 5, 1), (0, 5, 1), (2, 1, 1)], [PartRange(0, 1, 10), PartRange(2, 2, 1)]),
        (
            [(0, 11, 1), (1, 10, 1), (4, 1, 1)],
            [PartRange(0, 0, 11, 2), PartRange(1, 1, 10), PartRange(4, 4, 1)],
        ),
        ([(0, 2, 2 * MIB), (1, 3, 3 * MIB)], [PartRange(0, 0, 2), PartRange(1, 1, 3)]),
        (
            [(0, 1, 1), (1, 9, 9 * MIB), (2, 1, 1)],
            [PartRange(0, 0, 1), PartRange(1, 1, 9, 3), PartRange(2, 2, 1)],
        ),
    ],
)
def test_neighbours_are_collected_together_up_to_so_many_rows_and_bytes(
    sizes: list[tuple[int, int, int]], found: list[PartRange]
) -> None:
    assert list(part_ranges(sizes, 10, 4 * MIB)) == found
