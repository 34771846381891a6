"""A slot that is known to be another pipeline's is refused by that one's name."""

from dataclasses import dataclass
from typing import Any

import pytest

from wrackline.producers.sources.postgres.connect.quoting import own_slot
from wrackline.producers.sources.postgres.follow.publication import sign
from wrackline.producers.sources.postgres.slot_owner import refuse_anothers
from wrackline.schemas.errors import OperatorNeeded


@dataclass
class Answers:
    """A connection to a database with these publications and their comments, and the slot."""

    publications: dict[str, str]

    def execute(self, _statement: str, _given: list[str]) -> "Answers":
        return self

    def fetchall(self) -> list[tuple[str, str]]:
        return [*self.publications.items()]


def refuse(publications: dict[str, str], slot: str) -> None:
    connection: Any = Answers(publications)
    refuse_anothers(connection, slot, "mine")


@pytest.mark.parametrize("other", ["shop", "Shop-2", "a" * 99])
def test_the_slot_of_another_pipeline_is_refused_by_its_name(other: str) -> None:
    with pytest.raises(OperatorNeeded) as refused:
        refuse({"first": sign("third"), 'p"q': sign(other)}, own_slot(other))
    assert refused.value.code == "pg.slot_of_another"
    assert other in refused.value.sentence
    assert refused.value.hint.endswith('COMMENT ON PUBLICATION "p""q" IS NULL')


@pytest.mark.parametrize(
    ("made_for", "slot"),
    [("mine", own_slot("mine")), ("shop", own_slot("mine")), ("shop", "chosen"), ("shop", "wrackline")],
)
def test_a_slot_that_is_ours_or_could_be_anybodys_is_taken(made_for: str, slot: str) -> None:
    refuse({"p": sign(made_for)}, slot)
