"""Replaces the stars that GET shows for a secret, when they come back in settings.  Pure.

    GET, edit, PUT      the stars mean what is stored, and it is put back
    a new connector     nothing is stored that they could mean

A name may be masked too, if it contains a salt.  So the names that are sent are looked up among those shown.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from wrackline.schemas.redaction import MASK, shown_name
from wrackline.schemas.settings.settings_registry import SettingsRegistry

_PROBE = "probe"  # whatever a secret could be

T = TypeVar("T", bound=str | None)


def restore_secrets(
    registry: SettingsRegistry, stored: Mapping[str, str], sent: Mapping[str, T]
) -> dict[str, T | str]:
    """Put back names and values of the stored settings where what was sent is what GET shows of them."""
    names: dict[str, list[str]] = {}
    for name in stored:
        names.setdefault(shown_name(name), []).append(name)
    made: dict[str, T | str] = {}
    for name, text in sent.items():
        match names.get(name, []):
            case [own] if name not in stored and own not in sent:
                pass
            case _:
                own = name
        kept = own in stored and text == _show(registry, own, stored[own])
        made[own] = stored[own] if kept else text
    return made


def masked_settings(registry: SettingsRegistry, settings: Mapping[str, str]) -> Iterator[str]:
    """Name, as they may be shown, the settings that contain stars in place of a secret."""
    for name, text in settings.items():
        in_name = MASK in name and shown_name(name.replace(MASK, _PROBE)) == name
        if in_name or (MASK in text and _is_mask(registry, name, text)):
            yield shown_name(name)


def _is_mask(registry: SettingsRegistry, name: str, text: str) -> bool:
    """Whether a secret in the stars' place would be shown as the same stars, or hidden as a password."""
    shown = _show(registry, name, text.replace(MASK, _PROBE))
    return shown == text or (f":{MASK}@" in text and _PROBE not in shown)


def _show(registry: SettingsRegistry, name: str, text: str) -> str:
    (shown,) = registry.shown({name: text}).values()
    return shown
