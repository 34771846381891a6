"""The screen of settings: what differs from its default and where it comes from, and no secret."""

import re
from collections.abc import Mapping

import pytest

from tests.unit.console.made import HOSTILE, MadeViews, busy, crowd, served
from tests.unit.console.test_pages import Page
from tests.unit.console.visitor import Visitor
from tests.unit.control.test_pages import DOCS
from tests.unit.corpus.worker import working
from wrackline.control.console.settings.settings_page import ALL, settings_page
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce, settings_in_force
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

CANARY = "c4n4ry"
GIVEN = {
    "name": "shop",
    "connector.class": "postgres",
    "database.password": "${env:WRACKLINE_DB}",
    "kafka.sasl.password": CANARY,
    "schema.registry.basic.auth.user.info": f"{CANARY}:${{env:WRACKLINE_DB}}",
    "kafka.bootstrap.servers": "broker1:9092",
    "max.batch.size": "7",
    "no.such.setting": CANARY,
    f"column.mask.hash.SHA-256.with.salt.{CANARY}": "public.orders.mail",
}


def in_force(**more: str) -> Mapping[str, SettingInForce]:
    given = {**GIVEN, **more}
    checked = check(given, Installed(), Resolver(Allowed(), {"WRACKLINE_DB": "made"}))
    return {one.name: one for one in settings_in_force(checked, given.keys() - {"kafka.bootstrap.servers"})}


def test_each_setting_has_its_value_and_where_it_comes_from() -> None:
    found = in_force()
    assert found["database.password"].value == "${env:WRACKLINE_DB}", "a reference is a name"
    assert found["kafka.sasl.password"].value == "***"
    assert CANARY not in repr(found.values())
    origins = {name: found[name].origin.value for name in ("name", "kafka.bootstrap.servers", "logs.topic")}
    assert origins == {"name": "pipeline", "kafka.bootstrap.servers": "group", "logs.topic": "default"}
    assert found["logs.topic"].value == found["logs.topic"].default
    assert not found["logs.topic"].changed
    assert not in_force(**{"logs.topic": found["logs.topic"].default or ""})["logs.topic"].changed
    assert found["no.such.setting"].doc == "There is no such setting."
    assert found["max.batch.size"].doc.startswith("It has no effect here: ")


@pytest.mark.parametrize(
    "text", [f"${{env:{CANARY}}}", f"${{secure({CANARY})", f"${{{CANARY}:x}}", "${env:}"]
)
def test_what_only_looks_like_a_reference_is_not_shown(text: str) -> None:
    assert in_force(**{"database.password": text})["database.password"].value == "***"


def test_the_page_shows_what_differs_and_all_on_demand(visitor: Visitor) -> None:
    answer = visitor.ask("GET", "/console/p/shop/settings")
    text = Page(answer.html).text
    assert "${env:WRACKLINE_DB}" in text
    assert re.search(r"kafka\.bootstrap\.servers .*? broker1:9092 the group's file|broker1:9092 the", text)
    assert "logs.topic" not in text
    assert "wrackline worker pipeline.toml --rest-port 8083" in text, "the console would be gone without it"
    assert "wrackline delete pipeline.toml --topics --tables --dry-run" in text
    assert "GET /connectors/shop/settings" in text
    every = Page(visitor.ask("GET", "/console/p/shop/settings?show=all&q=logs.topic").html).text
    assert "logs.topic" in every
    assert "database.password" not in every
    assert "No setting matches" in visitor.ask("GET", "/console/p/shop/settings?q=zzz").html
    assert visitor.ask("GET", f"/console/p/shop/settings?q={'x' * 201}").status == 400
    assert visitor.ask("GET", "/console/p/shop/settings?show=%3Cimg%3E").status == 200
    assert visitor.ask("GET", "/console/p/none/settings").status == 404


def test_in_a_group_the_page_names_what_changes_a_setting_by_rest() -> None:
    crew, views = crowd()
    crew.group = [GroupMember(crew.worker, 64, 0, "1")]
    with served(crew, views) as door:
        text = Page(Visitor(door.port).ask("GET", "/console/p/shop/settings").html).text
    assert "PATCH /connectors/shop/config" in text
    assert "holds its source's log DELETE /connectors/shop" in text
    assert "wrackline apply pipeline.toml" in text
    assert "REST" in text


def test_values_of_others_are_text_and_all_settings_fit_into_a_page() -> None:
    crew, _ = crowd()
    crew.given = {**crew.given, HOSTILE: HOSTILE, "column.exclude.list": HOSTILE}
    with served(crew, MadeViews({"shop": busy(3)})) as door:
        html = Visitor(door.port).ask("GET", "/console/p/shop/settings?show=all").html
    page = Page(html)
    assert not [one for one in page.elements if one[1].get("src") == "x"]
    assert "onerror" not in {name for _, attributes in page.elements for name in attributes}
    assert len(html) < 250_000


def test_every_setting_of_the_reference_is_on_the_page() -> None:
    page = settings_page("shop", list(in_force().values()), ALL, grouped=False)
    names = {row.name for _, rows in page.groups for row in rows}
    common = (DOCS / "settings.md").read_text().partition("## Every pipeline")[2].partition("\n### Known")[0]
    listed = set(re.findall(r"^\| `([^`<]+)` \|", common, re.MULTILINE))
    assert len(listed) > 50
    assert listed <= names


def test_rest_has_the_same() -> None:
    with working() as one:
        answer = Visitor(one.port).ask("GET", "/connectors/shop/settings")
        assert answer.status == 200
        assert '"origin":"pipeline"' in answer.html
        assert CANARY not in answer.html
        assert Visitor(one.port).ask("GET", "/connectors/none/settings").status == 404
