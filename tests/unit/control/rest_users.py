"""A file of users for tests: one of each role with a token, and one with a password."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from wrackline.control.runtime.rest.access import passwords

PASSWORD = "correct horse: battery ä"
TOKENS = {role: f"wrackline_token-of-a-{role}" for role in ("viewer", "operator", "admin")}
SEES_VALUES = "admin"


@cache
def kept() -> str:
    """What is kept of the password; made once, for it is slow."""
    return passwords.hash_password(PASSWORD)


def written(folder: Path, ann: str | None = None) -> Path:
    """Write the file; ann is an admin with a password."""
    tables = [
        f'[users.{role}]\nrole = "{role}"\ndata = {str(role == SEES_VALUES).lower()}\n'
        f'tokens = [{{ sha256 = "{passwords.digest(token)}" }}]\n'
        for role, token in TOKENS.items()
    ]
    tables.append(f'[users.ann]\nrole = "admin"\npassword = "{ann or kept()}"\n')
    return private(folder / "users.toml", "\n".join(tables))


def private(path: Path, text: str) -> Path:
    """Write a file that is one's own alone, as an editor does: beside, then in its place."""
    beside = path.with_suffix(".new")
    beside.touch(mode=0o600)
    beside.write_text(text)
    return beside.replace(path)


def bearer(role: str) -> Mapping[str, str]:
    """The header of a user with this role."""
    return {"Authorization": f"Bearer {TOKENS[role]}"}
