"""Where a database server is, as a value that can be sent to a contender's process."""

from typing import NamedTuple


class Address(NamedTuple):
    """A database on 127.0.0.1 and the account that may do everything there."""

    port: int
    user: str
    password: str
    database: str
