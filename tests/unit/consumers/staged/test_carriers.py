"""What is left on this machine of files that could not be written."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.fakes.direct_changes import direct_changes
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.contract.plan import Applied, MergePlan, plan_merge
from wrackline.consumers.staged.carriers import DriverCarrier
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
