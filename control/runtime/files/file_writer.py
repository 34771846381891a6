"""Writes a file whole or not at all, readable only by its owner, and overwrites nothing unless requested.

    a temporary file beside it, mode 0600 --> written, flushed to disk --> linked or renamed to its name

Why a link: it fails over a file that came meanwhile, where a rename would replace it.  A symbolic link is
never followed: another user may have chosen where it leads.
"""

import contextlib
import os
import secrets
from pathlib import Path

from wrackline.schemas.errors import OperatorNeeded, define

EXISTS = define(
    "init.file_exists",
    OperatorNeeded,
    "{file} is there already",
    hint="choose another name; or replace it: wrackline init --force {file}",
)
NOT_WRITTEN = define(
    "init.not_written",
    OperatorNeeded,
    "{file} can't be written: {why}",
    hint="correct the path or the folder's rights, then repeat the command",
)


def printable_path(path: Path) -> str:
    """Return a path as it can be printed."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(path))


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise if nothing may be written there: before anything is asked, and again before it is written."""
    try:
        there = path.is_symlink() or path.exists()
    except (OSError, ValueError) as exc:
        raise _not_written(path, exc) from None
    if printable_path(path) != str(path):  # no command that names it could be pasted
        raise NOT_WRITTEN(file=printable_path(path), why="its name has characters that can't be printed")
    if not there:
        return
    if path.is_symlink():
        raise NOT_WRITTEN(file=printable_path(path), why="it is a symbolic link; name the file itself")
    if not path.is_file():
        raise NOT_WRITTEN(file=printable_path(path), why="what is there is not a file")
    if not force:
        raise EXISTS(file=printable_path(path))


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Put a file with this text there."""
    refuse_existing(path, force=force)
    beside = path.parent / f".wrackline-init.{secrets.token_hex(8)}"
    try:
        try:
            _fill(beside, text.encode())
            _name(beside, path, force=force)
        finally:
            with contextlib.suppress(OSError):
                beside.unlink()
        _flush(path.parent)
    except FileExistsError:
        raise EXISTS(file=printable_path(path)) from None
    except (OSError, ValueError) as exc:
        raise _not_written(path, exc) from None


def _fill(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)  # a umask may have taken the owner's rights as well
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _name(beside: Path, path: Path, *, force: bool) -> None:
    if force:
        beside.replace(path)
        return
    try:
        path.hardlink_to(beside)
    except FileExistsError:
        raise
    except OSError:  # a file system without links; `refuse_existing` has just looked
        refuse_existing(path, force=False)
        beside.rename(path)


def _flush(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems can't; the file is there
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _not_written(path: Path, exc: OSError | ValueError) -> Exception:
    why = exc.strerror if isinstance(exc, OSError) else None
    return NOT_WRITTEN(file=printable_path(path), why=why or "no file can have this name")
