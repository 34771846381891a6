"""The screens of errors and letters: what is wrong, what is set aside, and who sees and does what with it."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.unit.console.made import HOSTILE, MadeViews, crowd, hostile, served, source_table, target_table
from tests.unit.console.made_letters import SECRET, TABLE, found, letter
from tests.unit.console.test_pages import Page
from tests.unit.console.visitor import Answer, Visitor, users
from wrackline.control.console.letters.letters_page import dump
from wrackline.control.runtime.letters.letter_desk import LetterState
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.schemas.kafka.board_records import Half

PATH = "/console/p/shop/letters"


def text_of(answer: Answer) -> str:
    return Page(answer.html).text


def test_what_is_wrong_stands_with_what_to_do_and_what_its_code_means(visitor: Visitor) -> None:
    page = visitor.ask("GET", "/console/p/billing/errors")
    text = text_of(page)
    assert "replication slot wrackline_billing is lost" in text
    assert "What to do: read all rows again" in text
    assert "the table is kept in another mode" in text
    assert text.index("source half") < text.index("billing.public.invoices")
    assert 'href="/console/error/target.other_mode"' in page.html
    assert "Nothing is wrong" in text_of(visitor.ask("GET", "/console/p/shop/errors"))


def test_tables_with_records_set_aside_are_counted_without_asking_the_target(
    visitor: Visitor, views: MadeViews
) -> None:
    halves = views.boards["shop"].halves
    halves[Half.TARGET].tables[TABLE] = target_table(dead_letters=1_200)
    halves[Half.SOURCE].tables[TABLE] = source_table(TABLE, letters={"price": 3}, nulls={"note": 1})
    text = text_of(visitor.ask("GET", "/console/p/shop/errors"))
    assert f"{TABLE} 1,200 price 3 note 1" in text
    assert views.letters.asked == []


def test_a_code_has_a_page_as_the_command_line_has_it(visitor: Visitor) -> None:
    text = text_of(visitor.ask("GET", "/console/error/consume.too_many_letters"))
    assert "a batch of topic {topic} would give its table more than {limit} dead letters" in text
    assert "wrackline errors consume.too_many_letters" in text
    for code in ("none", quote(HOSTILE, safe=""), "x" * 3_000):
        missing = visitor.ask("GET", f"/console/error/{code}")
        assert missing.status == 404
        assert "<img src=x" not in missing.html


def test_the_target_is_asked_by_a_button_alone(visitor: Visitor, views: MadeViews) -> None:
    assert "Ask the target lists them" in text_of(visitor.ask("GET", PATH))
    assert views.letters.asked == []
    assert visitor.ask("POST", f"{PATH}/do/look", {}).to == f"{PATH}?table="
    assert views.letters.asked == [("shop", LetterWork(LetterVerb.LOOK), "")]
    text = text_of(visitor.ask("GET", PATH))
    assert f"{TABLE} its value is not what schema id 12 says tail.not_its_schema 2" in text
    assert "shop.public.items its table stops here tail.not_its_schema 1" in text


def test_a_replay_and_a_drop_say_what_came_of_them(visitor: Visitor, views: MadeViews) -> None:
    visitor.ask("POST", f"{PATH}/do/replay", {"table": TABLE})
    assert "Merged 2 letters, 1 stayed." in text_of(visitor.ask("GET", PATH))
    one = "shop.shop.public.orders-0@4"
    asks = text_of(visitor.ask("GET", f"{PATH}?table={TABLE}&drop={quote(one)}"))
    assert f"Drop the letter {one} of {TABLE}?" in asks
    assert "all 2 letters" in text_of(visitor.ask("GET", f"{PATH}?table={TABLE}&drop=all"))
    alone = "shop.public.items"
    assert f"Drop the only letter of {alone}?" in text_of(
        visitor.ask("GET", f"{PATH}?table={alone}&drop=all")
    )
    visitor.ask("POST", f"{PATH}/do/drop", {"table": TABLE, "id": one})
    assert "Dropped 1 letter." in text_of(visitor.ask("GET", PATH))
    assert [work for _, work, _ in views.letters.asked] == [
        LetterWork(LetterVerb.REPLAY, TABLE),
        LetterWork(LetterVerb.DROP, TABLE, frozenset({one})),
    ]


def test_what_is_not_said_exactly_is_not_dropped(visitor: Visitor, views: MadeViews) -> None:
    for verb, form in (("drop", {}), ("drop", {"id": "x"}), ("burn", {"table": TABLE})):
        assert visitor.ask("POST", f"{PATH}/do/{verb}", form).status == 404
    assert visitor.ask("POST", "/console/p/none/letters/do/look", {}).status == 404
    assert views.letters.asked == []
    with pytest.raises(ValueError, match="one by one"):
        LetterWork(LetterVerb.DROP)


def test_work_under_way_is_shown_and_offers_no_more(visitor: Visitor, views: MadeViews) -> None:
    work = LetterWork(LetterVerb.REPLAY, TABLE)
    views.letters.states["shop"] = LetterState(LetterVerb.REPLAY, work, "ann", 0, found(letter(4)))
    page = visitor.ask("GET", PATH)
    assert "merging what can be read by now since" in text_of(page)
    assert "/do/" not in page.html
    error = {"code": "consume.no_target", "sentence": "the pipeline shop has no target", "hint": "name one"}
    views.letters.states["shop"] = LetterState(None, work, "ann", 1, None, error)
    assert "the pipeline shop has no target" in text_of(visitor.ask("GET", PATH))


def test_bytes_are_for_users_with_data_and_buttons_for_operators(tmp_path: Path, views: MadeViews) -> None:
    file = users(tmp_path, vic='role = "viewer"', ben='role = "operator"', ann='role = "viewer"\ndata = true')
    with served(crowd()[0], views, RestSettings(0, users=file)) as door:
        visitors = {name: Visitor(door.port) for name in ("vic", "ben", "ann")}
        for name, one in visitors.items():
            one.log_in(name)
        assert visitors["vic"].press(PATH, f"{PATH}/do/look").status == 403
        assert visitors["ben"].press(PATH, f"{PATH}/do/look").status == 303
        assert views.letters.asked == [("shop", LetterWork(LetterVerb.LOOK), "ben")]
        pages = {name: one.ask("GET", f"{PATH}?table={TABLE}&drop=all") for name, one in visitors.items()}
        assert {name for name, page in pages.items() if SECRET in page.html} == {"ann"}
        assert {name for name, page in pages.items() if "/do/" in page.html} == {"ben"}
        assert all("its value is not what schema id 12 says" in page.html for page in pages.values())


def test_texts_of_others_are_text(visitor: Visitor, views: MadeViews) -> None:
    views.boards["shop"] = hostile()
    odd = {**letter(1, HOSTILE, HOSTILE), "id": HOSTILE, "code": HOSTILE, "value": HOSTILE.encode().hex()}
    views.letters.states["shop"] = LetterState(None, None, HOSTILE, 1, found(odd, merged=1, left=0))
    name = quote(HOSTILE, safe="")
    for path in ("/console/p/shop/errors", PATH, f"{PATH}?table={name}&drop={name}"):
        page = Page(visitor.ask("GET", path).html)
        assert not [one for one in page.elements if one[1].get("src") == "x"], path
        assert "onerror" not in {name for _, attributes in page.elements for name in attributes}


def test_bytes_are_shown_as_what_can_be_printed() -> None:
    assert dump(b"\0\x1babc\xff".hex()) == "··abc·"
    assert dump(bytes(range(65, 105)).hex()).split("\n")[1] == "abcdefgh"
    assert dump(None) == ""
