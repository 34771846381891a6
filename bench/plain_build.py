"""The other build of the compiled modules: makes Python import `name.py` if `name.so` is beside it."""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


class _SourceFirst:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for folder in path or ():
            file = Path(folder) / f"{name.rpartition('.')[2]}.py"
            if name.startswith("wrackline.") and file.exists():
                return importlib.util.spec_from_file_location(name, file)
        return None


def prefer_source() -> None:
    """Let what this process imports from here on run as plain Python."""
    sys.meta_path.insert(0, _SourceFirst)
