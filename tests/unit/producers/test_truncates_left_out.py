"""A truncate event that is not the log's: published, or left out for readers that stop at it."""

import pytest

from tests.fakes.plain_control import PlainControl
from tests.unit.producers.test_batching import TABLE, cutter, steps_of
from wrackline.producers.contract.row_chunks import Halves
from wrackline.producers.contract.steps import Batch
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.schemas.kafka.offsets_records import canonical_json


@pytest.mark.parametrize("voids", [True, False])
def test_a_truncate_that_is_not_the_logs_can_be_left_out_and_its_state_is_saved(*, voids: bool) -> None:
    made = cutter(CutPolicy(skipped=frozenset({"t"}), voids=voids), PlainControl(counts=False), fresh=False)
    made.feed(Batch(tuple(steps_of("a")), 11), now=0.0)
    made.take(10.0)
    state = canonical_json({"read": 1})
    made.insert(TABLE.id, Halves([(None, b"emp")], b"tied"), {TABLE.id: state}, now=20.0, op="t")
    publication = made.take(30.0)
    assert publication is not None
    assert publication.states == {TABLE.id: state}
    assert [value for _, _, value, *_ in publication.records] == ([b"emptied"] if voids else [])
