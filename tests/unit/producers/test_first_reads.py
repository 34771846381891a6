"""Which existing rows a start asks for, by the settings alone."""

from collections.abc import Callable, Sequence

import pytest

from tests.unit.producers.test_assembly import values
from wrackline.producers.contract.first_reads import MODES, FirstReads, Reads, SnapshotMode
from wrackline.producers.contract.snapshot_requests import Purpose, SnapshotRequest
from wrackline.schemas.settings import overrides
from wrackline.schemas.settings.filters import Listed
from wrackline.schemas.tables.table import TableId

ORDERS, GIFTS = (TableId("shop", "public", name) for name in ("orders", "gifts"))
BASED = "snapshot.mode.configuration.based."


@pytest.mark.parametrize(
    ("mode", "known", "wanted"),
    [
        ("initial", [], (ORDERS, GIFTS)),
        ("initial", [ORDERS], (GIFTS,)),
        ("initial", [ORDERS, GIFTS], ()),
        ("exported", [ORDERS], (GIFTS,)),
        ("initial_only", [], (ORDERS, GIFTS)),
        ("initial_only", [ORDERS, GIFTS], ()),
        ("when_needed", [ORDERS], (GIFTS,)),
        ("always", [ORDERS, GIFTS], (ORDERS, GIFTS)),
        ("no_data", [], ()),
        ("never", [], ()),
        ("schema_only", [], ()),
    ],
)
def test_a_start_requests_what_its_mode_says(
    mode: str, known: Sequence[TableId], wanted: Sequence[TableId]
) -> None:
    made = FirstReads(MODES[mode]).request_at_start([ORDERS, GIFTS], known, "7f")
    assert (() if made is None else made.tables) == wanted
    if made is not None:
        assert made.id == ("start-7f" if mode == "always" else "initial")
        assert made.purpose is Purpose.INITIAL
        assert not made.anew


@pytest.mark.parametrize("ask", [FirstReads.request_at_start, None], ids=["at a start", "when it comes"])
def test_a_first_read_takes_in_only_what_is_listed(ask: Callable[..., SnapshotRequest | None] | None) -> None:
    first = FirstReads(include=(Listed.of("snapshot.include.collection.list", "public.gifts"),))
    if ask is None:
        assert first.comes(ORDERS, "r") is None
        made = first.comes(GIFTS, "r")
    else:
        made = ask(first, [ORDERS, GIFTS], [], "7f")
    assert made is not None
    assert made.tables == (GIFTS,)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({}, SnapshotMode(Reads.NONE, ends=True)),  # Debezium's own defaults
        ({"start.stream": "true"}, SnapshotMode(Reads.NONE)),
        ({"snapshot.data": "true", "start.stream": "true"}, SnapshotMode(Reads.ALL)),
        ({"snapshot.data": "true"}, SnapshotMode(Reads.ALL, ends=True)),
        ({"start.stream": "true", "snapshot.on.data.error": "true"}, SnapshotMode(Reads.NONE, recovers=True)),
    ],
)
def test_a_mode_can_be_put_together(given: dict[str, str], meant: SnapshotMode) -> None:
    more = {BASED + name: value for name, value in given.items()}
    assert FirstReads.of(values(**{"snapshot.mode": "configuration_based", **more})).mode == meant


def test_each_mode_that_may_be_named_means_something() -> None:
    for name, mode in MODES.items():
        assert FirstReads.of(values(**{"snapshot.mode": name})).mode == mode


def test_after_a_gap_all_tables_are_read_again_whatever_else_the_mode_says() -> None:
    for mode in (SnapshotMode(recovers=True), SnapshotMode(Reads.NONE, recovers=True)):
        made = FirstReads(mode).request_after_gap([ORDERS, GIFTS], "lost-1")
        assert made is not None
        assert (made.id, made.tables, made.purpose, made.anew) == (
            "lost-1",
            (ORDERS, GIFTS),
            Purpose.INITIAL,
            True,
        )


def test_a_statement_of_ones_own_becomes_the_condition_of_its_table_alone() -> None:
    given = {
        overrides.LIST: "public.orders, shop.public.gifts, public.typo",
        f"{overrides.LIST}.public.orders": "select * from orders where not_here = 0 AND note LIKE 'a%'",
        f"{overrides.LIST}.shop.public.gifts": 'SELECT * FROM "public"."gifts"',
        f"{overrides.LIST}.public.typo": "SELECT * FROM public.typo WHERE id > 5",
    }
    first = FirstReads.of(values(**{"snapshot.mode": "initial", **given}))
    made = first.request_at_start([ORDERS, GIFTS], [], "7f")
    assert made is not None
    assert made.conditions == {ORDERS: "not_here = 0 AND note LIKE 'a%'"}
    come, anew = first.comes(ORDERS, "r"), first.request_after_gap([ORDERS], "r")
    assert come is not None
    assert anew is not None
    assert come.conditions == anew.conditions == made.conditions
    assert first.unused_statements([ORDERS, GIFTS]) == ["public.typo"]
