"""How many connections there are, and how many of these are of one neighbour.

What one host can have without effort counts as one: an IPv6 network of 64 bits, this machine's addresses, and
an IPv4 address however it is written.  No count is kept of an address without a connection, because a worker
runs for years.
"""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

_OF_A_HOST = 64  # bits of a network that one host is given


class ConnectionCounts:
    """Counts connections; in one thread."""

    def __init__(self) -> None:
        self.total = 0
        self.neighbours: dict[str, int] = {}

    def of(self, address: str) -> int:
        """Return how many there are of an address and its neighbours."""
        return self.neighbours.get(neighbourhood(address), 0)

    def begin(self, address: str) -> None:
        """Count one more."""
        self.total += 1
        self.neighbours[neighbourhood(address)] = self.of(address) + 1

    def end(self, address: str) -> None:
        """Count one less."""
        self.total -= 1
        left = self.of(address) - 1
        if left:
            self.neighbours[neighbourhood(address)] = left
        else:
            del self.neighbours[neighbourhood(address)]


@lru_cache(maxsize=1024)  # it is asked five times for each connection
def neighbourhood(address: str) -> str:
    """Return what an address is counted as; a connection that is already over may have none."""
    if not address:
        return address
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if found.is_loopback:
        return "this machine"
    return str(ip_network((found, _OF_A_HOST), strict=False) if isinstance(found, IPv6Address) else found)
