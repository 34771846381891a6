"""Wishes for single tables: their records and the fold."""

from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from wrackline.consumers.kafka import wish_topic
from wrackline.schemas.kafka.wish_records import TableWish, TableWishes, record


def test_a_pause_holds_until_it_is_taken_back() -> None:
    wishes = TableWishes()
    assert wishes.apply(*record("d.p.a", TableWish.PAUSE, "ann", 1)) == ("d.p.a", TableWish.PAUSE)
    wishes.apply(*record("d.p.b", TableWish.PAUSE, "ann", 2))
    assert wishes.paused == {"d.p.a", "d.p.b"}
    assert wishes.apply(*record("d.p.a", TableWish.RESUME, "bob", 3)) is None
    assert wishes.paused == {"d.p.b"}
    wishes.apply(*record("d.p.a", TableWish.RESUME, "bob", 4))
    assert wishes.apply(*record("d.p.b", TableWish.RETRY, "", 5)) == ("d.p.b", TableWish.RETRY)
    assert wishes.paused == {"d.p.b"}, "another try is no resumption"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b"{}"),
        (b'["t"]', b"{}"),
        (b'["t","dance"]', b"{}"),
        (b'["t","resume"]', b"{}"),
        (b'[7,"pause"]', b"{}"),
        (b'["t","pause"]', b"no JSON"),
        (b'["t","pause"]', orjson.dumps({"version": 2, "at_ms": 1})),
        (b'["t","pause"]', orjson.dumps({"version": 1, "at_ms": -1})),
        (b'["t","pause"]', orjson.dumps({"version": 1})),
    ],
)
def test_what_another_program_wrote_is_refused_and_changes_nothing(key: bytes, value: bytes) -> None:
    wishes = TableWishes()
    with pytest.raises((ValueError, KeyError, TypeError)):
        wishes.apply(key, value)
    assert wishes.paused == frozenset()


def test_a_copy_that_is_kept_stays_so_until_it_is_released() -> None:
    wishes = TableWishes()
    assert wishes.apply(*record("d.p.a", TableWish.KEEP, "ann", 1)) == ("d.p.a", TableWish.KEEP)
    wishes.apply(*record("d.p.b", TableWish.KEEP, "ann", 2))
    wishes.apply(*record("d.p.a", TableWish.RESUME, "ann", 3))
    assert wishes.staying == {"d.p.a", "d.p.b"}
    assert wishes.paused == frozenset()
    assert wishes.apply(*record("d.p.a", TableWish.RELEASE, "bob", 4)) is None
    assert wishes.staying == {"d.p.b"}
    with pytest.raises(ValueError, match="no record"):
        wishes.apply(b'["d.p.b","release"]', b"{}")


def test_nobody_knows_which_copies_stay_before_the_wishes_have_been_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wish_topic, "_ANSWER_S", 0.1)
    wishes = wish_topic.WishTopic({"bootstrap.servers": "127.0.0.1:1"}, "wishes")
    wishes.close()
    assert (wishes.staying, wishes.paused) == (None, frozenset())


def test_the_paused_tables_are_said_once_all_of_them_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wish_topic, "_ANSWER_S", 0.1)
    seen: list[frozenset[str]] = []
    wishes = wish_topic.WishTopic({"bootstrap.servers": "127.0.0.1:1"}, "wishes", seen.append)

    def take(wish: TableWish, table: str) -> None:
        key, value = record(table, wish, "ann", 1)
        wishes._take(cast("Any", SimpleNamespace(error=lambda: None, key=lambda: key, value=lambda: value)))

    try:
        take(TableWish.PAUSE, "d.p.a")
        take(TableWish.PAUSE, "d.p.b")
        assert seen == [], "the next one may be paused too"
        wishes._all_read()
        assert seen == [{"d.p.a", "d.p.b"}]
        take(TableWish.RESUME, "d.p.a")
        wishes._all_read()
        assert seen == [{"d.p.a", "d.p.b"}, {"d.p.b"}]
    finally:
        wishes.close()


def test_it_is_said_too_that_no_table_is_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wish_topic, "_ANSWER_S", 0.1)
    seen: list[frozenset[str]] = []
    wishes = wish_topic.WishTopic({"bootstrap.servers": "127.0.0.1:1"}, "wishes", seen.append)
    wishes._all_read()
    wishes.close()
    assert seen == [frozenset()]
