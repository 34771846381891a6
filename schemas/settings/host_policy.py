"""Which hosts settings may name, if the machine's owner has made a list.  Pure.

    hosts.allow = db.example.com, *.internal.example.com, 10.1.0.0/16      the group's file
    database.hostname, kafka.bootstrap.servers, lineage.url, …             a connector's settings

A name is compared as it is written, and is not looked up: the owner of a listed name decides where it leads.
An address is compared only with the addresses and networks of the list.  A text that does not look like a
host is on no list, because programs interpret it differently.  `*` by itself covers every name, and before a
whole name (`*.example.com`) the names below it; it covers no address.
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import quote

_NAME: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_ENTRIES: Final = "names, addresses, networks, and * by itself or in front of a domain, such as *.example.com"
_STORES: Final = frozenset(
    {"s3", "s3a", "file"}
)  # schemes whose addresses begin with a bucket, or with nothing
_NUMBERS: Final = re.compile(
    r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+))*"
)  # an address, in odd forms


def entry_fault(value: object) -> str | None:
    """Return what is wrong with an entry of a list, if anything."""
    text = str(value)
    if "/" in text or ":" in text or _NUMBERS.fullmatch(text):
        try:
            ip_network(text, strict=True)
        except ValueError:
            return (
                "addresses, networks such as 10.1.0.0/16, and names such as db.example.com or *.example.com"
            )
        return None
    return None if text == "*" or _is_name(text.removeprefix("*.")) else _ENTRIES


def hosts_in(value: str) -> Iterator[str]:
    """Name the hosts of an address, or of several with commas between."""
    for one in value.split(","):
        address = one.partition("://")[2] if "://" in one else one
        host = re.split(r"[/?#]", address.strip())[0].rpartition("@")[2].lower()
        bracketed = re.fullmatch(r"\[([^\]]*)\](?::[0-9]*)?", host)
        if bracketed is not None:
            yield bracketed[1]
        else:
            yield (host.partition(":")[0] if host.count(":") == 1 else host).removesuffix(".")


def server_of(folder: str) -> str | None:
    """Return the server that a folder's address names, up to the next slash, as Hadoop reads it."""
    scheme, _, rest = folder.strip().partition("://")
    server = rest.partition("/")[0]
    if not server or "/" in scheme or scheme.lower() in _STORES:
        return None
    return quote(server, safe="@:[],")


def is_allowed(host: str, entries: Sequence[str]) -> bool:
    """Whether a host is on the list."""
    try:
        address = ip_address(host)
    except ValueError:
        return _is_name(host) and any(_covers(one.lower(), host) for one in entries)
    return any(address in ip_network(one) for one in entries if _is_network(one))


def _covers(listed: str, name: str) -> bool:
    if listed.startswith("*."):
        return entry_fault(listed) is None and name.endswith(listed[1:])
    return listed in {"*", name}


def _is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text.lower())) and not _NUMBERS.fullmatch(text.lower())


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True
