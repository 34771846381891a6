"""`${secure(key)}`: as CDAP writes a secret; the same list of what may be read, and a key is never a path."""

from pathlib import Path

import pytest

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

SECRET = "s3cr3t-value"


def _allowed(provider: str, folders: str) -> Allowed:
    return Allowed().widened_by({"secrets.secure.provider": provider, "secrets.allow.folders": folders})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "db-password").write_text(f"{SECRET}\n")
    (tmp_path / "all.properties").write_text(f"db-password = {SECRET}\n")
    return tmp_path


@pytest.mark.parametrize("provider", ["dir:{}", "file:{}/all.properties", "env:WRACKLINE_SECURE_"])
def test_a_key_is_looked_up_where_the_provider_says(folder: Path, provider: str) -> None:
    allowed = _allowed(provider.format(folder), str(folder))
    resolved = Resolver(allowed, {"WRACKLINE_SECURE_DB_PASSWORD": SECRET})("u:${secure(db-password)}")
    assert (resolved.text, resolved.secrets) == (f"u:{SECRET}", (SECRET,))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("${secure(../db-password)}", "secret.malformed"),
        ("${secure(..)}", "secret.malformed"),
        ("${secure(/etc/passwd)}", "secret.malformed"),
        ("${secure(a\nb)}", "secret.malformed"),
        ("${secure()}", "secret.malformed"),
        ("${secure(db-password}", "secret.malformed"),
        ("${secure(db-password", "secret.malformed"),
        ("${secure(${env:HOME})}", "secret.malformed"),
        ("${secure(other)}", "secret.not_found"),
        ("${conn(my-db)}", "secret.no_connections"),
    ],
)
def test_what_is_no_key_is_refused(folder: Path, text: str, code: str) -> None:
    with pytest.raises(WracklineError) as raised:
        Resolver(_allowed(f"dir:{folder}", str(folder)), {})(text)
    assert raised.value.code == code
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("provider", ["dir:{}", "file:{}/all.properties", "env:SHOP_"])
def test_what_is_not_allowed_is_not_read(folder: Path, provider: str) -> None:
    allowed = _allowed(provider.format(folder), "")
    with pytest.raises(WracklineError) as raised:
        Resolver(allowed, {"SHOP_DB_PASSWORD": SECRET})("${secure(db-password)}")
    assert raised.value.code == "secret.not_allowed"
    assert SECRET not in str(raised.value)


def test_without_a_provider_it_is_the_folder_where_containers_have_their_secrets() -> None:
    with pytest.raises(WracklineError) as raised:
        Resolver(Allowed(), {})("${secure(db-password)}")
    assert "dir:/run/secrets" in raised.value.hint
