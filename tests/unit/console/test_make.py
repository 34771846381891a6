"""A pipeline is made in the console: each step is stored only if it is good, and nobody's text is lost."""

import re
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.fakes.drafts import ANSWERS
from tests.unit.console.made import HOSTILE, MadeCrew, crowd, served
from wrackline.control.console.make.start_page import start_page
from wrackline.control.console.make.step_fields import OTHERS, SOURCE, TARGET, read_step, show_step
from wrackline.control.console.make.table_picker import chosen_columns, chosen_tables
from wrackline.control.plane.known_settings import registry_of
from wrackline.control.runtime.rest.routes.answer_cache import STILL
from wrackline.control.runtime.rest.server.endpoint import RestEndpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK

SECRET = "hunter2-of-the-database"
SOURCE_FIELDS = {
    "set:database.hostname": "db.internal",
    "set:database.user": "wrackline",
    "set:database.password": "${env:WRACKLINE_DB}",
    "set:database.dbname": "shop",
    "set:topic.prefix": "shop2",
    "set:kafka.bootstrap.servers": "broker1:9092",
    "set:schema.registry.url": "http://registry:8081",
}
SEVERITIES = ("ERROR", "WARNING")
REGISTRY = registry_of("postgres", "iceberg")


class Browser:
    """Sends forms, and remembers where it was led."""

    def __init__(self, door: RestEndpoint) -> None:
        self._door = door

    def ask(self, method: str, path: str, fields: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Return the status, where it leads, and the page."""
        connection = HTTPConnection(LOOPBACK, self._door.port, timeout=30)
        try:
            headers = {"Content-Type": "application/x-www-form-urlencoded"} if fields is not None else {}
            connection.request(method, f"/console{path}", urlencode(fields or {}), headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("location") or "", answer.read().decode()
        finally:
            connection.close()

    def tag(self, step: str = "step/source") -> str:
        """Return the tag that a page of the draft carries."""
        page = self.ask("GET", f"/draft/shop2/{step}")[2]
        return page.partition('name="tag" value="')[2].partition('"')[0]


@pytest.fixture
def crew() -> MadeCrew:
    return crowd()[0]


@pytest.fixture
def browser(crew: MadeCrew) -> Iterator[Browser]:
    with served(crew, crowd()[1]) as door:
        made = Browser(door)
        begun = made.ask("POST", "/new", {"name": "shop2", "kind": "postgres"})
        assert begun[:2] == (303, "/console/draft/shop2/step/source")
        yield made


def test_a_pipeline_is_made_in_four_steps(browser: Browser) -> None:
    saved = browser.ask("POST", "/draft/shop2/step/source", {**SOURCE_FIELDS, "tag": browser.tag()})
    assert saved[:2] == (303, "/console/draft/shop2/tables")
    tables = browser.ask("GET", "/draft/shop2/tables")[2]
    assert "public.orders" in tables
    assert "partial" in tables
    picked = {"pick:public/items": "on", "patterns": "public.orders", "tag": browser.tag(), "next": "yes"}
    assert browser.ask("POST", "/draft/shop2/tables", picked)[1] == "/console/draft/shop2/step/target"
    kind = {"target.kind": "iceberg", "tag": browser.tag()}
    assert browser.ask("POST", "/draft/shop2/step/target", kind)[1] == "/console/draft/shop2/step/target"
    where = {**kind, "tag": browser.tag(), "set:target.warehouse": "/data/lake"}
    assert browser.ask("POST", "/draft/shop2/step/target", where)[1] == "/console/draft/shop2/start"
    page = browser.ask("GET", "/draft/shop2/start")[2]
    assert "public.orders" in page
    assert "/data/lake" in page
    assert "wrackline_unicode" in page, "its tables keep apart whatever they are called"
    assert "${env:WRACKLINE_DB}" in page
    assert "ready" in browser.ask("POST", "/draft/shop2/assess", {})[2]
    status, _, made = browser.ask("POST", "/draft/shop2/deploy", {"tag": browser.tag()})
    assert status == 200
    assert "wrackline worker" in made
    assert browser.ask("GET", "/draft/shop2/start")[0] == 409


def test_a_step_with_a_fault_is_not_stored_and_shows_what_was_typed(browser: Browser) -> None:
    wrong = {**SOURCE_FIELDS, "set:database.port": "many", "tag": browser.tag()}
    status, _, page = browser.ask("POST", "/draft/shop2/step/source", wrong)
    assert status == 400
    assert "expected a whole number" in page
    assert "db.internal" in page
    assert "db.internal" not in browser.ask("GET", "/draft/shop2/step/source")[2]


def test_a_step_is_not_stored_while_a_value_is_missing(browser: Browser) -> None:
    lacks = {**SOURCE_FIELDS, "set:database.user": " ", "tag": browser.tag()}
    status, _, page = browser.ask("POST", "/draft/shop2/step/source", lacks)
    assert (status, page.count("a value is needed here")) == (400, 1)
    assert "db.internal" in page
    assert "db.internal" not in browser.ask("GET", "/draft/shop2/step/source")[2]


def test_what_the_group_gives_is_not_required() -> None:
    form = show_step(SOURCE, {}, registry_of("postgres", ""), {}, frozenset({"database.user"}))
    fields = {one.name: (one.required, one.of_group) for one in form.first}
    assert fields["database.user"] == (True, False)
    assert fields["kafka.bootstrap.servers"] == (False, True)


def test_a_typed_password_is_refused_and_shown_nowhere(browser: Browser) -> None:
    typed = {**SOURCE_FIELDS, "set:database.password": SECRET, "tag": browser.tag()}
    status, _, page = browser.ask("POST", "/draft/shop2/step/source", typed)
    assert status == 400
    assert "${secure(" in page
    assert SECRET not in page.partition("The pipeline&#39;s file")[2]
    assert SECRET not in browser.ask("GET", "/draft/shop2/step/source")[2]
    assert SECRET not in browser.ask("GET", "/draft/shop2/start")[2]


def test_of_two_editors_the_later_one_is_shown_both_texts(browser: Browser) -> None:
    tag = browser.tag()
    assert browser.ask("POST", "/draft/shop2/step/source", {**SOURCE_FIELDS, "tag": tag})[0] == 303
    mine = {**SOURCE_FIELDS, "set:database.hostname": "other.internal", "tag": tag}
    status, _, page = browser.ask("POST", "/draft/shop2/step/source", mine)
    assert status == 412
    assert "db.internal" in page
    assert "other.internal" in page
    again = {**mine, "tag": page.partition('name="tag" value="')[2].partition('"')[0]}
    assert browser.ask("POST", "/draft/shop2/step/source", again)[0] == 303


def test_a_source_that_cannot_be_asked_is_an_error_on_the_page(browser: Browser, crew: MadeCrew) -> None:
    assert crew.answers is not None
    refused = {"code": "pg.refused", "kind": "Transient", "sentence": "nobody listens", "hint": "start it"}
    crew.answers.answers["list_tables"] = {"error": refused}
    status, _, page = browser.ask("GET", "/draft/shop2/tables")
    assert status == 200
    assert "nobody listens" in page
    assert "Save and continue" in page


def test_names_of_others_are_text(browser: Browser, crew: MadeCrew) -> None:
    assert crew.answers is not None
    [orders, *_] = ANSWERS["list_tables"]
    crew.answers.answers["list_tables"] = [{**orders, "table": HOSTILE, "selected": False}]
    column: dict[str, Any] = {
        "sourceName": HOSTILE, "sourceType": HOSTILE, "kind": None, "targetName": "", "targetType": "",
        "support": "NO", "loss": HOSTILE, "transforms": [], "suggestion": {"message": HOSTILE},
    }  # fmt: skip
    crew.answers.answers["assess_table"] = {**ANSWERS["assess_table"], "columns": [column]}
    finding = {
        "id": "x", "name": HOSTILE, "description": HOSTILE, "suggestion": HOSTILE, "impact": HOSTILE,
        "severity": "WARNING", "table": HOSTILE, "column": None, "connects": False,
    }  # fmt: skip
    crew.answers.answers["assess_draft"] = {**ANSWERS["assess_draft"], "findings": [finding]}
    for method, path in (
        ("GET", "/draft/shop2/tables"),
        ("GET", f"/draft/shop2/columns?{urlencode({'schema': 'public', 'table': HOSTILE})}"),
        ("POST", "/draft/shop2/assess"),
    ):
        page = browser.ask(method, path, {} if method == "POST" else None)[2]
        assert "&lt;img" in page, path
        assert "<img src=x" not in page, path


def test_a_warning_has_to_be_confirmed(browser: Browser, crew: MadeCrew) -> None:
    assert crew.answers is not None
    for step, fields in (
        ("step/source", SOURCE_FIELDS),
        ("step/target", {"target.kind": "iceberg", "set:target.warehouse": "/data/lake"}),
    ):
        browser.ask("POST", f"/draft/shop2/{step}", {**fields, "tag": browser.tag()})
    warning = {
        "id": "pg.slot_keep_unlimited", "name": "no limit", "description": "d", "suggestion": "s",
        "impact": "i", "severity": "WARNING", "table": None, "column": None, "connects": False,
    }  # fmt: skip
    crew.answers.answers["assess_draft"] = {**ANSWERS["assess_draft"], "findings": [warning]}
    status, _, page = browser.ask("POST", "/draft/shop2/deploy", {"tag": browser.tag()})
    assert status == 409
    assert "nobody has confirmed" in page
    knows = {"tag": browser.tag(), "accept:pg.slot_keep_unlimited": "on"}
    assert browser.ask("POST", "/draft/shop2/deploy", knows)[0] == 200


def test_a_step_has_its_own_settings_and_no_others() -> None:
    source, target = (show_step(step, {}, REGISTRY, {}, frozenset()) for step in (SOURCE, TARGET))
    names = {one.name for one in source.first}
    assert {"database.hostname", "database.password", "kafka.bootstrap.servers"} <= names
    assert [one.name for one in target.first if one.required] == ["target.warehouse"]
    assert not any(one.name.startswith("target.") for one in source.first)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            "database.hostnme = x",
            "line 1: there is no setting database.hostnme; did you mean database.hostname?",
        ),
        ("\nheartbeat.interval.ms", "line 2: expected a name, = and a value"),
        ("target.mode = upsert", "line 1: target.mode is set in the step Target"),
        ("name = x", "line 1: name is set in the step Source"),
        ("heartbeat.interval.ms = much", "line 1: expected a whole number, without unit or spaces"),
    ],
)
def test_a_line_of_another_setting_is_checked(lines: str, told: str) -> None:
    sent = read_step(SOURCE, {OTHERS: lines}, {"name": "shop"}, REGISTRY)
    assert sent.faults == {OTHERS: told}


def test_what_another_step_has_set_stays() -> None:
    before = {
        "name": "shop",
        "target.warehouse": "/lake",
        "guardrail.collections.max": "9",
        "database.user": "u",
    }
    sent = read_step(SOURCE, {"set:database.user": "", OTHERS: ""}, before, REGISTRY)
    assert sent.settings == {"name": "shop", "target.warehouse": "/lake"}


def test_chosen_tables_join_the_patterns_and_a_dot_in_a_name_stays_its_own() -> None:
    sent = {"patterns": "public.orders_.*\n\n", "pick:public/a.b": "on", "pick:public/items": "on"}
    assert chosen_tables(sent) == "public.orders_.*,public.a[.]b,public.items"
    assert chosen_tables({"patterns": " "}) == ""


def test_choices_for_columns_change_only_their_own_patterns() -> None:
    before = {"column.exclude.list": "public.orders.note,public.other.x"}
    made = chosen_columns({"column:note": "text", "column:id": ""}, "public", "orders", before)
    assert made == {"column.exclude.list": "public.other.x", "column.as.text": "public.orders.note"}


def test_errors_stand_before_warnings_and_only_warnings_are_confirmed() -> None:
    def finding(id_: str, severity: str) -> dict[str, Any]:
        rest = {"name": "", "description": "", "impact": "", "suggestion": "", "table": None, "column": None}
        return {"id": id_, "severity": severity, **rest}

    found = {
        "findings": [finding("a", "INFO"), finding("b", "WARNING"), *map(finding, "cd", SEVERITIES)],
        "accepted": [{"id": "d"}], "tables": [], "forecast": {}, "trials": [],
    }  # fmt: skip
    page = start_page(found)
    assert [one.id for one in page.findings] == ["c", "b", "d", "a"]
    assert [one.field for one in page.findings] == ["", "accept:b", "", ""]
    assert (page.errors, page.warnings) == (1, 1)
    assert page.tables == "0 tables"
    assert start_page({**found, "tables": [{}]}).tables == "1 table"


def test_an_assessment_asks_again_because_something_may_have_been_mended(
    browser: Browser, crew: MadeCrew
) -> None:
    assert crew.answers is not None
    for _ in range(2):
        assert browser.ask("POST", "/draft/shop2/assess", {})[0] == 200
    asked = [name for name, *_ in crew.answers.asked if name == "assess_draft"]
    assert len(asked) == 2


def test_servers_that_have_not_answered_yet_are_asked_again_and_that_is_no_error(
    browser: Browser, crew: MadeCrew
) -> None:
    assert crew.answers is not None
    crew.answers.answers["assess_draft"] = {"error": STILL(seconds=20).document()}
    page = browser.ask("POST", "/draft/shop2/assess", {"probe": "on"})[2]
    assert "The servers are still being asked." in page
    assert 'data-again-ms="3000"' in page
    assert 'name="probe" checked' in page, "the same question is asked again"
    assert STILL.code not in page


def test_a_columns_choice_is_stored_for_the_user_who_made_it(browser: Browser) -> None:
    at = f"/draft/shop2/columns?{urlencode({'schema': 'public', 'table': 'orders'})}"
    led = browser.ask("POST", at, {"tag": browser.tag(), "column:note": "out"})
    assert led[:2] == (303, "/console/draft/shop2/tables")
    assert "public.orders.note" in browser.ask("GET", "/draft/shop2/step/source")[2]
    assert browser.ask("POST", at, {"tag": "old", "column:note": ""})[0] == 409


def test_each_source_is_offered_by_the_name_that_people_know(browser: Browser) -> None:
    page = browser.ask("GET", "/new")[2]
    assert "<b>SQL Server</b>" in page
    assert re.findall(r"<b>[a-z]+</b>", page) == []
