"""MySQL 9.7, from Debian's unstable suite, unpacked into the cache and started with its own loader.

In: nothing. Out: an `Edition` for binlog_server.py. No other registry has a MySQL server, and these packages
need a newer C library than Debian's stable has; so a private apt fetches them with all that they need,
nothing is installed, and the server runs on the loader and libraries that came along. Only where apt is.
"""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from wrackline.control.local.stack.binlog_server import Edition
from wrackline.control.runtime.spark.cache import fill_once
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import MYSQL_MAJOR

MYSQL_MISSING = define(
    "stack.mysql_missing",
    OperatorNeeded,
    "a MySQL server can be had only where Debian's apt is: {tool} is missing",
    hint="use MariaDB, or with a container engine: export WRACKLINE_STACK=docker",
)
MYSQL_FETCH = define(
    "stack.mysql_fetch",
    OperatorNeeded,
    "Debian's packages of MySQL could not be fetched",
    hint="read what apt said: less {log}",
)

_PACKAGE = "mysql-server-core"
_SUITE = "sid"
_PATIENCE = 900  # seconds; 66 MB in 60 packages
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SOURCES = Path("/etc/apt")
_UNSYNCED = ("--innodb-flush-method=nosync", "--sync-binlog=0")  # only a crash of the machine would matter


def pinned_mysql() -> Edition:
    """Return MySQL, unpacked once."""
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise MYSQL_MISSING(tool=tool)
    root = fill_once(f"mysql-{MYSQL_MAJOR}", _unpack)
    libraries = root / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    [loader] = libraries.glob("ld-linux-*.so.*")
    share = root / "usr" / "share" / "mysql"
    found_in = [libraries, libraries / "mysql", root / "usr" / "lib" / "mysql" / "private"]
    server = [str(loader), "--library-path", ":".join(map(str, found_in))]
    server += [str(root / "usr" / "sbin" / "mysqld"), "--no-defaults", f"--basedir={root / 'usr'}"]
    server += [f"--lc-messages-dir={share}", f"--character-sets-dir={share / 'charsets'}"]
    server += [f"--plugin-dir={root / 'usr/lib/mysql/plugin'}", "--secure-file-priv="]
    return Edition(
        name=f"mysql-{MYSQL_MAJOR}",
        server=server,
        initialise=[*server, "--initialize-insecure"],
        settings=("--mysqlx=OFF", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", *_UNSYNCED),
    )


def _unpack(folder: Path) -> None:
    apt = folder.with_name(folder.name + ".apt")
    shutil.rmtree(apt, ignore_errors=True)
    for name in ("lists/partial", "archives/partial", "state"):
        (apt / name).mkdir(parents=True)
    (apt / "status").touch()  # as if nothing were installed: everything that is needed comes along
    (apt / "sources.list").write_text(f"deb [signed-by={_KEYS}] {mirror()} {_SUITE} main\n")
    config = apt / "apt.conf"
    settings = {
        "Dir::State": apt / "state",
        "Dir::State::Lists": apt / "lists",
        "Dir::State::Status": apt / "status",
        "Dir::Cache": apt,
        "Dir::Cache::Archives": apt / "archives",
        "Dir::Etc::SourceList": apt / "sources.list",
        "Dir::Etc::SourceParts": os.devnull,
        "Dir::Etc::Preferences": os.devnull,
        "Dir::Etc::PreferencesParts": os.devnull,
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
    }
    config.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    install = ["apt-get", "install", "-y", "--no-install-recommends", "--download-only"]
    install.append(f"{_PACKAGE}/{_SUITE}")
    with (folder.with_name(folder.name + ".log")).open("w") as log:
        for command in (["apt-get", "update"], install):
            _apt(command, config, log.name)
    for package in sorted((apt / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True, timeout=60)
    shutil.rmtree(apt)


def mirror() -> str:
    """Return the Debian mirror that this machine's own sources name."""
    for file in [_SOURCES / "sources.list", *sorted((_SOURCES / "sources.list.d").glob("*"))]:
        if file.is_file() and (found := re.search(r"https?://\S+/debian/?(?=\s|$)", file.read_text())):
            return found[0]
    raise MYSQL_MISSING(tool="a Debian mirror in /etc/apt")


def _apt(command: list[str], config: Path, log: str) -> None:
    environment = {**os.environ, "APT_CONFIG": str(config)}
    with Path(log).open("a") as out:
        ended = subprocess.run(
            command, env=environment, stdout=out, stderr=out, timeout=_PATIENCE, check=False
        )
    if ended.returncode != 0:
        raise MYSQL_FETCH(log=log)
