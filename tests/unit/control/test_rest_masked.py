"""What becomes of stars that come back, rule by rule; no request, no group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.masked_secrets import masked_settings, restore_secrets
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

SALTED = "column.mask.hash.SHA-256.with.salt."
STORED = {
    "name": "shop",
    "connector.class": "postgres",
    "database.password": "s3cret",
    "database.user": "${env:WRACKLINE_U}",
    "schema.registry.url": "http://me:s3cret@registry:8081",
    f"{SALTED}c4n4ry": "public.orders.mail",
    "kafka.message.something": "***",
}
REGISTRY = check(STORED, Installed(), Resolver(Allowed(), {})).registry
SHOWN = REGISTRY.shown(STORED)


def test_what_get_shows_comes_back_as_it_is_stored() -> None:
    assert "s3cret" not in str(SHOWN)
    assert restore_secrets(REGISTRY, STORED, SHOWN) == STORED


def test_what_was_edited_is_as_it_was_sent() -> None:
    edited = {"database.password": "other", f"{SALTED}***": "public.orders.name", "database.port": "5433"}
    made = restore_secrets(REGISTRY, STORED, {**SHOWN, **edited})
    assert (made["database.password"], made["database.port"]) == ("other", "5433")
    assert made[f"{SALTED}c4n4ry"] == "public.orders.name", "its salt is kept, under which values are hashed"
    assert f"{SALTED}***" not in made


def test_null_takes_out_what_a_masked_name_stands_for() -> None:
    assert restore_secrets(REGISTRY, STORED, {f"{SALTED}***": None}) == {f"{SALTED}c4n4ry": None}


def test_a_masked_name_that_could_be_two_is_neither() -> None:
    two = {**STORED, f"{SALTED}other": "public.orders.phone"}
    sent = {f"{SALTED}***": "public.orders.name"}
    assert restore_secrets(REGISTRY, two, sent) == sent
    assert list(masked_settings(REGISTRY, sent)) == [f"{SALTED}***"]


def test_a_name_and_its_mask_together_are_two_settings() -> None:
    sent = {f"{SALTED}c4n4ry": "public.a.b", f"{SALTED}***": "public.a.c"}
    assert restore_secrets(REGISTRY, STORED, sent) == sent


@pytest.mark.parametrize(
    ("name", "text", "starred"),
    [
        ("database.password", "***", True),
        ("schema.registry.url", "http://me:***@registry:8081", True),
        ("schema.registry.url", SHOWN["schema.registry.url"], True),
        (f"{SALTED}***", "public.orders.mail", True),
        ("database.password", "a***b", False),
        ("database.password", "${env:WRACKLINE_PW}", False),
        ("topic.prefix", "***", False),
        ("schema.registry.url", "http://registry:8081/***", False),
        (f"{SALTED}a***", "public.orders.mail", False),
    ],
)
def test_stars_are_a_mask_where_a_secret_would_be(name: str, text: str, *, starred: bool) -> None:
    assert bool(list(masked_settings(REGISTRY, {name: text}))) is starred


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("exactly.once.support", "required", "required"),
        (
            "value.converter",
            "io.confluent.connect.avro.AvroConverter",
            "io.confluent.connect.avro.AvroConverter",
        ),
        ("snapshot.fetch.size", "2000", "2000"),
        ("snapshot.fetch.size", "c4n4ry/+=", "***"),
        ("database.ssl.keystore.password", "c4n4ry", "***"),
        ("database.initial.statements", "SET x TO c4n4ry", "***"),
        ("kafka.sasl.jaas.config", "c4n4ry", "***"),
        ("kafka.ssl.key.pem", "c4n4ry", "***"),
        ("value.converter.schema.registry.basic.auth.user.info", "c4n4ry", "***"),
        ("nobody.knows.it", "c4n4ry", "***"),
    ],
)
def test_a_setting_without_effect_is_shown_unless_it_may_be_a_secret(
    name: str, text: str, shown: str
) -> None:
    assert REGISTRY.shown({name: text}) == {name: shown}
    told = REGISTRY.described("postgres", {name: text}, [])["configs"]
    assert isinstance(told, list)
    assert [one["value"]["value"] for one in told if one["value"]["name"] == name] == [shown]


@given(st.text(min_size=1))
def test_no_secret_is_lost_whatever_it_is(secret: str) -> None:
    """A-SECRET-10."""
    stored = {**STORED, "database.password": secret, f"{SALTED}{secret}": "public.orders.mail"}
    if f"{SALTED}c4n4ry" in stored and secret != "c4n4ry":
        del stored[f"{SALTED}c4n4ry"]
    assert restore_secrets(REGISTRY, stored, REGISTRY.shown(stored)) == stored
