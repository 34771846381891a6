"""Checks one answer: it can be the setting's value, it is one line of text, and it contains no secret.

In: a setting and what a user typed.  Out: the text for the file, or an error with the setting's own words,
which never repeats the answer: a password typed into the wrong line must not be printed.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import redact_by_look, shown_name
from wrackline.schemas.settings.secret_refs import OWN_NAMES
from wrackline.schemas.settings.setting import Setting
from wrackline.schemas.settings.settings_registry import INVALID
from wrackline.schemas.settings.value_kinds import SettingKind, join_list

_REFERENCE = re.compile(r"\$\{(?:(?:env|file|dir):[^{}]+|secure\([^(){}]+\))\}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LOUD = re.compile(r"[A-Z_][A-Z0-9_]*")
_UNPRINTED = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class PasswordPlace:
    """Where a password is to be found: its reference, and what has to be allowed for it."""

    reference: str
    variable: str | None = None  # beside WRACKLINE_*
    folder: str | None = None


def judge_answer(setting: Setting, name: str, answer: str) -> str:
    """Return the answer as it goes into the file; `name` is the setting's, of a family a member's."""
    try:
        return _good(setting, answer)
    except ValueError as reason:
        error: WracklineError = INVALID(name=shown_name(name), reason=reason)
    raise error  # out here, so that no frame of a traceback holds the answer


def variable_place(name: str, environ: Mapping[str, str]) -> PasswordPlace:
    """Return the reference to an environment variable; a ValueError says what was expected.

    A name that does not exist must look like one: a text in lower case may be the password itself.
    """
    if not _VARIABLE.fullmatch(name) or not (name in environ or _LOUD.fullmatch(name)):
        raise ValueError(
            "expected the name of an environment variable, in capitals or set already; the password itself"
            " is never written"
        )
    own = name.startswith(OWN_NAMES.rstrip("*"))
    return PasswordPlace(f"${{env:{name}}}", variable=None if own else name)


def file_place(path: Path) -> PasswordPlace:
    """Return the reference to a file that holds a password and nothing else."""
    text = str(path)
    odd = any(unicodedata.category(letter) in _UNPRINTED or letter in "{}" for letter in text)
    if odd or not (path.is_absolute() or path.is_file()) or path.is_dir():
        raise ValueError("expected the path of a file with the password, without { or }")
    whole = path.absolute()
    if ":" in whole.name or "\\" in whole.name:
        raise ValueError("expected a file whose name has no : or \\")
    return PasswordPlace(f"${{dir:{whole.parent}:{whole.name}}}", folder=join_list((str(whole.parent),)))


def password_place(answer: str, environ: Mapping[str, str]) -> PasswordPlace:
    """Read what was typed: a path has a slash, all else is a variable's name."""
    if not answer.startswith(("/", "./", "../", "~")):
        return variable_place(answer, environ)
    path = Path(answer).expanduser()
    if not path.is_file():  # it may be a password that begins so
        raise ValueError("expected a file that is there")
    return file_place(path)


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
        if setting.type is SettingKind.LIST and isinstance(value, tuple):
            return join_list(value)
    return text
