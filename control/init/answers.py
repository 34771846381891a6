"""Judges one answer: it can be the setting's value, it is one line of text, and it holds no secret.

In: a setting and what somebody typed.  Out: the text for the file, or an error with the setting's own words,
which never repeats the answer: a password typed into the wrong line must not be printed back.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import redact_by_look, shown_name
from wrackline.schemas.secret_refs import OWN_NAMES
from wrackline.schemas.setting import Setting
from wrackline.schemas.setting_kinds import Kind, join_list
from wrackline.schemas.settings import INVALID

_REFERENCE = re.compile(r"\$\{(?:env|file|dir):[^{}]+\}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LOUD = re.compile(r"[A-Z_][A-Z0-9_]*")
_UNPRINTED = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Where:
    """Where a password is to be found: its reference, and what has to be allowed for it."""

    reference: str
    variable: str | None = None  # beside WRACKLINE_*
    folder: str | None = None


def judged(setting: Setting, name: str, answer: str) -> str:
    """Return the answer as it goes into the file; `name` is the setting's, of a family a member's."""
    try:
        return _good(setting, answer)
    except ValueError as reason:
        error: WracklineError = INVALID(name=shown_name(name), reason=reason)
    raise error  # out here, so that no frame of a traceback holds the answer


def variable(name: str, environ: Mapping[str, str]) -> Where:
    """Return the reference to an environment variable; a ValueError says what was expected.

    A name that is not there must look like one: what is in small letters may be the password itself.
    """
    if not _VARIABLE.fullmatch(name) or not (name in environ or _LOUD.fullmatch(name)):
        raise ValueError(
            "expected the name of an environment variable, in capitals or set already; the password itself"
            " is never written"
        )
    own = name.startswith(OWN_NAMES.rstrip("*"))
    return Where(f"${{env:{name}}}", variable=None if own else name)


def secret_file(path: Path) -> Where:
    """Return the reference to a file that holds a password and nothing else."""
    text = str(path)
    odd = any(unicodedata.category(letter) in _UNPRINTED or letter in "{}" for letter in text)
    if odd or not (path.is_absolute() or path.is_file()) or path.is_dir():
        raise ValueError("expected the path of a file with the password, without { or }")
    whole = path.absolute()
    if ":" in whole.name or "\\" in whole.name:
        raise ValueError("expected a file whose name has no : or \\")
    return Where(f"${{dir:{whole.parent}:{whole.name}}}", folder=join_list((str(whole.parent),)))


def place_of_password(answer: str, environ: Mapping[str, str]) -> Where:
    """Read what was typed: a path has a slash, all else is a variable's name."""
    if not answer.startswith(("/", "./", "../", "~")):
        return variable(answer, environ)
    path = Path(answer).expanduser()
    if not path.is_file():  # it may be a password that begins so
        raise ValueError("expected a file that is there")
    return secret_file(path)


def _good(setting: Setting, answer: str) -> str:
    text = answer.strip()
    if any(unicodedata.category(letter) in _UNPRINTED for letter in text):
        raise ValueError("expected one line of text, without control characters")
    if setting.secret:
        if not _REFERENCE.fullmatch(text):
            raise ValueError(
                "expected a reference, as ${env:WRACKLINE_DB_PASSWORD}; the secret itself is never written"
            )
        return text
    of_user = setting.name.rpartition(".")[2] == "user"
    if redact_by_look(text) != text or (of_user and ":" in text and "${" not in text):
        raise ValueError("expected no password in it: that is given as a reference, apart from it")
    if "${" not in text:  # a reference's value is known where the pipeline runs
        value = setting.parse(text)
        if setting.type is Kind.LIST and isinstance(value, tuple):
            return join_list(value)
    return text
