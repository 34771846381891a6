"""A slot that is known to be another pipeline's is refused by that one's name."""

import json
import shlex
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from wrackline.producers.contract.source_plugin import NeighbourPosition
from wrackline.producers.sources.postgres.connect.quoting import own_slot
from wrackline.producers.sources.postgres.follow.publication import sign
from wrackline.producers.sources.postgres.slot_owner import refuse_anothers
from wrackline.schemas.errors import OperatorNeeded

SAVED: dict[str, Any] = {
    "epoch": 3,
    "lsn": "0/7",
    "done": 0,
    "resume": "0/7",
    "system": "77",
    "timeline": 1,
    "slot": "chosen",
}


@dataclass
class Answers:
    """A connection to a database with these publications and their comments, and with the slot or not."""

    publications: dict[str, str] = field(default_factory=dict)
    system: str | None = "77"
    confirmed: str | None = "0/7"

    info = SimpleNamespace(dbname="crm")

    def execute(self, _statement: str, _given: list[str]) -> "Answers":
        return self

    def fetchone(self) -> tuple[str, str | None] | None:
        return None if self.system is None else (self.system, self.confirmed)

    def fetchall(self) -> list[tuple[str, str]]:
        return [*self.publications.items()]


def refuse(
    publications: dict[str, str],
    slot: str,
    *neighbours: NeighbourPosition,
    system: str | None = "77",
    confirmed: str | None = "0/7",
    pipeline: str = "mine",
) -> None:
    connection: Any = Answers(publications, system, confirmed)
    refuse_anothers(connection, slot, pipeline, lambda: neighbours)


@pytest.mark.parametrize("other", ["shop", "Shop-2", "a" * 99])
def test_the_slot_of_another_pipeline_is_refused_by_its_name(other: str) -> None:
    with pytest.raises(OperatorNeeded) as refused:
        refuse({"first": sign("third"), 'p"q': sign(other)}, own_slot(other))
    assert refused.value.code == "pg.slot_of_another"
    assert other in refused.value.sentence
    assert refused.value.hint.endswith('COMMENT ON PUBLICATION "p""q" IS NULL')


@pytest.mark.parametrize("begins", ["wrackline_", "chosen_"])
def test_the_slot_of_a_database_of_another_pipeline_is_refused_too(begins: str) -> None:
    slot = own_slot("shop/crm", begins)
    with pytest.raises(OperatorNeeded) as refused:
        refuse({"p": sign("shop")}, slot)
    assert "is that of pipeline shop" in refused.value.sentence
    refuse({"p": sign("mine")}, own_slot("mine/crm", begins))
    refuse({"p": sign("shop")}, own_slot("shop/erp", begins))


def test_a_database_of_several_gets_a_slot_that_begins_in_another_way() -> None:
    slot = own_slot("mine/crm")
    with pytest.raises(OperatorNeeded) as refused:
        refuse({}, slot, NeighbourPosition("shop", "t", {**SAVED, "slot": slot}))
    assert "slot.name = 'wrackline_mine_2'" in refused.value.hint


@pytest.mark.parametrize(
    ("made_for", "slot"),
    [("mine", own_slot("mine")), ("shop", own_slot("mine")), ("shop", "chosen"), ("shop", "wrackline")],
)
def test_a_slot_that_is_ours_or_could_be_anybodys_is_taken(made_for: str, slot: str) -> None:
    refuse({"p": sign(made_for)}, slot)


@pytest.mark.parametrize("saved", [SAVED, {"epoch": 4, "slot": "chosen", "system": "77"}])
def test_a_slot_with_any_name_is_that_of_the_pipeline_whose_position_names_it(saved: dict[str, Any]) -> None:
    with pytest.raises(OperatorNeeded) as refused:
        refuse({}, "chosen", NeighbourPosition("shop", "wrackline-shop-offsets", saved))
    assert refused.value.code == "pg.slot_of_another"
    assert "pipeline shop: its position in topic wrackline-shop-offsets" in refused.value.sentence
    assert "slot.name = 'wrackline_mine'" in refused.value.hint
    command = refused.value.hint[refused.value.hint.index("wrackline offsets set") :]
    assert json.loads(shlex.split(command)[-1]) == saved, "nothing of the other's log is passed over"


def test_a_pipeline_whose_own_name_another_uses_gets_a_name_that_is_free() -> None:
    taken = {**SAVED, "slot": own_slot("a" * 90)}
    with pytest.raises(OperatorNeeded) as refused:
        refuse({}, taken["slot"], NeighbourPosition("shop", "t", taken), pipeline="a" * 90)
    free = refused.value.hint.split("'")[1]
    assert free != taken["slot"]
    assert len(free) <= 63


@pytest.mark.parametrize(
    ("slot", "system", "neighbour"),
    [
        ("other", "77", "shop"),
        ("chosen", "78", "shop"),  # a slot of the same name on another server
        ("chosen", "77", "mine"),
        ("chosen", None, "shop"),  # it was dropped: the new one has nothing of the other's
    ],
)
def test_a_position_elsewhere_refuses_nothing(slot: str, system: str | None, neighbour: str) -> None:
    refuse({}, slot, NeighbourPosition(neighbour, "wrackline-shop-offsets", SAVED), system=system)


@pytest.mark.parametrize(
    ("confirmed", "saved"),
    [
        ("0/8", SAVED),  # the slot was read further since, or was made again
        ("0/7", {"epoch": 4, "slot": "chosen"}),  # it may be a slot of another server
        ("0/7", {**SAVED, "resume": 7}),
    ],
)
def test_a_position_that_does_not_show_who_reads_from_the_slot_refuses_nothing(
    confirmed: str, saved: dict[str, Any]
) -> None:
    refuse({}, "chosen", NeighbourPosition("shop", "wrackline-shop-offsets", saved), confirmed=confirmed)


def test_a_slot_that_has_confirmed_nothing_is_that_of_the_position_that_names_it() -> None:
    with pytest.raises(OperatorNeeded):
        refuse({}, "chosen", NeighbourPosition("shop", "t", SAVED), confirmed=None)
