"""Which copies of tables that are gone at the source may go, and when."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from wrackline.consumers.contract.drop_rules import DropBehaviour, DropRules
from wrackline.consumers.drive.departures import SETTLED_MS, Departures, GoneTable, SourceNews
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.pipelines.table_lists import TableLists

DAY = 86_400_000
DROPS = DropRules(DropBehaviour.DROP, after_ms=DAY)
NOBODY: frozenset[str] = frozenset()


@dataclass
class World:
    """A source half that reports, and a clock."""

    rules: DropRules = DROPS
    gone: dict[str, GoneTable] = field(default_factory=dict)
    runs: bool = True
    known: bool = True
    now: int = 1_000_000

    def __post_init__(self) -> None:
        self.departures = Departures(self.rules, self.news, lambda: self.now)

    def news(self) -> SourceNews | None:
        return SourceNews(dict(self.gone), self.runs) if self.known else None

    def after(self, ms: int, kept: frozenset[str] = NOBODY) -> frozenset[str]:
        """Let time pass, and look; return what has changed."""
        self.now += ms
        return self.departures.look(kept)

    def due(self) -> bool:
        return self.departures.due("t") is not None


def going(rules: DropRules = DROPS, **more: object) -> World:
    world = World(rules, {"t": GoneTable(**more)})  # type: ignore[arg-type]  # few of them
    assert world.after(0) == {"t"}
    return world


def test_a_copy_goes_after_the_delay_and_not_a_moment_earlier() -> None:
    world = going()
    assert world.after(DAY - 1) == NOBODY
    assert not world.due()
    world.after(1)
    assert world.due()


def test_a_table_that_is_back_ends_its_departure_and_the_next_one_has_the_whole_delay() -> None:
    world = going()
    world.after(DAY - 1)
    world.gone.clear()
    assert world.after(0) == {"t"}
    world.gone["t"] = GoneTable()
    assert world.after(1) == {"t"}
    world.after(DAY - 1)
    assert not world.due()
    world.after(1)
    assert world.due()


def test_an_operator_keeps_a_copy_and_lets_it_go_again() -> None:
    world = going()
    assert world.after(DAY, frozenset({"t"})) == {"t"}
    assert not world.due()
    assert not world.departures.ends("t")
    assert world.after(DAY) == {"t"}
    assert world.due()


@pytest.mark.parametrize(
    ("behaviour", "wait"),
    [(DropBehaviour.KEEP, None), (DropBehaviour.RENAME, SETTLED_MS), (DropBehaviour.DROP, SETTLED_MS)],
)
def test_the_setting_says_what_becomes_of_a_copy(behaviour: DropBehaviour, wait: int | None) -> None:
    world = going(DropRules(DropBehaviour.DROP, {"t": behaviour}, after_ms=0))
    assert world.departures.ends("t") is (wait is not None)
    world.after((wait or 10 * DAY) - 1)
    assert not world.due()
    world.after(1)
    assert world.due() is (wait is not None)


def test_nothing_is_due_while_nobody_hears_the_source_half() -> None:
    world = going()
    world.runs = False
    world.after(DAY)
    assert not world.due()
    world.known, world.runs = False, True
    assert world.after(0) == NOBODY
    assert not world.due(), "nothing new is known"
    world.known = True
    world.after(0)
    assert world.due()


def test_the_copy_of_a_renamed_table_waits_for_the_rows_of_the_new_one() -> None:
    world = going(renamed_to="u", follows=False)
    world.after(DAY)
    assert not world.due()
    world.gone["t"] = GoneTable("u", follows=True)
    assert world.after(0) == {"t"}
    assert world.due()


def test_what_an_earlier_process_has_announced_counts_unless_the_table_was_back() -> None:
    world = World(gone={"t": GoneTable()})
    world.departures.remember({"t": (world.now - DAY + 1, "drop"), "u": (0, "drop")})
    world.after(0)
    assert not world.due()
    world.after(1)
    assert world.due()
    world.gone["u"] = GoneTable()
    world.after(0)
    assert world.departures.known["u"].since_ms == world.now


def test_an_announcement_that_is_read_late_counts_too() -> None:
    world = going()
    world.departures.remember({"t": (world.now - DAY, "drop")})
    world.after(0)
    assert world.due()


@pytest.mark.parametrize("announced", ["keep", "rename"])
def test_a_table_that_was_announced_to_stay_has_the_whole_delay_once_the_setting_says_drop(
    announced: str,
) -> None:
    world = World(gone={"t": GoneTable()})
    world.departures.remember({"t": (world.now - 30 * DAY, announced)})
    world.after(0)
    assert not world.due()
    world.after(DAY)
    assert world.due()


def test_nothing_is_due_while_nobody_knows_which_copies_an_operator_keeps() -> None:
    world = going()
    world.now += DAY
    assert world.departures.look(None) == NOBODY
    assert not world.due()
    world.after(0)
    assert world.due()


def test_a_copy_goes_once_and_a_kept_one_may_go_again() -> None:
    world = going()
    world.after(DAY)
    world.departures.left("t", "dropped")
    world.after(1)
    assert not world.due()
    assert world.departures.ends("t")
    assert world.departures.known["t"].became == "dropped"
    world.after(1, frozenset({"t"}))
    assert world.departures.known["t"].became is None, "what the topic has makes it again"


def test_without_a_rule_nobody_is_asked() -> None:
    def asked() -> SourceNews | None:
        raise AssertionError

    assert Departures(DropRules(), asked, lambda: 0).look(NOBODY) == NOBODY


def test_what_the_board_says_of_a_departure() -> None:
    world = going()
    said: Mapping[str, object] = world.departures.known["t"].document()
    assert said == {
        "since_ms": world.now,
        "due_ms": world.now + DAY,
        "behavior": "drop",
        "renamed_to": None,
        "kept": False,
        "became": None,
    }


def test_the_copy_of_a_renamed_table_stays_if_renames_are_excluded_even_after_the_new_name_went() -> None:
    excluded = TableLists(("RENAME_TABLE",), (), Naming.WRACKLINE)
    world = going(DropRules(DropBehaviour.DROP, after_ms=0, excluded=excluded), renamed_to="u", renamed=True)
    world.gone["t"] = GoneTable(None, renamed=True)
    world.after(2 * SETTLED_MS)
    assert not world.due()
    world.gone["t"] = GoneTable()
    world.after(0)
    assert world.due(), "a drop is not excluded"
