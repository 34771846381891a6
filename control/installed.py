"""Which kinds of sources and targets are installed, found by their folders' names.

In: the packages `producers.sources` and `consumers.targets`.  Out: each folder's settings.  Only the
folder's `config` module is imported, so checking a file needs no database driver and no Spark.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules, walk_packages
from types import ModuleType

import wrackline.consumers
import wrackline.control
import wrackline.producers
import wrackline.schemas
from wrackline.consumers import targets
from wrackline.producers import sources
from wrackline.schemas.core_settings import CORE
from wrackline.schemas.pipeline import Side
from wrackline.schemas.plugins import DRIVER_MISSING, known
from wrackline.schemas.setting import Declared
from wrackline.schemas.settings import Registry

PACKAGES: Mapping[Side, ModuleType] = {"source": sources, "target": targets}
HALVES = (wrackline.schemas, wrackline.producers, wrackline.consumers, wrackline.control)


class Installed:
    """The plug-ins of this installation, as `schemas.pipeline.Plugins` asks for them."""

    def kinds(self, side: Side) -> Sequence[str]:
        """Name the folders that declare settings; one without a config module is not ready."""
        package = PACKAGES[side]
        return [kind for kind in known(package) if _has_config(package, kind)]

    def declared(self, side: Side, kind: str) -> Declared:
        """Return what a folder's config module declares."""
        try:
            settings = import_module(f"{PACKAGES[side].__name__}.{kind}.config").SETTINGS
        except ModuleNotFoundError as exc:
            if _ours(exc):
                raise
            raise DRIVER_MISSING(side=side, kind=kind, module=exc.name) from exc
        if not isinstance(settings, Declared):
            raise TypeError(f"the config module of {kind} has no SETTINGS: Declared(...)")
        return settings


def registries() -> Mapping[str, Registry]:
    """The core's settings under an empty name, then each plug-in's own under `source <kind>`."""
    found = {"": Registry(CORE)}
    installed = Installed()
    for side in PACKAGES:
        for kind in installed.kinds(side):
            found[f"{side} {kind}"] = Registry(installed.declared(side, kind))
    return found


def import_everything() -> tuple[str, ...]:
    """Import every module of ours, so that each error code is registered; name those that can't be."""
    missing = []
    for half in HALVES:
        for found in walk_packages(half.__path__, f"{half.__name__}."):
            try:
                import_module(found.name)
            except ModuleNotFoundError as exc:
                if _ours(exc):
                    raise
                missing.append(found.name)  # an optional dependency, as Spark
    return tuple(missing)


def _has_config(package: ModuleType, kind: str) -> bool:
    """Look without importing: the folder itself may import a driver that is not installed."""
    folders = [f"{path}/{kind}" for path in package.__path__]
    return any(found.name == "config" for found in iter_modules(folders))


def _ours(exc: ModuleNotFoundError) -> bool:
    return exc.name is None or exc.name.partition(".")[0] == "wrackline"
