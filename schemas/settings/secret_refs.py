"""References to secrets inside a setting's value, resolved through an allow-list, which covers files too.

    password = "${env:WRACKLINE_DB_PASSWORD}"         an environment variable
    password = "${file:/etc/shop/db.properties:pw}"   one key of a Java properties file
    password = "${dir:/run/secrets/db:password}"      a file in a folder, as containers mount secrets
    password = "${secure(db-password)}"               as in CDAP: what secrets.secure.provider stands for

Why an allow-list: the right to write a setting must not be a right to read every file and variable of the
worker (CVE-2024-31141).  A path is checked after its symbolic links are followed.  What a reference gives is
never searched for further references.  An error names the reference, never what it holds.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings import host_policy
from wrackline.schemas.settings.host_policy import hosts_in
from wrackline.schemas.settings.value_kinds import split_list

NOT_ALLOWED = define(
    "secret.not_allowed",
    Definite,
    "settings may not read {reference}",
    hint="allow it where the worker starts: export WRACKLINE_SECRETS_ALLOW='{allow}'; or in the pipeline's"
    " file: secrets.allow.env, secrets.allow.folders",
)
NOT_FOUND = define(
    "secret.not_found",
    OperatorNeeded,
    "{reference} can't be resolved: {what}",
    hint="set it, or correct the reference; then: wrackline check <pipeline.toml>",
)
MALFORMED = define(
    "secret.malformed",
    Definite,
    "{reference} is not a reference to a secret",
    hint="write ${{env:NAME}}, ${{file:PATH:KEY}}, ${{dir:PATH:KEY}} or ${{secure(KEY)}}, not nested; the"
    " last one's key has only letters, digits, -, _ and .",
)
NO_CONNECTIONS = define(
    "secret.no_connections",
    Definite,
    "{reference} names a connection of CDAP, and there are none here",
    hint="write the connection's settings themselves: database.hostname, database.user and so on",
)

NOT_FROM_ELSEWHERE = define(
    "settings.not_from_elsewhere",
    Definite,
    "{name} is refused: {why}",
    hint='remove the line; or allow it on the machine, in the group\'s file: spark.allow = ["{name}"]; the'
    " file that a pipeline is run from may contain it",
)

HOST_REFUSED = define(
    "settings.host_refused",
    Definite,
    "{name} names a host that connectors of this group may not reach",
    hint="name another one; or allow it on the machine, in the group's file: hosts.allow",
)
NOT_WRITTEN = define(
    "settings.file_not_written",
    Definite,
    "{path} is not in a folder that connectors of this group may write to",
    hint="name a file in such a folder, or use lineage.url; or allow its folder on the machine, in the"
    " group's file: lineage.allow.folders",
)

SECURE_PROVIDER = "dir:/run/secrets"  # what stands behind ${secure(key)} if no setting says otherwise
ALLOW_VARIABLE = "WRACKLINE_SECRETS_ALLOW"
OWN_NAMES = "WRACKLINE_*"
WIDENING = ("secrets.allow.env", "secrets.allow.folders", "secrets.secure.provider")  # in a file of its owner
LARGEST_FILE = 1 << 20
SYSTEM = "system"  # libpq's word for the authorities that the system trusts
SYSTEM_AUTHORITIES = tuple(
    Path(folder)
    for folder in (
        "/etc/ssl",
        "/etc/pki",
        "/usr/share/ca-certificates",
        "/usr/local/share/ca-certificates",
    )
)

_REFERENCE = re.compile(  # closed or not, so it is linear
    r"\$\{(?:(?P<call>secure|conn)\((?P<key>[^}]*)|(?P<provider>[A-Za-z][\w-]*):(?P<rest>[^}]*))(?:\}|\Z)"
)
_BEGUN = re.compile(r"\$\{(?:env|file|dir):")
_KEY = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,200}")
_PROPERTY = re.compile(r"\s*(?P<key>(?:[^\s:=\\]|\\.)+)\s*[=:\s]?\s*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Allowed:
    """What settings may read: names of environment variables (patterns with `*`), and folders."""

    names: tuple[str, ...] = (OWN_NAMES,)
    folders: tuple[Path, ...] = ()
    handed_on: tuple[
        str, ...
    ] = ()  # names of settings for Spark and its like, beside those that any caller may set
    hosts: tuple[str, ...] | None = None  # that settings may name; None: any
    written: tuple[Path, ...] | None = None  # folders that may be written to; None: those that may be read
    secure: str = SECURE_PROVIDER  # dir:FOLDER, env:PREFIX or file:PATH

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read WRACKLINE_SECRETS_ALLOW: `env:SHOP_*,dir:/run/secrets`; only it rules requests over REST."""
        entries = [entry.strip() for entry in environ.get(ALLOW_VARIABLE, "").split(",")]
        names = tuple(e.removeprefix("env:") for e in entries if e.startswith("env:"))
        folders = tuple(Path(e.removeprefix("dir:")) for e in entries if e.startswith("dir:"))
        return cls((OWN_NAMES, *names), folders)

    def widened_by(self, given: Mapping[str, str]) -> Self:
        """Add what the settings of the owner's file say."""
        return replace(
            self,
            secure=given.get("secrets.secure.provider") or self.secure,
            names=(*self.names, *split_list(given.get("secrets.allow.env", ""))),
            folders=(*self.folders, *map(Path, split_list(given.get("secrets.allow.folders", "")))),
        )

    def of_the_owner(self) -> Self:
        """Let any setting be passed on, because the file is on this machine and its owner runs it."""
        return replace(self, handed_on=("*",))


@dataclass(frozen=True, slots=True, repr=False)
class Resolved:
    """A value with its references replaced; `secrets` are the pieces that came from them."""

    text: str
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Resolver:
    """Replaces the references of one value after the other."""

    allowed: Allowed
    environ: Mapping[str, str]

    def __call__(self, text: str) -> Resolved:
        """Replace every reference, or raise the first one's error."""
        found: list[str] = []

        def replaced(reference: re.Match[str]) -> str:
            if reference["call"]:
                found.append(self._secure(reference))
                return found[-1]
            if not reference[0].endswith("}"):
                unclosed = _BEGUN.search(reference[0])
                if unclosed:
                    raise MALFORMED(reference=f"{unclosed[0]}...")
                return reference[0]
            found.append(self._look_up(reference[0], reference["provider"], reference["rest"]))
            return found[-1]

        return Resolved(_REFERENCE.sub(replaced, text), tuple(found))

    def see_hosts(self, name: str, value: str) -> None:
        """Raise for a host that is not on the machine's list, if it has one."""
        entries = self.allowed.hosts
        if entries is not None and not all(host_policy.is_allowed(one, entries) for one in hosts_in(value)):
            raise HOST_REFUSED(name=shown_name(name))

    def see_file(self, path: str, given: str, *, authorities: bool, written: bool) -> None:
        """Raise unless a file that a setting names is in an allowed folder, links followed."""
        if authorities and path == SYSTEM:
            return
        if not may_be_path(given):
            given = "a file whose path is not absolute"
        if written and self.allowed.written is not None:
            _, real, folders = _followed(given, Path(path), self.allowed.written)
            if not any(real.is_relative_to(folder) for folder in folders):
                raise NOT_WRITTEN(path=given)
            return
        self._allowed_file(given, Path(path), SYSTEM_AUTHORITIES if authorities else ())

    def see_handed_on(self, name: str, why: str | None) -> None:
        """Raise for what must not be passed to Spark and its like, unless the machine's owner allows it."""
        if why and not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.allowed.handed_on):
            raise NOT_FROM_ELSEWHERE(name=shown_name(name), why=why)

    def _look_up(self, reference: str, provider: str, rest: str) -> str:
        if "${" in rest or not rest.isprintable():
            raise MALFORMED(reference=f"${{{provider}:...}}")
        match provider, rest.rpartition(":"):
            case "env", _ if rest:
                return self._variable(reference, rest)
            case "file", (path, _, key) if path and key:
                return self._property(reference, path, key)
            case "dir", (path, _, key) if path and key:
                return self._file_of_folder(reference, path, key)
            case _:  # its rest is not shown: it may be part of a password that only looks like a reference
                raise MALFORMED(reference=f"${{{provider}:...}}")

    def _secure(self, found: re.Match[str]) -> str:
        """Look a key up where the provider says; a key is never a path."""
        reference, key = found[0], found["key"].removesuffix(")")
        if not reference.endswith(")}") or not _KEY.fullmatch(key):
            raise MALFORMED(reference=f"${{{found['call']}(...)}}")
        if found["call"] != "secure":
            raise NO_CONNECTIONS(reference=reference)
        provider, _, place = self.allowed.secure.partition(":")
        match provider:
            case "env":
                return self._variable(reference, place + re.sub("[.-]", "_", key.upper()))
            case "file":
                return self._property(reference, place, key)
            case _:
                return self._file_of_folder(reference, place, key)

    def _variable(self, reference: str, name: str) -> str:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.allowed.names):
            raise NOT_ALLOWED(reference=reference, allow=f"env:{name}")
        if name not in self.environ:
            raise NOT_FOUND(reference=reference, what="the environment has no such variable")
        return self.environ[name]

    def _property(self, reference: str, path: str, key: str) -> str:
        properties = read_properties(self._read(reference, Path(path)))
        if key not in properties:
            raise NOT_FOUND(reference=reference, what="the file has no such key")
        return properties[key]

    def _file_of_folder(self, reference: str, path: str, key: str) -> str:
        if "/" in key or "\\" in key or key in (".", ".."):
            raise MALFORMED(reference=reference)
        text = self._read(reference, Path(path) / key)
        return text.removesuffix("\n").removesuffix("\r")  # editors and `echo` end a file with a line end

    def _allowed_file(self, reference: str, path: Path, more: Sequence[Path] = ()) -> Path:
        beside, real, folders = _followed(reference, path, (*self.allowed.folders, *more))
        if not any(real.is_relative_to(folder) for folder in folders):
            known = str(path) in reference or reference.startswith("${secure(")
            folder = path.parent if known else "<folder>"  # a reference's value is not shown
            if not real.is_relative_to(beside):  # nor is where a link leads
                folder = "<folder that the link leads to>"
            raise NOT_ALLOWED(reference=reference, allow=f"dir:{folder}")
        return real

    def _read(self, reference: str, path: Path) -> str:
        real = self._allowed_file(reference, path)
        try:
            if not real.is_file():
                raise NOT_FOUND(reference=reference, what="there is no such file")
            if real.stat().st_size > LARGEST_FILE:
                raise NOT_FOUND(reference=reference, what=f"the file is larger than {LARGEST_FILE} bytes")
            return real.read_text(encoding="utf-8")
        except OSError as exc:
            raise NOT_FOUND(reference=reference, what=f"{exc.strerror}") from None
        except UnicodeDecodeError:  # its text would contain the file's bytes
            raise NOT_FOUND(reference=reference, what="the file is not UTF-8 text") from None


def _followed(reference: str, path: Path, folders: Sequence[Path]) -> tuple[Path, Path, list[Path]]:
    """Return the folder of a path, the path, and folders, with their links followed."""
    try:
        return path.parent.resolve(), path.resolve(), [folder.resolve() for folder in folders]
    except (OSError, RuntimeError):  # a loop of symbolic links
        raise NOT_FOUND(reference=reference, what="the path can't be followed") from None


def is_reference(text: str) -> bool:
    """Whether a value is one reference to a secret, and nothing else."""
    return text.endswith("}") and _REFERENCE.fullmatch(text) is not None


def may_be_path(text: str) -> bool:
    """Whether a text looks like a file's absolute path; else it may be the key itself, pasted there."""
    return text.isprintable() and text.startswith(("/", "${", SYSTEM))


def read_properties(text: str) -> dict[str, str]:
    """Read a Java properties file: comments, `=`, `:` or blank between key and value, continued lines."""
    properties: dict[str, str] = {}
    lines = iter(re.split(r"\r\n|\r|\n", text))
    for line in lines:
        logical = line.lstrip()
        if not logical or logical[0] in "#!":
            continue
        while _continued(logical):
            logical = logical[:-1] + next(lines, "").lstrip()
        found = _PROPERTY.match(logical)
        if found:
            properties[_unescape(found["key"])] = _unescape(found["value"])
    return properties


def _continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    def letter(escape: re.Match[str]) -> str:
        word = escape[1]
        if len(word) > 1:
            return chr(int(word[1:], 16))
        return _LETTERS.get(word, word)

    pairs = _ESCAPE.sub(letter, text)  # \u escapes are UTF-16: two of them may be one character
    return pairs.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
