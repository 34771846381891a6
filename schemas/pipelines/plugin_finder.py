"""Find a plug-in by its name: a folder of ours, or an entry point of another package.

In: a side, which is sources or targets, and a name.  Out: the plug-in, or an error that says what to do.

    ours     a folder of the side's package that offers PLUGIN, and no list names it
    others   an entry point of an installed package, in the group `wrackline.sources` or `wrackline.targets`

The name must be that of a folder or an entry point, so a setting can't import anything else.  A plug-in of
others is loaded when somebody asks for it.  Whatever is wrong with it is then one error with a code, and
neither another pipeline nor another plug-in notices.
"""

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import SettingsRegistry

UNKNOWN = define(
    "plugin.unknown",
    OperatorNeeded,
    "there is no {side} named {kind}",
    hint="use one of: {known}",
)
DRIVER_MISSING = define(
    "plugin.driver_missing",
    OperatorNeeded,
    "the {side} {kind} needs the Python package that contains {module}, which is not installed",
    hint="install Wrackline with its extra {kind} (docs/installing.md); in a clone: .venv/bin/python -m pip"
    " install -e '.[{kind}]'",
)
CLASH = define(
    "plugin.clash",
    OperatorNeeded,
    "more than one installed package has a {side} named {kind}: {packages}; {used}",
    hint="keep one of them: {python} -m pip uninstall {package}",
)
IMPORT_FAILED = define(
    "plugin.import_failed",
    OperatorNeeded,
    "the {side} {kind} of the package {package} can't be loaded: {why}",
    hint="see where: {python} -c 'import {module}'; then install what is missing, or: {python} -m pip"
    " uninstall {package}",
)
OTHER_CONTRACT = define(
    "plugin.other_contract",
    OperatorNeeded,
    "the {side} {kind} of the package {package} is made for version {theirs} of the contract, and this"
    " Wrackline has version {ours}",
    hint="install a version of it that fits: {python} -m pip install --upgrade {package}",
)
NOT_A_PLUGIN = define(
    "plugin.not_a_plugin",
    Definite,
    "the {side} {kind} of the package {package} does not keep the contract: {why}",
    hint="tell its authors; what they have to offer is in docs/plugins.md; to remove it: {python} -m pip"
    " uninstall {package}",
)

OF_TARGETS = "target."  # so begins every setting of a target, and none of a source's


@dataclass(frozen=True, slots=True)
class PluginSide:
    """Sources or targets: where ours are, and what those of others must have."""

    name: str
    package: ModuleType
    contract: int  # the version that this program keeps; a plug-in of others says which one it was made for
    parts: tuple[str, ...]

    @property
    def group(self) -> str:
        """The group of entry points."""
        return f"wrackline.{self.name}s"


@dataclass(frozen=True, slots=True)
class OthersPlugin:
    """An entry point of another package."""

    side: PluginSide
    point: EntryPoint

    @property
    def kind(self) -> str:
        """The name that a pipeline calls it by."""
        return self.point.name

    @property
    def package(self) -> str:
        """The package that offers it."""
        return "?" if self.point.dist is None else self.point.dist.name

    @property
    def version(self) -> str:
        """The package's version."""
        return "?" if self.point.dist is None else self.point.dist.version

    def error(self) -> WracklineError | None:
        """Return why it can't be used, None if it can."""
        rivals = [other for other in list_others(self.side) if other.kind == self.kind]
        of_ours = self.kind in list_folders(self.side)
        if len(rivals) > 1 or of_ours:
            names = [*(["wrackline"] if of_ours else []), *(other.package for other in rivals)]
            used = "Wrackline's own is used" if of_ours else "none of them is used"
            return self.made(CLASH, packages=", ".join(names), used=used)()
        _, wrong = _load(self)
        return None if wrong is None else wrong()

    def made(self, code: Callable[..., WracklineError], **more: str) -> Callable[[], WracklineError]:
        """Return what makes an error about this plug-in."""
        names = {"side": self.side.name, "kind": self.kind, "package": self.package, "python": sys.executable}
        return partial(code, **names, **more)


@cache  # a page of each folder is read
def list_folders(side: PluginSide) -> tuple[str, ...]:
    """Name the plug-ins of ours, in alphabetical order; a folder that offers no PLUGIN is being built."""
    found = {
        one.name
        for top in side.package.__path__
        for one in iter_modules([top])
        if one.ispkg and "PLUGIN" in (Path(top) / one.name / "__init__.py").read_text()
    }
    return tuple(sorted(found))


@cache  # looking through all installed packages takes some milliseconds
def list_others(side: PluginSide) -> tuple[OthersPlugin, ...]:
    """Return every entry point of other packages, whether it can be used or not."""
    found = sorted(entry_points(group=side.group), key=lambda point: (point.name, point.value))
    return tuple(OthersPlugin(side, point) for point in found)


def list_kinds(side: PluginSide) -> tuple[str, ...]:
    """Name all plug-ins, in alphabetical order."""
    return tuple(sorted({*list_folders(side), *(other.kind for other in list_others(side))}))


def find(side: PluginSide, kind: str) -> object:
    """Return the plug-in of this name."""
    if kind in list_folders(side):
        return _folder(side, kind)
    other = next((one for one in list_others(side) if one.kind == kind), None)
    if other is None:
        known = ", ".join(list_kinds(side)) or "none is installed"
        raise UNKNOWN(side=side.name, kind=repr(kind), known=known)
    wrong = other.error()
    if wrong is not None:
        raise wrong
    return _load(other)[0]


@contextmanager
def driver_named(side: str, kind: str, besides: Collection[str] = ()) -> Iterator[None]:
    """Say which extra brings a module that an import of the block lacks, besides modules of other extras."""
    try:
        yield
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] in ("wrackline", *besides):
            raise  # a fault of ours; no pip install would help
        raise DRIVER_MISSING(side=side, kind=kind, module=exc.name) from exc


def _folder(side: PluginSide, kind: str) -> object:
    with driver_named(side.name, kind):
        folder = import_module(f"{side.package.__name__}.{kind}")
    return folder.PLUGIN


@cache  # of failures too: a second import of the same module would fail otherwise than the first
def _load(other: OthersPlugin) -> tuple[object, Callable[[], WracklineError] | None]:
    try:
        plugin = other.point.load()
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - its text may show anything, so only its type is told
        missing = f" ({exc.name})" if isinstance(exc, ModuleNotFoundError) else ""
        module = other.point.value.partition(":")[0]
        return None, other.made(IMPORT_FAILED, why=f"{type(exc).__name__}{missing}", module=module)
    try:
        return plugin, _fault(other, plugin)
    except Exception as exc:  # noqa: BLE001 - as above: a property of it runs its code
        return None, other.made(NOT_A_PLUGIN, why=f"a look at it raises {type(exc).__name__}")


def _fault(other: OthersPlugin, plugin: object) -> Callable[[], WracklineError] | None:
    """Return what makes the error of a plug-in that was loaded and can't be used."""
    ours, theirs = other.side.contract, getattr(plugin, "contract", None)
    if theirs != ours:
        shown = str(theirs) if isinstance(theirs, int) else "?"
        return other.made(OTHER_CONTRACT, theirs=shown, ours=str(ours))
    why = _broken(other, plugin)
    return None if why is None else other.made(NOT_A_PLUGIN, why=why)


def _broken(other: OthersPlugin, plugin: Any) -> str | None:  # noqa: ANN401 - it may be anything
    """Say what a plug-in lacks."""
    if lacking := [part for part in ("kind", "settings", *other.side.parts) if not hasattr(plugin, part)]:
        return f"it has no {', '.join(lacking)}"
    if plugin.kind != other.kind:
        return "its kind is not the name of its entry point"
    if not isinstance(plugin.settings, Declared):
        return "its settings are not Declared(...)"
    names = [setting.name for setting in plugin.settings.settings]
    if odd := [name for name in names if name.startswith(OF_TARGETS) != (other.side.name == "target")]:
        return f"{', '.join(odd)}: only settings of a target begin with {OF_TARGETS}, and all of them do"
    try:
        SettingsRegistry(CORE, plugin.settings)
    except ValueError as exc:
        return str(exc)
    return None
