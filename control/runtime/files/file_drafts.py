"""The drafts of a worker whose pipelines are files: one file each, in the folder `drafts` beside them.

In: a folder.  Out: `Drafts`, as REST needs them.  A file is readable only by its owner; what is no draft is
passed over.  Deploying writes `<name>.toml` beside the folder and starts nothing, because a worker runs the
files that it was started with.
"""

import hashlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

from wrackline.control.runtime.files.file_writer import write_file
from wrackline.control.runtime.files.toml_text import write_toml
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.rest.model.drafts import (
    FILE_EXISTS,
    NO_FILE,
    NOT_THE_OWNER,
    existing,
    refuse_changed,
    storable,
)
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.kafka.draft_records import (
    DRAFT_ID,
    MOST_BYTES,
    NAMESPACE,
    Draft,
    StoredDraft,
    read_draft,
)
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.settings.secret_refs import WIDENING
from wrackline.schemas.settings.settings_registry import SettingsRegistry

_SUFFIX: Final = ".json"
_Version = tuple[int, int, int]


class FileDrafts:
    """The drafts in one folder; only this worker writes them."""

    namespaces: Sequence[str] = (NAMESPACE,)
    typed_secrets = False

    def __init__(self, folder: Path, check: Callable[[Mapping[str, str]], Pipeline]) -> None:
        """Take the folder, which is made when the first draft is, and what checks settings."""
        self._folder, self._check, self._lock = folder, check, Lock()
        self._known: dict[str, tuple[_Version, StoredDraft | None]] = {}  # as each file was read last

    def stored(self) -> Mapping[str, StoredDraft]:
        """Look at the folder; only a file that has changed is read."""
        before, now = self._known, dict[str, tuple[_Version, StoredDraft | None]]()
        for draft_id, version in sorted(_versions(self._folder)):
            known = before.get(draft_id)
            same = known is not None and known[0] == version
            now[draft_id] = known if known is not None and same else (version, _read(self._file(draft_id)))
        self._known = now
        return {draft_id: one for draft_id, (_, one) in now.items() if one is not None}

    def put(self, draft_id: str, draft: Draft, expected: str | None) -> StoredDraft:
        """Write a file."""
        with self._lock:
            known = self.stored()
            refuse_changed(known, draft_id, expected)
            value = storable(known, draft_id, draft)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            write_file(self._file(draft_id), value.decode(), force=True)
            return StoredDraft(draft, _tag(value))

    def remove(self, draft_id: str, expected: str | None) -> None:
        """Remove the file."""
        with self._lock:
            existing(self.stored(), draft_id)
            refuse_changed(self.stored(), draft_id, expected)
            self._file(draft_id).unlink(missing_ok=True)

    def deploy(
        self, draft_id: str, expected: str | None, good: GoodSettings, wish: DesiredState
    ) -> Mapping[str, Any]:
        """Write the pipeline's file, then remove the draft."""
        del wish  # whoever starts the file decides
        settings = good.config
        if widening := [name for name in WIDENING if name in settings]:  # a file's own would count
            raise NOT_THE_OWNER(names=", ".join(widening))
        file = self._folder.parent / f"{settings['name']}.toml"
        with self._lock:
            existing(self.stored(), draft_id)
            refuse_changed(self.stored(), draft_id, expected)
            if file.exists() or file.is_symlink():
                raise FILE_EXISTS(file=file)
            checked = self._check(settings)
            write_file(file, settings_text(settings, checked.registry, checked.source), force=False)
            self._file(draft_id).unlink(missing_ok=True)
        start = f"wrackline worker {shlex.quote(str(file.absolute()))}"
        return {"name": settings["name"], "state": "WRITTEN", "file": str(file.absolute()), "start": start}

    def _file(self, draft_id: str) -> Path:
        return self._folder / f"{draft_id}{_SUFFIX}"


def settings_text(settings: Mapping[str, str], registry: SettingsRegistry, source: str | None) -> str:
    """Return the file of a pipeline with these settings, which need not be good yet."""
    installed = Installed()
    known = source is not None and source in installed.kinds("source")
    declared = installed.declared("source", source) if known and source is not None else None
    try:
        return write_toml(settings, registry, declared, ())
    except ValueError:  # a name such as `source.x` means something else in a file
        refused = NO_FILE()
        raise refused from None


def _versions(folder: Path) -> Iterator[tuple[str, _Version]]:
    """Name the files that may be drafts, each with what changes whenever it is written."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            draft_id = entry.name.removesuffix(_SUFFIX)
            if entry.name.endswith(_SUFFIX) and DRAFT_ID.fullmatch(draft_id):
                with suppress(OSError):  # it was removed meanwhile
                    seen = entry.stat(follow_symlinks=False)
                    yield draft_id, (seen.st_ino, seen.st_mtime_ns, seen.st_size)


def _read(file: Path) -> StoredDraft | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= MOST_BYTES:
            value = file.read_bytes()
            return StoredDraft(read_draft(value), _tag(value))
    return None


def _tag(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()[:16]
