"""The server of the model: its databases, its users, its time, and the faults that a test plans.

One lock guards everything.  A statement that needs a row that another transaction has written waits on it,
until that transaction ends, the client cancels, or the time that a test hands in has passed the statement's
lock timeout.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Condition, RLock
from types import MappingProxyType
from zoneinfo import ZoneInfo

from wrackline.control.local.sqlserver_standin.model.database import Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.wire.collations import DEFAULT, Collation
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

VERSION = (16, 0, 4003)
DESCRIPTION = "Microsoft SQL Server 2022: a stand-in for Wrackline's tests, not a real server"
AZURE = 5
ZONES: Mapping[str, str] = MappingProxyType(
    {
        "UTC": "UTC",
        "W. Europe Standard Time": "Europe/Berlin",
        "Central European Standard Time": "Europe/Warsaw",
        "GMT Standard Time": "Europe/London",
        "Eastern Standard Time": "America/New_York",
        "Pacific Standard Time": "America/Los_Angeles",
        "India Standard Time": "Asia/Kolkata",
        "Tokyo Standard Time": "Asia/Tokyo",
    }
)
"""Windows' names of zones; a server has more."""
_REPLICA = uuid.UUID("8f0b4c52-0f77-4b6e-8d9a-6a3f1c7e2b11")
_START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
_UNREADABLE = {"OFFLINE": 942, "RESTORING": 927, "RECOVERING": 922, "SUSPECT": 926, "SECONDARY": 976}


@dataclass(slots=True)
class PlannedFault:
    """What happens to the next statement that contains a text: an error, or what a test does first."""

    text: str
    error: ServerError | None = None
    act: Callable[[], None] | None = None


@dataclass(slots=True, eq=False)
class ModelServer:
    """A server."""

    name: str = "STANDIN"
    now: dt.datetime = _START
    zone: dt.tzinfo = dt.UTC
    zone_name: str = "UTC"
    edition: int = 3
    """`EngineEdition`: 2 Standard, 3 Enterprise, 5 Azure SQL Database, 8 Managed Instance."""
    passwords: dict[str, str] = field(default_factory=dict)
    administrators: set[str] = field(default_factory=set)
    viewers: set[str] = field(default_factory=set)
    """Who has VIEW SERVER STATE beside the administrators."""
    contained: dict[str, str] = field(default_factory=dict)
    """Users that exist in one database only."""
    tokens: dict[str, tuple[str, dt.datetime]] = field(default_factory=dict, repr=False)
    """Whom a token is for, and when it expires."""
    databases: dict[str, ModelDatabase] = field(default_factory=dict)
    agent_runs: bool = True
    """Whether SQL Server Agent is started."""
    replica: uuid.UUID = _REPLICA
    """The replica of availability groups that this server is."""
    faults: list[PlannedFault] = field(default_factory=list)
    lock: Condition = field(default_factory=lambda: Condition(RLock()))

    def __post_init__(self) -> None:
        for name in ("master", "tempdb", "model", "msdb"):
            self.create_database(name)

    def create_database(self, name: str, collation: Collation = DEFAULT) -> ModelDatabase:
        """Make a database."""
        with self.lock:
            number = len(self.databases) + 1
            made = ModelDatabase(name, number, self, self.lock, self.now, collation)
            self.databases[name.lower()] = made
            return made

    def drop_database(self, name: str) -> None:
        """Drop a database."""
        with self.lock:
            del self.databases[name.lower()]

    def holds(self, database: ModelDatabase) -> bool:
        """Say whether a database is there, and can be read."""
        return self.databases.get(database.name.lower()) is database and database.state not in _UNREADABLE

    def create_login(self, user: str, password: str, *, administrator: bool = False) -> None:
        """Make a SQL log-in; one that is no administrator sees a database that it has a grant in."""
        self.passwords[user.lower()] = password
        if administrator:
            self.administrators.add(user.lower())

    def run_agent(self, *, runs: bool) -> None:
        """Start or stop SQL Server Agent, and the capture jobs with it."""
        with self.lock:
            self.agent_runs = runs
            for one in self.databases.values():
                if one.cdc is not None:
                    one.cdc.start() if runs else one.cdc.stop()

    def issue_token(self, token: str, user: str, *, seconds: float = 3600) -> None:
        """Take a token as an identity provider's, for a user with a log-in."""
        self.tokens[token] = (user, self.now + dt.timedelta(seconds=seconds))

    def grant(self, user: str, database: str, grant: Grant) -> None:
        """Let a user into a database."""
        self.databases[database.lower()].grants[user.lower()] = grant

    def logs_in(self, user: str, password: str, database: str) -> bool:
        """Say whether the password is right, and the database one that the user can be in."""
        known = self.contained.get(user.lower(), database.lower()) == database.lower()
        return known and self.passwords.get(user.lower()) == password

    def database(self, name: str, user: str) -> ModelDatabase:
        """Return a database that the user may enter and that can be read."""
        found = self.databases.get(name.lower())
        if found is None:
            raise ServerError(
                911, f"Database '{name}' does not exist. Make sure that the name is entered correctly."
            )
        if found.state in _UNREADABLE:
            raise ServerError(
                _UNREADABLE[found.state],
                f"Database '{found.name}' cannot be opened: {found.state}.",
                severity=14,
            )
        if self.right(found, user) is None:
            text = f'The server principal "{user}" is not able to access the database "{found.name}"'
            raise ServerError(916, f"{text} under the current security context.", severity=14)
        return found

    def right(self, database: ModelDatabase, user: str) -> Grant | None:
        """Return what a user may do in a database, or None if it may not enter it."""
        if user.lower() in self.administrators:
            return Grant(owner=True)
        if database.number <= 4:
            return Grant(schemas=frozenset({"dbo"}))
        return database.grants.get(user.lower())

    def views_state(self, user: str) -> bool:
        """Say whether a user may see the state of the server, and so of each database."""
        return user.lower() in self.viewers | self.administrators

    def advance(self, **by: float) -> None:
        """Hand in time: `advance(seconds=5)`; who waits for a lock looks at it."""
        with self.lock:
            self.now += dt.timedelta(**by)
            self.lock.notify_all()

    def set_time(self, now: dt.datetime) -> None:
        """Set the time."""
        with self.lock:
            self.now = now
            self.lock.notify_all()

    def tick(self, now: dt.datetime) -> None:
        """Set the time and let each database's jobs run, as an agent does."""
        with self.lock:
            self.now = now
            for database in self.databases.values():
                if database.cdc is not None:
                    database.run_jobs()
            self.lock.notify_all()

    def local(self, moment: dt.datetime) -> dt.datetime:
        """Return a moment as the server's own clock shows it, which is how `datetime` columns have it."""
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def time_zone(self, name: str) -> dt.tzinfo:
        """Return a zone by its name on Windows."""
        if name.lower() == self.zone_name.lower():
            return self.zone
        if name in ZONES:
            return ZoneInfo(ZONES[name])
        text = f"The time zone parameter '{name}' provided to AT TIME ZONE clause is invalid."
        raise ServerError(9820, text)

    def plan(
        self, text: str, error: ServerError | None = None, act: Callable[[], None] | None = None
    ) -> None:
        """Plan a fault for the next statement that contains a text."""
        with self.lock:
            self.faults.append(PlannedFault(text, error, act))

    def meet(self, statement: str) -> None:
        """Let a planned fault happen, if one is planned for this statement."""
        for fault in self.faults:
            if fault.text in statement:
                self.faults.remove(fault)
                if fault.act is not None:
                    fault.act()
                if fault.error is not None:
                    raise fault.error
                return
