"""The screen of events: what it shows, who sees it, and that Kafka's silence is an answer too."""

import re
from pathlib import Path
from threading import Event
from urllib.parse import quote

from tests.unit.console import made_events
from tests.unit.console.made import HOSTILE, MadeViews, crowd, served
from tests.unit.console.test_pages import Page
from tests.unit.console.visitor import Answer, Visitor, users
from tests.unit.corpus.worker import working
from wrackline.control.console.events.event_panel import event_panel
from wrackline.control.console.events.events_page import events_page
from wrackline.control.runtime.events.event_looks import EventLook, EventQuestion
from wrackline.control.runtime.events.row_columns import has_key
from wrackline.control.runtime.rest.server.rest_settings import RestSettings

PATH = "/console/p/shop/events?table=shop.public.orders"


def text_of(answer: Answer) -> str:
    return Page(answer.html).text


def test_each_kind_of_event_has_its_word_and_what_differs(visitor: Visitor) -> None:
    text = text_of(visitor.ask("GET", PATH))
    for word in ("read", "insert", "update", "delete", "tombstone", "broken", "truncate"):
        assert word in text
    assert 'status: "new" → "paid"' in text
    assert "note:" not in text, "a column that was not sent has not changed"
    assert "7 events, newest first, of 240 records looked at" in text
    assert "asked Kafka at broker1:9092" in text


def test_the_chosen_event_is_shown_column_by_column(visitor: Visitor) -> None:
    page = text_of(visitor.ask("GET", f"{PATH}&at=0:102"))
    assert re.search(r'status changed "new" "paid"', page)
    assert re.search(r"note not sent . not sent: it did not change", page)
    assert "epoch 3" in page
    assert f"position {27_001_446:016x}" in page
    assert "class an event of the log" in page
    assert "ordinal 2" in page
    assert "value 218 B, schema 12" in page
    assert "header origin" in page
    assert "lsn 27001446" in page


def test_a_long_value_is_cut_and_says_so(visitor: Visitor) -> None:
    page = visitor.ask("GET", f"{PATH}&at=0:103")
    assert "x" * 2_001 not in page.html
    assert "(2,002 characters)" in page.html


def test_a_link_shows_the_same_events_again_when_newer_ones_have_come(
    visitor: Visitor, views: MadeViews
) -> None:
    links = re.findall(r'href="(\?[^"#]+)#event"', visitor.ask("GET", f"{PATH}&op=u&key=id%3D7").html)
    assert len(links) == 7
    visitor.ask("GET", f"/console/p/shop/events{links[0]}".replace("&amp;", "&"))
    assert views.asked[-1] == EventQuestion("shop.public.orders", "0:100", 50, "u", "id=7")


def test_what_is_asked_is_bounded(visitor: Visitor, views: MadeViews) -> None:
    visitor.ask("GET", f"{PATH}&limit=99999&op=evil&from=%20&key=%207%20")
    assert views.asked[-1] == EventQuestion("shop.public.orders", "newest", 500, "", "7")
    visitor.ask("GET", f"{PATH}&limit=-4")
    assert views.asked[-1].most == 1
    assert visitor.ask("GET", f"{PATH}&key={'x' * 2_000}").status == 400


def test_a_kafka_that_does_not_answer_is_named_after_two_seconds(visitor: Visitor, views: MadeViews) -> None:
    held = Event()

    def look() -> EventLook:
        held.wait(60)
        return made_events.some()

    views.look = look
    try:
        answers = [visitor.ask("GET", PATH), visitor.ask("GET", "/connectors/shop/tables/t/events")]
    finally:
        held.set()
    assert "Kafka at broker1:9092 did not answer in 2 s" in text_of(answers[0])
    assert answers[0].status == 409
    assert visitor.ask("GET", "/console/p/shop").status == 200


def test_few_looks_run_at_once(visitor: Visitor, views: MadeViews) -> None:
    held = Event()

    def look() -> EventLook:
        held.wait(60)
        return made_events.some()

    views.look = look
    try:
        for key in range(4):
            visitor.ask("GET", f"{PATH}&key={key}")
        assert "rest.busy" in visitor.ask("GET", f"{PATH}&key=more").html
    finally:
        held.set()


def test_only_a_user_with_data_sees_events(tmp_path: Path, views: MadeViews) -> None:
    file = users(tmp_path, vic='role = "viewer"', adm='role = "admin"', ann='role = "viewer"\ndata = true')
    with served(crowd()[0], views, RestSettings(0, users=file)) as door:
        for name in ("vic", "adm"):
            visitor = Visitor(door.port)
            visitor.log_in(name)
            refused = visitor.ask("GET", PATH)
            assert refused.status == 403
            assert f"{name} may not see values of rows" in text_of(refused)
        assert views.asked == []
        ann = Visitor(door.port)
        ann.log_in("ann")
        assert "129.90" in ann.ask("GET", PATH).html


def test_texts_of_others_are_text(visitor: Visitor, views: MadeViews) -> None:
    """A-CONSOLE-03."""
    views.look = lambda: made_events.hostile(HOSTILE)
    paths = [f"{PATH}&at=0:{offset}" for offset in (1, 2, 3)]
    odd = quote(HOSTILE)
    paths += [f"/console/p/shop/events?table={odd}&from={odd}&key={odd}&op={odd}&at={odd}"]
    for path in paths:
        answer = visitor.ask("GET", path)
        page = Page(answer.html)
        assert answer.status == 200
        assert not [one for one in page.elements if one[1].get("src") == "x"], path
        assert "onerror" not in {name for _, attributes in page.elements for name in attributes}


def test_a_link_can_t_put_a_command_of_its_own_beside_ours(visitor: Visitor) -> None:
    text = text_of(visitor.ask("GET", "/console/p/shop/events?table=" + quote("orders; rm -rf ~")))
    assert "wrackline tail pipeline.toml 'orders; rm -rf ~'" in text


def test_a_pipeline_without_tables_asks_nobody(views: MadeViews) -> None:
    with served(crowd()[0], views) as door:
        answer = Visitor(door.port).ask("GET", "/console/p/new-one/events")
        assert "there is no topic to look at" in text_of(answer)
        assert Visitor(door.port).ask("GET", "/console/p/none/events").status == 404
    assert views.asked == []


def test_a_look_that_finds_nothing_leads_on() -> None:
    look = EventLook(["t"], "b:9092", [], 5_000, "0:5000")
    page = events_page("shop", ["t"], EventQuestion("t", "beginning", key="7"), look)
    assert page.summary == "none of 5,000 records matches"
    assert page.on == "?table=t&from=0%3A5000&limit=50&key=7"
    empty = events_page("shop", ["t"], EventQuestion("t"), EventLook(["t"], "b:9092", [], 0, ""))
    assert (empty.summary, empty.on) == ("there is none", "")


def test_a_key_is_found_as_people_type_it() -> None:
    event = made_events.some().events[0]
    assert [has_key(event, typed) for typed in ("7", "id=7", "8", "id", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert event_panel(event, "").columns[0].name == "id"


def test_rest_gives_the_same_look() -> None:
    with working() as one:
        answer = Visitor(one.port).ask(
            "GET", "/connectors/shop/tables/shop.public.orders/events?limit=5&op=u&from=12"
        )
        assert answer.status == 200
        assert '"next":"0:107"' in answer.html
        assert '"status":"paid"' in answer.html
        for wrong in ("limit=501", "limit=0", "op=x", f"key={'k' * 1_001}"):
            assert Visitor(one.port).ask("GET", f"/connectors/shop/tables/t/events?{wrong}").status == 400
