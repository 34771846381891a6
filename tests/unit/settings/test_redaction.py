"""A secret shows its stars, whatever prints it; texts of others are cleaned by value and by look."""

import copy
import json
import logging
import pickle
from dataclasses import asdict, dataclass

import orjson
import pytest

from tests.unit.settings.shop import CANARY, GOOD, checked
from wrackline.schemas.redaction import MASK, Redactor, Secret, redact_by_look, shown_name

SECRET = Secret(CANARY)


@dataclass
class Holder:
    password: Secret


@pytest.mark.parametrize(
    "shown",
    [
        str(SECRET),
        repr(SECRET),
        f"{SECRET}",
        f"{SECRET!r:>20}",
        f"{SECRET:.3}",
        "%s" % SECRET,  # noqa: UP031 - the old ways to format are what is tried here
        "{}".format(SECRET),  # noqa: UP032 - the same
        ", ".join([SECRET, *"ab"]),
        SECRET + "x",
        SECRET.upper(),
        SECRET[:3],
        json.dumps({"a": SECRET}),
        orjson.dumps({"a": SECRET}).decode(),
        str(Holder(SECRET)),
        str(asdict(Holder(SECRET))),
        str([SECRET, {"a": SECRET}]),
        str(SECRET.encode()),
        str(copy.deepcopy(SECRET)),
        str(ValueError(SECRET)),
        logging.LogRecord("a", 20, "b", 1, "%s %r", (SECRET, SECRET), None).getMessage(),
    ],
)
def test_a_secret_shows_only_stars(shown: str) -> None:
    assert "*" in shown
    assert CANARY[:3] not in shown
    assert CANARY.upper() not in shown


def test_a_secret_can_be_used() -> None:
    assert SECRET.reveal() == CANARY
    assert copy.deepcopy(Holder(SECRET)).password.reveal() == CANARY
    assert Secret(CANARY) == SECRET
    assert hash(Secret(CANARY)) == hash(SECRET)
    assert Secret("other") != SECRET
    assert SECRET not in (MASK, CANARY)


def test_a_secret_is_not_pickled() -> None:
    """A-DATA-01."""
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(SECRET)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (CANARY, f"FATAL: password authentication failed for {CANARY}"),
        ("p@ss w/ord", "could not connect to p%40ss%20w%2Ford at host"),
        ("p@ss w/ord", "p%40ss+w%2Ford"),
        ('qu"ote\n', 'sent {"x": "qu\\"ote\\n"}'),
        ("it's", "SQL: 'it''s'"),
        ("ab", "failed for ab."),
    ],
)
def test_a_text_of_others_is_cleaned_by_value(value: str, text: str) -> None:
    """A-SECRET-13."""
    cleaned = Redactor([Secret(value)]).clean(text)
    assert MASK in cleaned
    assert value not in cleaned
    assert text not in cleaned


def test_a_short_secret_does_not_spell_itself_by_its_stars() -> None:
    assert Redactor([Secret("a")]).clean("a table was made") == f"{MASK} table was made"
    assert Redactor([Secret("")]).clean("nothing") == "nothing"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"postgresql://shop:{CANARY}@db:5432/shop", "@db:5432/shop"),
        (f"https://u:{CANARY}x/y@h", "https://u:"),
        (f"host=db password={CANARY} user=shop", "user=shop"),
        (f"password = 'a {CANARY}' dbname=x", "dbname=x"),
        (f"Driver=x;PWD={{{CANARY}}};Uid=y", "Uid=y"),
        (f'{{"password": "{CANARY}", "a": 1}}', '"a": 1'),
        (f"token={CANARY}&x=1", "x=1"),
    ],
)
def test_a_text_of_others_is_cleaned_by_look(text: str, kept: str) -> None:
    """A-SECRET-14."""
    cleaned = redact_by_look(text)
    assert CANARY not in cleaned
    assert kept in cleaned


def test_the_values_own_redactor_knows_every_secret() -> None:
    found = checked({**GOOD, "database.user": "${env:WRACKLINE_U}"}, {"WRACKLINE_U": "fr0m-env"})
    assert found.values is not None
    assert found.values.redactor.clean(f"role fr0m-env, {CANARY}") == f"role {MASK}, {MASK}"
    assert "fr0m-env" not in repr(found)


def test_a_salt_in_a_name_is_not_shown() -> None:
    """A-MASK-04."""
    name = f"column.mask.hash.SHA-256.with.salt.{CANARY}"
    assert shown_name(name) == f"column.mask.hash.SHA-256.with.salt.{MASK}"
    found = checked({**GOOD, name: "public.a.b", f"colum.mask.hash.x.with.salt.{CANARY}": "a"})
    assert CANARY not in str(found.problems[0].error)
    good = checked({**GOOD, name: "public.a.b"})
    assert CANARY not in repr(good.values)
