"""Which kinds of sources and targets are installed, found by their folders' names.

In: the packages `producers.sources` and `consumers.targets`.  Out: each folder's settings.  Only the
folder's `config` module is imported, so checking a file needs no database driver and no Spark.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from wrackline.consumers import targets
from wrackline.producers import sources
from wrackline.schemas.pipelines.pipeline import Side
from wrackline.schemas.pipelines.plugin_finder import DRIVER_MISSING, list_kinds
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import SettingsRegistry

PACKAGES: Mapping[Side, ModuleType] = {"source": sources, "target": targets}


class Installed:
    """The plug-ins of this installation, as `schemas.pipeline.Plugins` requires them."""

    def kinds(self, side: Side) -> Sequence[str]:
        """Return the folders that declare settings; a folder without a config module is not ready."""
        package = PACKAGES[side]
        return [kind for kind in list_kinds(package) if _has_config(package, kind)]

    def declared(self, side: Side, kind: str) -> Declared:
        """Return what a folder's config module declares."""
        try:
            settings = import_module(f"{PACKAGES[side].__name__}.{kind}.config").SETTINGS
        except ModuleNotFoundError as exc:
            if is_ours(exc):
                raise
            raise DRIVER_MISSING(side=side, kind=kind, module=exc.name) from exc
        if not isinstance(settings, Declared):
            raise TypeError(f"the config module of {kind} has no SETTINGS: Declared(...)")
        return settings


def registries() -> Mapping[str, SettingsRegistry]:
    """The core's settings under an empty name, then each plug-in's own under `source <kind>`."""
    found = {"": SettingsRegistry(CORE)}
    installed = Installed()
    for side in PACKAGES:
        for kind in installed.kinds(side):
            found[f"{side} {kind}"] = SettingsRegistry(installed.declared(side, kind))
    return found


def _has_config(package: ModuleType, kind: str) -> bool:
    """Look without importing: the folder itself may import a driver that is not installed."""
    folders = [f"{path}/{kind}" for path in package.__path__]
    return any(found.name == "config" for found in iter_modules(folders))


def is_ours(exc: ModuleNotFoundError) -> bool:
    """Whether the module that is missing is one of our own: that is a fault, and no missing driver."""
    return exc.name is None or exc.name.partition(".")[0] == "wrackline"
