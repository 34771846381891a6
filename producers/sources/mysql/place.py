"""Where in the log the reading is: file and offset, 64 bits wide, of which an event says the low 32.  Pure.

A file is larger than 4 GB where one transaction made it so.  Every event of it comes by, so the high bits
follow from the order; a heartbeat of the second kind says all 64.
"""

from wrackline.producers.sources.mysql.position import History, MySqlPosition, file_number

_LOW = 1 << 32


class Place:
    """Follows the events of one dump."""

    def __init__(self, start: MySqlPosition, server: str) -> None:
        known = start.history
        self.history = History(server, known.file if known else "", known.begun if known else 0)
        self.number, self.offset = start.file, start.offset

    def moved(self, file: str, offset: int) -> None:
        """The log goes on in a file; when that was begun, its format description will say."""
        begun = self.history.begun if file == self.history.file else 0
        self.history = History(self.history.server, file, begun)
        self.number, self.offset = file_number(file), offset

    def begun(self, when: int) -> None:
        """The file was begun then."""
        self.history = History(self.history.server, self.history.file, when)

    def passed(self, low: int) -> None:
        """An event ends at an offset with these low bits."""
        offset = self.offset - self.offset % _LOW + low
        self.offset = offset if offset >= self.offset else offset + _LOW

    def is_behind(self, at: MySqlPosition) -> bool:
        """Whether this is later than a position between two transactions, or inside one."""
        return (self.number, self.offset) > (at.file, at.offset)
