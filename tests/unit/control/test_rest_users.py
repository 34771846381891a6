"""Who may log in: the file, its rights, what is wrong with it, and what is kept of passwords and tokens."""

from datetime import date
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from tests.unit.control.rest_users import PASSWORD, TOKENS, kept, private, written
from wrackline.control.runtime.rest.access import passwords
from wrackline.control.runtime.rest.access.failed_logins import FAILURES, SECONDS, FailedLogins
from wrackline.control.runtime.rest.access.login import Credentials, read_credentials
from wrackline.control.runtime.rest.access.roles import Role
from wrackline.control.runtime.rest.access.users_file import UsersFile, parse
from wrackline.schemas.errors import OperatorNeeded

CANARY = "c4n4ry"
DIGEST = passwords.digest("x")
ANN = f'[users.ann]\nrole = "admin"\ntokens = [{{ sha256 = "{DIGEST}" }}]\n'


def test_a_password_is_known_by_what_is_kept_and_is_not_in_it() -> None:
    """A-LOGIN-03."""
    assert passwords.is_hashed_password(kept())
    assert passwords.is_password(PASSWORD, kept())
    assert not passwords.is_password(PASSWORD + " ", kept())
    assert PASSWORD not in kept()
    assert passwords.hash_password(PASSWORD) != kept(), "each has a salt of its own"


def test_nobodys_password_is_tried_like_any_other_and_is_none() -> None:
    assert passwords.is_hashed_password(passwords.NOBODYS)
    assert not passwords.is_password("", passwords.NOBODYS)


def test_a_token_is_chance_and_only_its_digest_is_kept() -> None:
    """A-LOGIN-08."""
    one, other = passwords.new_token(), passwords.new_token()
    assert one != other
    assert len(one) >= len("wrackline_") + 43, "256 bits"
    assert passwords.is_digest(passwords.digest(one))
    assert one not in passwords.digest(one)


def test_the_file_gives_each_user_a_role(tmp_path: Path) -> None:
    users = UsersFile(written(tmp_path)).current()
    assert {name: user.role.name.lower() for name, user in users.named.items()} == {
        **{role: role for role in TOKENS},
        "ann": "admin",
    }
    assert users.tokens[passwords.digest(TOKENS["viewer"])].user.role is Role.VIEWER
    assert kept() not in repr(users), "what is kept is shown nowhere"


def test_a_token_may_have_a_last_day() -> None:
    until = ANN.replace(" }]", ", until = 2027-01-31 }]")
    assert parse(Path("u"), until.encode()).tokens[DIGEST].until == date(2027, 1, 31)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[users",
        f'password = "{CANARY}"',
        "[users]",
        'users = "ann"',
        f"{ANN}\n[more]\n",
        '[users.ann]\nrole = "admin"',
        '[users."a:b"]\nrole = "admin"',
        '[users."a\\nb"]\nrole = "admin"',
        "[users]\nann = 1",
        ANN.replace('"admin"', '"root"'),
        ANN.replace('"admin"', '"open"'),
        ANN.replace('"admin"', '["admin"]'),
        ANN.replace('role = "admin"', ""),
        ANN + 'rôle = "viewer"',
        ANN + f'"{CANARY}" = 1',
        ANN + f'password = "{CANARY}"',
        ANN + "password = 1",
        ANN.replace(DIGEST, CANARY),
        ANN.replace(DIGEST, DIGEST.upper()),
        ANN.replace(" }]", f', name = "{CANARY}" }}]'),
        ANN.replace(" }]", ', until = "2027-01-31" }]'),
        ANN.replace(" }]", ", until = 2027-01-31T00:00:00Z }]"),
        ANN.replace("tokens = [", "tokens = [1, "),
        ANN.replace("tokens = [{", "tokens = [[{").replace("}]", "}]]"),
        ANN.split("tokens", maxsplit=1)[0] + "tokens = {}",
        ANN + f'[users.bob]\nrole = "viewer"\ntokens = [{{ sha256 = "{DIGEST}" }}]',
    ],
)
def test_a_file_with_a_fault_is_refused_and_nothing_of_it_is_reported(text: str) -> None:
    with pytest.raises(OperatorNeeded, match=r"rest\.bad_users") as told:
        parse(Path("users.toml"), text.encode())
    assert CANARY not in str(told.value)
    assert DIGEST not in str(told.value)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(OperatorNeeded, match=r"rest\.bad_users"):
        parse(Path("users.toml"), b"\xff")


@pytest.mark.parametrize("mode", [0o604, 0o620, 0o640, 0o660, 0o777])
def test_a_file_that_others_may_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    """A-LOGIN-11."""
    users = written(tmp_path)
    users.chmod(mode)
    if mode == 0o640 and users.stat().st_uid == 0:
        UsersFile(users)  # root's may be read by its group, as containers mount secrets
        return
    with pytest.raises(OperatorNeeded, match=r"rest\.file_open"):
        UsersFile(users)


@pytest.mark.parametrize("name", ["none.toml", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OperatorNeeded, match=r"rest\.file_(unreadable|open)"):
        UsersFile(tmp_path / name)


def test_a_file_that_changes_is_read_again_and_one_that_breaks_accepts_nobody(tmp_path: Path) -> None:
    path = written(tmp_path)
    users = UsersFile(path)
    first = users.current()
    assert users.current() is first, "it is not read again as long as it is the same"
    private(path, ANN)
    assert list(users.current().named) == ["ann"]
    private(path, "[users")
    for _ in range(2):
        with pytest.raises(OperatorNeeded, match=r"rest\.bad_users"):
            users.current()
    path.unlink()
    with pytest.raises(OperatorNeeded, match=r"rest\.file_unreadable"):
        users.current()
    private(path, ANN)
    assert list(users.current().named) == ["ann"]
    path.chmod(0o666)
    with pytest.raises(OperatorNeeded, match=r"rest\.file_open"):
        users.current()


def test_a_user_who_fails_too_often_waits_and_nobody_else_does() -> None:
    now = [100.0]
    attempts = FailedLogins(lambda: now[0])
    ann = ("192.0.2.1", "ann")
    for _ in range(FAILURES):
        assert not attempts.tired(ann)
        attempts.failed(ann)
    assert attempts.tired(ann)
    assert not attempts.tired(("192.0.2.2", "ann"))
    assert not attempts.tired(("192.0.2.1", "bob"))
    now[0] += SECONDS
    assert not attempts.tired(ann)
    attempts.failed(ann)
    assert not attempts.tired(ann), "the old ones count no more"


def test_failures_are_remembered_up_to_a_bound() -> None:
    """A-LOGIN-06."""
    attempts = FailedLogins(lambda: 0.0)
    for number in range(5000):
        attempts.failed(("192.0.2.1", str(number)))
    assert len(attempts._failed) == 1000


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Basic YW5uOmE6Yg==", Credentials("ann", "a:b")),
        ("bASIC YW5uOmE6Yg==", Credentials("ann", "a:b")),
        ("Basic Og==", Credentials("", "")),
        ("Basic w6Q6w7Y=", Credentials("ä", "ö")),
        ("Basic YW5u", None),
        ("Basic YW5uOmE6Yg", None),
        ("Basic YW5u OmE6Yg==", None),
        ("Basic 4Trk", Credentials("á", "ä")),
        ("Basic", None),
        ("Basic ", None),
        ("Bearer abc", Credentials(None, "abc")),
        ("Bearer ", None),
        ("Bearer" + " a" * 2000, None),
        ("Digest username=ann", None),
        ("", None),
    ],
)
def test_the_header_is_read_as_the_web_has_it(said: str, read: Credentials | None) -> None:
    assert read_credentials(Headers({"Authorization": said})) == read


def test_a_header_that_is_missing_or_said_twice_is_none() -> None:
    """A-LOGIN-13."""
    twice = [(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")]
    assert read_credentials(Headers(raw=twice)) is None
    assert read_credentials(Headers({})) is None


def test_what_was_sent_is_not_shown_by_accident() -> None:
    assert CANARY not in repr(Credentials("ann", CANARY))
