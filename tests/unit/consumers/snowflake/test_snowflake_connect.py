"""What the driver is given: who, where, and a session in which a statement means the same everywhere."""

import traceback
from typing import Any

import pytest
from snowflake.connector import errors

from wrackline.consumers.targets.snowflake import connect as module
from wrackline.consumers.targets.snowflake.config import SETTINGS
from wrackline.consumers.targets.snowflake.connect import read_account
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import Value

GIVEN: dict[str, Value] = {
    "name": "shop",
    "target.account": "org-shop",
    "target.user": "wrackline",
    "target.private.key.file": "/keys/wrackline.p8",
    "target.warehouse": "LOADS",
    "target.dbname": "SHOP",
    "target.lock.timeout.ms": 1500,
}


def values(**more: Any) -> Values:
    declared: dict[str, Value] = {
        one.name: None if one.default is None else one.parse(one.default) for one in SETTINGS.settings
    }
    return Values({**declared, **GIVEN, **more}, {})


def given_to_the_driver(monkeypatch: pytest.MonkeyPatch, settings: Values) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(module, "connect", seen.update)
    read_account(settings).connect()
    return seen


def test_the_driver_is_given_what_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = given_to_the_driver(monkeypatch, values())
    assert seen["host"] == "org-shop.snowflakecomputing.com"
    assert (seen["authenticator"], seen["private_key_file"]) == ("SNOWFLAKE_JWT", "/keys/wrackline.p8")
    assert not {"role", "private_key_file_pwd", "password"} & set(seen)
    session = seen["session_parameters"]
    assert (session["QUERY_TAG"], session["TIMEZONE"]) == ("wrackline shop", "UTC")
    assert (session["LOCK_TIMEOUT"], session["STATEMENT_TIMEOUT_IN_SECONDS"]) == (2, 3600)
    assert seen["network_timeout"] > 0, "the driver's own patience has no end"


def test_what_is_set_besides_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"target.role": "LOADER", "target.hostname": "private.example.com"}
    secret = {"target.private.key.passphrase": Secret("of the key")}
    seen = given_to_the_driver(monkeypatch, values(**more, **secret))
    assert (seen["role"], seen["host"]) == ("LOADER", "private.example.com")
    assert seen["private_key_file_pwd"] == "of the key"


@pytest.mark.parametrize("why", [errors.DatabaseError("no", errno=390144), ValueError("Incorrect password")])
def test_no_refusal_leads_to_the_passphrase(monkeypatch: pytest.MonkeyPatch, why: Exception) -> None:
    def refuse(**_: object) -> None:
        raise why

    monkeypatch.setattr(module, "connect", refuse)
    settings = values(**{"target.private.key.passphrase": Secret("of the key")})
    with pytest.raises(OperatorNeeded, match=r"snowflake\.(login|key)_refused") as found:
        read_account(settings).connect()
    assert found.value.__context__ is None, "the driver's frames know the passphrase"
    ours = [frame for frame, _ in traceback.walk_tb(found.value.__traceback__)]
    assert not [frame for frame in ours if "refuse" in frame.f_code.co_name]
