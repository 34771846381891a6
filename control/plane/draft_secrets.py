"""Secrets in drafts: found, shown as stars, and put back when the stars return.  Pure.

In: a configuration of any form, and which settings hold secrets.  Out: the same without secrets, or the
places of secrets that were typed.  A reference is no secret, so it is shown; all else under a secret's name
is, and whatever looks like a password within a text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from wrackline.schemas.redaction import MASK, SECRET_NAME, shown_name
from wrackline.schemas.settings.settings_registry import mask_logins

_REFERENCE: Final = re.compile(r"\$\{(?:env:\w*|(?:file|dir):[^{}]*|secure\([^(){}]*\))\}")
_AFTER_USER: Final = re.compile(rf"[\w.@-]{{1,64}}:{re.escape(MASK)}")
_PROBE: Final = "probe"  # whatever a secret could be
Hides: TypeAlias = Callable[[str, str], bool | None]  # (setting, its text) -> secret; None: no such setting


def typed_secrets(config: object, hides: Hides) -> Iterator[str]:
    """Name the places of secrets that are not references."""
    for place, name, text in _texts(config):
        if _shown(name, text, hides) != text:
            yield place


def starred(config: object, hides: Hides) -> Iterator[str]:
    """Name the places where stars stand for nothing that is stored."""
    for place, name, text in _texts(config):
        in_name = MASK in name and shown_name(name.replace(MASK, _PROBE)) == name
        alone = MASK in text and (
            _shown(name, text.replace(MASK, _PROBE), hides) == text or f":{MASK}@" in text
        )
        if in_name or alone:
            yield place


def without_secrets(config: Any, hides: Hides, name: str = "") -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a configuration with stars in the place of secrets; a name may hold a salt."""
    match config:
        case dict():
            deciding = _deciding(name, config)
            return {
                shown_name(one): without_secrets(value, hides, deciding(one)) for one, value in config.items()
            }
        case list():
            return [without_secrets(value, hides, name) for value in config]
        case bool() | None:
            return config
        case _:
            shown = _shown(name, str(config), hides)
            return config if shown == str(config) else shown


def with_secrets(stored: Any, sent: Any, hides: Hides, name: str = "") -> Any:  # noqa: ANN401
    """Return what was sent, with the stored names and values where it has the stars shown of them."""
    match sent:
        case dict():
            known = stored if isinstance(stored, dict) else {}
            names = {one: _meant(one, known, sent) for one in sent}
            deciding = _deciding(name, sent)
            return {
                own: with_secrets(known.get(own), sent[one], hides, deciding(own))
                for one, own in names.items()
            }
        case list():
            there = stored if isinstance(stored, list) else []
            pairs = zip(sent, [*there, *[None] * len(sent)], strict=False)
            return [with_secrets(before, value, hides, name) for value, before in pairs]
        case str() if MASK in sent and not isinstance(stored, dict | list | None):
            return stored if sent == _shown(name, str(stored), hides) else sent
        case _:
            return sent


def _meant(name: str, known: dict[str, Any], sent: dict[str, Any]) -> str:
    """Return the stored name that is shown as this one, if there is just one, and it is not sent itself."""
    own = [one for one in known if shown_name(one) == name] if MASK in name or name.endswith("...") else []
    return own[0] if len(own) == 1 and name not in known and own[0] not in sent else name


def _deciding(name: str, of: Mapping[str, Any]) -> Callable[[str], str]:
    """Return which name decides about each value of an object.

    All within a secret is secret, and so is a `value` beside the name of a secret.
    """
    beside = [one for one in (of.get("key"), of.get("name")) if isinstance(one, str)]
    secret = next((one for one in beside if SECRET_NAME.search(one)), "value")

    def decides(one: str) -> str:
        if SECRET_NAME.search(name):
            return name
        return secret if one == "value" else one

    return decides


def _shown(name: str, text: str, hides: Hides) -> str:
    known = hides(name, text)
    plain = _REFERENCE.sub(MASK, text)
    if known or (known is None and SECRET_NAME.search(name)):
        by_user = "user" in name.lower() and _AFTER_USER.fullmatch(plain) is not None
        return text if not text or (plain != text and (plain == MASK or by_user)) else MASK
    return text if mask_logins(plain) == plain else mask_logins(text)


def _texts(config: object, name: str = "", place: str = "") -> Iterator[tuple[str, str, str]]:
    """Walk through all values: place, name, text; a list's have the name of the list."""
    match config:
        case dict():
            deciding = _deciding(name, config)
            for one, value in config.items():
                below = f"{place}.{shown_name(one)}" if place else shown_name(one)
                yield from _texts(value, deciding(one), below)
        case list():
            for value in config:
                yield from _texts(value, name, place)
        case bool() | None:
            pass
        case _:
            yield place, name, str(config)
