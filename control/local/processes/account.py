"""Lends database servers, which refuse to run as root, an unprivileged user.

In: user names in order of preference. Out: what to put before a command, and a folder given to that user;
both nothing if we are not root. It is right wherever the folder is, even below /root: the one capability that
the server gets lets it pass through folders that are not its own.
"""

import os
import pwd
import shutil
from pathlib import Path

from wrackline.schemas.errors import OperatorNeeded, define

NO_SETPRIV = define(
    "stack.no_setpriv",
    OperatorNeeded,
    "database servers refuse to run as root, and setpriv, which lends them the user {user}, is missing",
    hint="apt-get install util-linux, or run as an ordinary user",
)
NO_ACCOUNT = define(
    "stack.no_account",
    OperatorNeeded,
    "database servers refuse to run as root, and none of the users {names} exists",
    hint="useradd --system postgres, or run as an ordinary user",
)

_LAST = "nobody"


def command_prefix(liked: str) -> list[str]:
    """Return what to put before a command so that it runs as `liked`, or else as nobody."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise NO_SETPRIV(user=liked)
    user = _account(liked)
    lent = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    # access(2) looks at capabilities only when the uid was not to change them (no_setuid_fixup)
    lent += ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return [setpriv, *lent, "--"]


def give(folder: Path, liked: str) -> Path:
    """Make a private folder that belongs to the user that `command_prefix` lends."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    if os.geteuid() == 0:
        user = _account(liked)
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


def _account(liked: str) -> pwd.struct_passwd:
    for name in (liked, _LAST):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NO_ACCOUNT(names=f"{liked}, {_LAST}")
