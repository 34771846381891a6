"""Logical messages are left out where Kafka has refused their topic."""

from tests.fakes.place import Place
from tests.unit.producers.test_batching import REFUSED, cutter
from wrackline.producers.contract.steps import Batch, Message
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.schemas.errors import WracklineError


def test_messages_whose_topic_was_refused_are_left_out_and_the_position_moves_past_them() -> None:
    refused: dict[str, WracklineError] = {"message": REFUSED()}
    made = cutter(CutPolicy(linger=0.0), fresh=False, refused=refused)
    made.feed(Batch((Message("app", b"said", Place(0, 3)),), 4), now=0.0)
    taken = made.take(20.0)
    assert taken is not None
    assert (list(taken.records), list(taken.topics), taken.position) == ([], [], Place(0, 3))
    assert refused.keys() == {"message"}, "until the task is started again"
    allowed = cutter(CutPolicy(linger=0.0), fresh=False)
    allowed.feed(Batch((Message("app", b"said", Place(0, 3)),), 4), now=0.0)
    assert (made.message_topics, allowed.message_topics) == (set(), {"message"})
