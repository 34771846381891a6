"""The console's log-in: who comes in, for how long, and what another's page, cookie or form can't do."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.middleware import Middleware

from tests.fakes.group import FakeGroup
from tests.unit.console.made import HOSTILE, MadeCrew, MadeViews, crowd, served
from tests.unit.console.visitor import Visitor, users
from tests.unit.control.rest_users import PASSWORD, written
from wrackline.control.console.access.page_route import TOKEN_FIELD
from wrackline.control.runtime.rest.access.failed_logins import FAILURES
from wrackline.control.runtime.rest.access.passwords import hash_password
from wrackline.control.runtime.rest.access.roles import ROLES, Role
from wrackline.control.runtime.rest.access.sessions import IDLE_S, LONGEST_S, Sessions
from wrackline.control.runtime.rest.access.users_file import User, UsersFile
from wrackline.control.runtime.rest.server.forward import Forward
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.producers.connect.restart_policy import DesiredState

COOKIE = "wrackline_session"


class Known(dict[str, str]):
    """Parts of addresses; one that has no value here stays as it is."""

    def __init__(self) -> None:
        super().__init__(name="shop", table="shop.public.orders", verb="pause")

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


@pytest.fixture
def made() -> tuple[MadeCrew, MadeViews]:
    return crowd()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return users(tmp_path, ann='role = "admin"\ndata = true', vic='role = "viewer"')


@pytest.fixture
def port(made: tuple[MadeCrew, MadeViews], file: Path) -> Iterator[int]:
    with served(*made, RestSettings(0, users=file)) as door:
        yield door.port


@pytest.fixture
def ann(port: int) -> Visitor:
    visitor = Visitor(port)
    visitor.log_in("ann")
    return visitor


def test_a_page_leads_a_stranger_to_the_login_and_back(port: int) -> None:
    visitor = Visitor(port)
    sent = visitor.ask("GET", "/console/p/shop?q=a%26b")
    assert (sent.status, sent.to) == (303, "/console/login?next=%2Fconsole%2Fp%2Fshop%3Fq%3Da%2526b")
    page = visitor.ask("GET", sent.to)
    assert page.status == 200
    assert "db-host-1" not in page.html, "a stranger hears no name of a machine"
    back = visitor.fields(sent.to)["next"]
    let_in = visitor.ask("POST", "/console/login", {"name": "ann", "password": PASSWORD, "next": back})
    assert (let_in.status, let_in.to) == (303, "/console/p/shop?q=a%26b")
    assert visitor.ask("GET", let_in.to).status == 200


def test_an_address_of_no_page_leads_a_stranger_to_the_login_and_others_to_a_page(port: int) -> None:
    visitor = Visitor(port)
    sent = visitor.ask("GET", "/console/p/shop/nothing")
    assert (sent.status, sent.to) == (303, "/console/login?next=%2Fconsole%2Fp%2Fshop%2Fnothing")
    visitor.log_in("vic")
    page = visitor.ask("GET", "/console/p/shop/nothing")
    assert (page.status, "There is no page at this address." in page.html) == (404, True)


def test_programs_log_in_as_before(port: int) -> None:
    basic = {"Authorization": "Basic YW5uOndyb25n"}
    assert Visitor(port).ask("GET", "/console/", headers=basic).status == 401
    refused = Visitor(port).ask("GET", "/connectors")
    assert refused.status == 401
    assert "www-authenticate" in refused.headers


def test_the_page_does_not_say_which_of_the_two_was_wrong(port: int) -> None:
    answers = [Visitor(port).log_in(name, password) for name, password in (
        ("ann", "wrong"), ("nobody", PASSWORD), ("", ""), ("x" * 9000, "y"), ("ann", "\0"),
        (HOSTILE, "x"))]  # fmt: skip
    for answer in answers:
        assert answer.status == 401
        assert "the name or the password is not right" in answer.html
        assert "set-cookie" not in answer.headers
        assert "Basic" not in answer.headers["www-authenticate"], (
            "or the browser would ask with a window of its own"
        )
        assert "<img src=x" not in answer.html


def test_who_fails_too_often_waits_at_this_door_too(port: int) -> None:
    visitor = Visitor(port)
    for _ in range(FAILURES):
        assert visitor.log_in("ann", "wrong").status == 401
    assert visitor.log_in("ann").status == 429
    assert Visitor(port).log_in("vic").status == 303, "others are let in"


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example", "/\\evil.example", "/console/\r\nx: y", "/connectors",
             "/console/login", "/console//\\x", ""])  # fmt: skip
def test_a_login_leads_to_no_other_site(port: int, back: str) -> None:
    sent = Visitor(port).ask("POST", "/console/login", {"name": "vic", "password": PASSWORD, "next": back})
    assert (sent.status, sent.to) == (303, "/console/")


def test_the_cookie_is_for_no_script_and_no_other_site(port: int) -> None:
    """A-CONSOLE-05."""
    said = Visitor(port).log_in("ann").headers["set-cookie"]
    assert said.startswith(f"{COOKIE}=ann:")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(said.split("; "))
    over_tls = Sessions(lambda: b"s", secure=True).begin(User("ann", Role.ADMIN, "p"))
    assert over_tls.startswith("__Host-wrackline=")
    assert over_tls.endswith("; Secure")
    assert "Domain" not in over_tls


def test_a_new_password_ends_the_sessions_of_that_user(ann: Visitor, port: int, file: Path) -> None:
    vic = Visitor(port)
    vic.log_in("vic")
    stolen = Visitor(port, dict(ann.cookies))
    assert stolen.ask("GET", "/console/").status == 200
    written_anew = file.read_text().split("[users.vic]")
    new = re.sub(r'password = "[^"]+"', f'password = "{hash_password("another good one")}"', written_anew[0])
    file.write_text("[users.vic]".join([new, written_anew[1]]))
    assert stolen.ask("GET", "/console/").status == 303
    assert vic.ask("GET", "/console/").status == 200


def test_a_role_that_was_taken_away_is_gone_at_once(
    ann: Visitor, made: tuple[MadeCrew, MadeViews], file: Path
) -> None:
    fields = ann.fields("/console/p/shop")
    file.write_text(file.read_text().replace('"admin"', '"viewer"'))
    assert ann.ask("POST", "/console/p/shop/do/pause", fields).status == 303
    assert made[0].wished == []


def test_a_cookie_that_was_changed_counts_for_nobody(ann: Visitor, port: int) -> None:
    good = ann.cookies[COOKIE]
    name, rest = good.split(":", 1)
    assert Visitor(port, {COOKIE: good}).ask("GET", "/console/").status == 200
    for bad in (f"vic:{rest}", f"{name}:{rest[:-1]}0", f"{name}:{rest}0", "ann", "",
                good.replace(":1", ":2", 1), good.upper(), f'"{good}', "ann:::::"):  # fmt: skip
        if bad != good:
            assert Visitor(port, {COOKIE: bad}).ask("GET", "/console/").status == 303, bad


@pytest.mark.parametrize("other", ['{"a":1}', "a b=c", "[1]", "", "\xe9"])
def test_cookies_of_other_programs_on_this_host_keep_nobody_out(ann: Visitor, port: int, other: str) -> None:
    for cookies in ({"prefs": other, **ann.cookies}, {other: "1", **ann.cookies}):
        assert Visitor(port, cookies).ask("GET", "/console/").status == 200, cookies


def test_a_session_ends_after_twelve_hours_and_after_an_idle_one(tmp_path: Path) -> None:
    clock = [1_000_000.0]
    known = UsersFile(written(tmp_path)).current()
    sessions = Sessions(lambda: b"secret", secure=False, now=lambda: clock[0])

    def sent(header: str) -> str:
        return header.partition(";")[0]

    cookie = sent(sessions.begin(known.named["ann"]))
    clock[0] += IDLE_S - 1
    session = sessions.read(cookie, known)
    assert session is not None
    renewed = sessions.renewed(session)
    assert renewed is not None
    clock[0] += 2
    assert sessions.read(cookie, known) is None, "idle"
    cookie = sent(renewed)
    while (session := sessions.read(cookie, known)) is not None:
        clock[0] += IDLE_S / 2
        cookie = sent(sessions.renewed(session) or "")
    assert clock[0] == pytest.approx(1_000_000 + LONGEST_S, abs=IDLE_S)
    other = Sessions(lambda: b"another secret", secure=False, now=lambda: 1_000_000.0)
    assert other.read(sent(sessions.begin(known.named["ann"])), known) is None


def test_a_user_without_a_password_has_no_session(tmp_path: Path) -> None:
    """Else who knows the group's secret could make one."""
    known = UsersFile(written(tmp_path)).current()
    sessions = Sessions(lambda: b"secret", secure=False)
    assert sessions.read(sessions.begin(known.named["viewer"]).partition(";")[0], known) is None


def test_a_page_that_renews_itself_does_not_keep_its_session(
    ann: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wrackline.control.runtime.rest.access.sessions._RENEW_S", 0)
    assert "set-cookie" not in ann.ask("GET", "/console/", headers={"HX-Request": "true"}).headers
    assert ann.ask("GET", "/console/").headers["set-cookie"].startswith(f"{COOKIE}=ann:")


def test_after_a_logout_neither_the_cookie_nor_an_open_page_is_good(
    ann: Visitor, port: int, made: tuple[MadeCrew, MadeViews]
) -> None:
    stolen, open_form = Visitor(port, dict(ann.cookies)), ann.fields("/console/p/shop")
    assert ann.press("/console/", "/console/logout").to == "/console/login"
    assert ann.cookies == {}
    assert ann.ask("GET", "/console/").status == 303
    assert stolen.ask("GET", "/console/").status == 303
    assert ann.ask("POST", "/console/p/shop/do/pause", open_form).to == "/console/login"
    ann.log_in("ann")
    refused = ann.ask("POST", "/console/p/shop/do/pause", open_form)
    assert refused.status == 403
    assert "console.stale_form" in refused.html
    assert made[0].wished == []
    assert ann.press("/console/p/shop", "/console/p/shop/do/pause").status == 303
    assert len(made[0].wished) == 1


@pytest.mark.parametrize("form", [{}, {TOKEN_FIELD: ""}, {TOKEN_FIELD: "0" * 64}, {TOKEN_FIELD: "ä"}])
def test_a_form_without_the_token_of_its_session_does_nothing(
    ann: Visitor, made: tuple[MadeCrew, MadeViews], form: dict[str, str]
) -> None:
    """A-CONSOLE-06."""
    for action in ("/console/p/shop/do/stop", "/console/logout"):
        assert ann.ask("POST", action, form).status == 403
    assert ann.ask("POST", "/console/p/shop/do/stop").status == 403
    assert made[0].wished == []
    assert ann.ask("GET", "/console/").status == 200, "still logged in"


@pytest.mark.parametrize("route", [one for one in ROLES if one.startswith("POST /console/p/")])
def test_no_action_is_taken_without_the_token(
    ann: Visitor, made: tuple[MadeCrew, MadeViews], route: str
) -> None:
    path = re.sub(r"\{\w+\}", "pause", route.removeprefix("POST ").format_map(Known()))
    refused = ann.ask("POST", path, {})
    assert (refused.status, "console.stale_form" in refused.html) == (403, True)
    assert made[0].wished == []
    assert made[1].wished == []


def test_a_page_of_another_site_can_neither_act_nor_show_ours(
    ann: Visitor, made: tuple[MadeCrew, MadeViews]
) -> None:
    """A-CONSOLE-08."""
    fields = ann.fields("/console/p/shop")
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        for action in ("/console/p/shop/do/stop", "/console/logout", "/console/login"):
            assert ann.ask("POST", action, fields, {"Origin": origin}).status == 403
    assert made[0].wished == []
    for path in ("/console/", "/console/login", "/console/p/shop"):
        policy = ann.ask("GET", path).headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy


def test_a_viewer_sees_no_button_that_would_be_refused(port: int, made: tuple[MadeCrew, MadeViews]) -> None:
    vic, ann = Visitor(port), Visitor(port)
    vic.log_in("vic")
    ann.log_in("ann")
    for path, buttons in (
        ("/console/p/shop", 5),
        ("/console/p/shop/t/shop.public.orders", 1),
        ("/console/", 3),
        ("/console/p/shop/snapshot", 2),
    ):
        assert len(re.findall(r"/do/", ann.ask("GET", path).html)) == buttons
        assert "/do/" not in vic.ask("GET", path).html
    refused = vic.press("/console/p/shop", "/console/p/shop/do/pause")
    assert refused.status == 403
    assert "vic may not do this: it takes the role operator" in refused.html
    assert "<main" in refused.html, "a page, not a document for programs"
    assert made[0].wished == []


def test_the_cookie_of_a_page_opens_nothing_of_rest(ann: Visitor) -> None:
    """A page of another site can't read REST's answers, and must not be able to ask in somebody's name."""
    for method, path in (("GET", "/connectors"), ("PUT", "/connectors/shop/pause")):
        assert ann.ask(method, path).status == 401


def test_any_worker_of_a_group_accepts_a_session_and_passes_it_on(
    made: tuple[MadeCrew, MadeViews], file: Path
) -> None:
    settings, group = RestSettings(0, users=file), FakeGroup()
    with served(*made, settings, shared=group) as coordinator:
        hop = Middleware(Forward, elsewhere=lambda: coordinator.url, tls=None)
        with served(*crowd(), settings, within=[hop], shared=group) as other:
            ann = Visitor(other.port)
            ann.log_in("ann")
            assert Visitor(coordinator.port, dict(ann.cookies)).ask("GET", "/console/").status == 200
            assert ann.press("/console/p/shop", "/console/p/shop/do/pause").to == "/console/p/shop"
            assert made[0].wished == [("shop", DesiredState.PAUSE)]
            stolen = Visitor(coordinator.port, dict(ann.cookies))
            again = Visitor(coordinator.port)
            again.log_in("ann")
            ann.press("/console/", "/console/logout")
            assert stolen.ask("GET", "/console/").status == 303, "a log-out ends it on every worker"
            assert again.ask("GET", "/console/").status == 200, "and no other session of that user"
            ann.log_in("ann")
    with served(*made, settings) as alone:
        assert Visitor(alone.port, dict(ann.cookies)).ask("GET", "/console/").status == 303


def test_every_form_of_every_page_carries_the_token() -> None:
    templates = Path(__file__).parents[3] / "control/console/templates"
    forms = {
        f"{file.name}: {form[:80]}"
        for file in templates.rglob("*.html")
        for form in re.findall(r'<form method="post".*?</form>', file.read_text(), re.DOTALL)
        if "{{ token }}" not in form and "/console/login" not in form
    }
    assert not forms, "write {{ token }} behind <form …>"


def test_without_users_nobody_is_asked(made: tuple[MadeCrew, MadeViews]) -> None:
    with served(*made) as door:
        visitor = Visitor(door.port)
        assert visitor.ask("GET", "/console/login").to == "/console/"
        assert visitor.log_in("ann").to == "/console/"
        assert visitor.cookies == {}
        assert "Log out" not in visitor.ask("GET", "/console/").html
