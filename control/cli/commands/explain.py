"""Looks up what a user asks about: an error's code, a finding's id, or a setting's name.

In: a name, or none for all.  Out: its declaration, or an error with the nearest name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from wrackline.control.console.errors.error_codes import printed_codes
from wrackline.control.runtime.ground.installed import is_ours, others, registries
from wrackline.schemas.errors import Definite, ErrorCode, all_codes, define
from wrackline.schemas.language.findings import Rule, rules
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.setting import NotHonoured, Setting, placeholders

HALVES = ("wrackline.schemas", "wrackline.producers", "wrackline.consumers", "wrackline.control")


@cache
def import_everything() -> tuple[str, ...]:
    """Import every module of ours, so that each error code is registered; return those that can't be."""
    missing = []
    for half in HALVES:
        for found in walk_packages(import_module(half).__path__, f"{half}."):
            try:
                import_module(found.name)
            except ModuleNotFoundError as exc:
                if is_ours(exc):
                    raise
                missing.append(found.name)  # an optional dependency, as Spark
    return tuple(missing)


NO_CODE = define(
    "cli.no_code", Definite, "there is no error code {code}", hint="{meant}all codes: wrackline errors"
)
NO_SETTING = define(
    "cli.no_setting", Definite, "there is no setting {name}", hint="{meant}all names: wrackline settings"
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """An error's code or a finding's id, in words; placeholders are in braces."""

    code: str
    kind: str
    acts: str  # who acts, or what follows if nobody acts
    sentence: str
    hint: str


def loaded_codes() -> Mapping[str, Explanation]:
    """Return what the modules loaded so far declare; what is both is an error."""
    known = {made.id: _of_rule(made) for made in rules().values()}
    return known | {made.code: _of_error(made) for made in all_codes().values()}


def explain_codes(code: str | None) -> Sequence[Explanation]:
    """Return one code or id, or all of them in order."""
    for other in others():
        other.error()  # asks whether it can be used, which loads it: its codes are known then
    known = {name: Explanation(**printed) for name, printed in printed_codes().items()}
    known.update(loaded_codes())
    if code is None:
        return [known[name] for name in sorted(known)]
    if code not in known:
        raise NO_CODE(code=shown_name(code), meant=_suggestion(get_close_matches(code[:200], known, n=1)))
    return [known[code]]


def _of_error(made: ErrorCode) -> Explanation:
    acts = (made.kind.__doc__ or "").strip()
    return Explanation(made.code, made.kind.__name__, acts, _plain(made.sentence), _plain(made.hint))


def _of_rule(made: Rule) -> Explanation:
    acts = f"a check finds it ({made.severity.value}); {_plain(made.impact)}"
    return Explanation(made.id, "Finding", acts, _plain(made.description), _plain(made.suggestion))


def _plain(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


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
    raise NO_SETTING(
        name=shown_name(name), meant=_suggestion(get_close_matches(name[:200], near, n=1, cutoff=0))
    )


def _suggestion(near: Sequence[str]) -> str:
    return f"did you mean {near[0]}? " if near else ""
