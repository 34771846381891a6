"""References to secrets reach what is allowed and nothing else, and reveal nothing about what they reach."""

import os
from pathlib import Path

import pytest

from tests.unit.settings.shop import CANARY, GOOD, checked, codes
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.secret_refs import LARGEST_FILE, Allowed, Resolver, read_properties


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "db").mkdir(parents=True)
    (inside / "db" / "password").write_text(CANARY + "\n")
    (inside / "db.properties").write_text(f"# log-in\nuser: shop\npassword = {CANARY}\nempty=\n")
    (tmp_path / "outside").write_text(f"password={CANARY}")
    return inside


def resolve(text: str, folder: Path, environ: dict[str, str] | None = None) -> str:
    return Resolver(Allowed(("WRACKLINE_*", "SHOP"), (folder,)), environ or {})(text).text


def test_each_provider_gives_its_value(folder: Path) -> None:
    """A-SECRET-01."""
    environ = {"WRACKLINE_A": "1", "SHOP": "2"}
    assert resolve("${env:WRACKLINE_A}-${env:SHOP}", folder, environ) == "1-2"
    assert resolve(f"${{file:{folder}/db.properties:password}}", folder) == CANARY
    assert not resolve(f"${{file:{folder}/db.properties:empty}}", folder)
    assert resolve(f"${{dir:{folder}/db:password}}", folder) == CANARY
    assert resolve("jdbc-${env:SHOP}-x", folder, environ) == "jdbc-2-x"


@pytest.mark.parametrize("text", ["", "$", "${", "${}", "$env:X", "a$b{c}", "${routedByValue}", "p4$${x"])
def test_what_is_no_reference_stays_as_it_is(text: str, folder: Path) -> None:
    assert resolve(text, folder) == text


def test_what_a_reference_gives_is_not_looked_at_again(folder: Path) -> None:
    """A-SECRET-05."""
    assert resolve("${env:SHOP}", folder, {"SHOP": "${env:WRACKLINE_A}"}) == "${env:WRACKLINE_A}"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("${env:HOME}", "secret.not_allowed"),
        ("${env:wrackline_a}", "secret.not_allowed"),
        ("${env:SHOPS}", "secret.not_allowed"),
        ("${env:WRACKLINE_NONE}", "secret.not_found"),
        ("${env:}", "secret.malformed"),
        ("${env:${env:SHOP}}", "secret.malformed"),
        ("${file:${env:SHOP}:password}", "secret.malformed"),
        ("${env:WRACKLINE_A", "secret.malformed"),
        ("${vault:db:password}", "secret.malformed"),
        ("${ENV:SHOP}", "secret.malformed"),
        ("${file:/etc/passwd}", "secret.malformed"),
        ("${file:/etc/passwd:root}", "secret.not_allowed"),
        ("${file:{folder}/../outside:password}", "secret.not_allowed"),
        ("${file:{folder}/db.properties:none}", "secret.not_found"),
        ("${file:{folder}/none:password}", "secret.not_found"),
        ("${file:{folder}:password}", "secret.not_found"),
        ("${file:relative.properties:password}", "secret.not_allowed"),
        ("${dir:{folder}/db:none}", "secret.not_found"),
        ("${dir:{folder}/db:../db.properties}", "secret.malformed"),
        ("${dir:{folder}/db:..}", "secret.malformed"),
        ("${dir:/etc:hostname}", "secret.not_allowed"),
        ("${file:{folder}/a\nb:c}", "secret.malformed"),
        ("${file:{folder}/a\0b:c}", "secret.malformed"),
        ("${file:{folder}/" + "x" * 5000 + ":c}", "secret.not_found"),
    ],
)
def test_a_bad_reference_is_an_error_that_shows_nothing(text: str, code: str, folder: Path) -> None:
    """A-SECRET-06."""
    with pytest.raises(WracklineError) as caught:
        resolve(text.replace("{folder}", str(folder)), folder, {"SHOP": CANARY, "HOME": CANARY})
    assert caught.value.code == code
    assert CANARY not in str(caught.value)


def test_a_link_out_of_the_folder_is_not_followed(folder: Path) -> None:
    """A-SECRET-02."""
    (folder / "link").symlink_to(folder.parent / "outside")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "loop").symlink_to(folder / "loop")
    for path, code in (
        ("link", "secret.not_allowed"),
        ("linked/outside", "secret.not_allowed"),
        ("loop", "secret.not_found"),
    ):
        with pytest.raises(WracklineError) as caught:
            resolve(f"${{file:{folder}/{path}:password}}", folder)
        assert caught.value.code == code


def test_a_link_inside_the_folder_is_followed(folder: Path) -> None:
    (folder / "again").symlink_to(folder / "db.properties")
    assert resolve(f"${{file:{folder}/again:user}}", folder) == "shop"


def test_a_pipe_or_a_huge_file_does_not_stall_the_reader(folder: Path) -> None:
    """A-SECRET-07."""
    os.mkfifo(folder / "pipe")
    (folder / "huge").write_bytes(b"a" * (LARGEST_FILE + 1))
    (folder / "bytes").write_bytes(b"password=\xff")
    for name in ("pipe", "huge", "bytes"):
        with pytest.raises(WracklineError, match="can't be resolved"):
            resolve(f"${{file:{folder}/{name}:password}}", folder)


def test_the_environment_says_what_is_allowed() -> None:
    """A-SECRET-03."""
    allowed = Allowed.from_environment({"WRACKLINE_SECRETS_ALLOW": "env:SHOP_*, dir:/run/secrets,junk"})
    assert allowed == Allowed(("WRACKLINE_*", "SHOP_*"), (Path("/run/secrets"),))
    assert Allowed.from_environment({}) == Allowed()


def test_settings_alone_do_not_widen_what_is_allowed() -> None:
    """A-SECRET-04."""
    given = {**GOOD, "secrets.allow.env": "HOME", "database.user": "${env:HOME}"}
    assert codes(checked(given, {"HOME": CANARY})) == [("database.user", "secret.not_allowed")]


def test_properties_are_read_as_java_reads_them() -> None:
    text = r"""
! a comment
a=1
b : 2
c 3
d\ e = f\tg
long = one, \
       two
u = \u00e9\ud83d\ude00
equals = a=b:c
alone
"""
    assert read_properties(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d e": "f\tg",
        "long": "one, two",
        "u": "\u00e9\U0001f600",
        "equals": "a=b:c",
        "alone": "",
    }
