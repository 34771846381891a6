"""Looks up what a user asks about: an error's code, or a setting's name.

In: a name, or none for all.  Out: what was declared, or an error with the nearest name.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from wrackline.control.installed import import_everything, registries
from wrackline.schemas.errors import Definite, ErrorCode, define, registered
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.setting import NotHonoured, Setting, placeholders

NO_CODE = define(
    "cli.no_code", Definite, "there is no error code {code}", hint="{meant}all codes: wrackline errors"
)
NO_SETTING = define(
    "cli.no_setting", Definite, "there is no setting {name}", hint="{meant}all names: wrackline settings"
)


def error_codes(code: str | None) -> Sequence[ErrorCode]:
    """Return one code, or all of them in order."""
    import_everything()
    known = registered()
    if code is None:
        return [known[name] for name in sorted(known)]
    if code not in known:
        raise NO_CODE(code=shown_name(code), meant=_meant(get_close_matches(code[:200], known, n=1)))
    return [known[code]]


def all_settings() -> Sequence[Setting]:
    """Return every setting of the core and of each plug-in."""
    return [setting for registry in registries().values() for setting in registry.settings.values()]


def find_setting(name: str) -> Setting | NotHonoured:
    """Return the setting or family of this name, or the reason why it is not honoured."""
    parts = registries().values()
    for registry in parts:
        found = registry.find(name) or registry.settings.get(name)
        if found is not None:
            return found
    for registry in parts:
        for entry in registry.not_honoured:
            if placeholders(entry.name, name) is not None:
                return entry
    near = [near for registry in parts if (near := registry.nearest(name))]
    raise NO_SETTING(name=shown_name(name), meant=_meant(get_close_matches(name[:200], near, n=1, cutoff=0)))


def _meant(near: Sequence[str]) -> str:
    return f"did you mean {near[0]}? " if near else ""
