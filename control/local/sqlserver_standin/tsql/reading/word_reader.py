"""A place in the words of a batch: what comes next, and taking it."""

from wrackline.control.local.sqlserver_standin.tsql.reading.words import Word, WordKind, words
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SIZED, SqlType, sql_type

_KEYWORDS = (WordKind.NAME, WordKind.SIGN)
_RESERVED = frozenset(
    {
        *("SELECT", "FROM", "WHERE", "ORDER", "BY", "UNION", "ALL", "AND", "OR", "NOT", "IN", "IS"),
        *("NULL", "LIKE", "BETWEEN", "AS", "ON", "JOIN", "LEFT", "INNER", "CROSS", "OUTER", "TOP"),
        *("INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE", "EXEC", "EXECUTE", "BEGIN", "COMMIT"),
        *("ROLLBACK", "SAVE", "TRAN", "TRANSACTION", "USE", "IF", "ELSE", "END", "CASE", "WHEN", "THEN"),
        *("EXISTS", "DECLARE", "WITH", "GROUP", "HAVING", "DISTINCT", "DESC", "ASC", "CAST", "CONVERT"),
        *("CREATE", "ALTER", "DROP", "TRUNCATE", "MERGE", "OPTION", "RIGHT", "FULL", "WHILE", "RETURN"),
        *("PRINT", "WAITFOR", "FOR", "COLLATE"),
    }
)


def listed_names(text: str) -> list[str]:
    """Read names that are listed with commas."""
    reader = WordReader(text)
    found = [reader.name()]
    while reader.skip(","):
        found.append(reader.name())
    return found


def name_parts(text: str) -> tuple[str, ...]:
    """Read a name of several parts."""
    return WordReader(text).parts()


class WordReader:
    """A place in the words of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = words(text)
        self._signs = [one.text.upper() if one.kind in _KEYWORDS else None for one in self._words]
        self.at = 0

    @property
    def word(self) -> Word:
        """The next word."""
        return self._words[self.at]

    def at_end(self) -> bool:
        """Say whether nothing is left."""
        return self.word.kind is WordKind.END

    def peek(self) -> Word:
        """The word behind the next."""
        return self._words[min(self.at + 1, len(self._words) - 1)]

    def step(self) -> Word:
        """Take the next word."""
        word = self.word
        self.at = min(self.at + 1, len(self._words) - 1)
        return word

    def is_next(self, *texts: str) -> bool:
        """Say whether the next words are these keywords or signs."""
        if self._signs[self.at] != texts[0]:  # which is nearly always so
            return False
        return self._signs[self.at : self.at + len(texts)] == list(texts)

    def at_word(self, ahead: int, text: str) -> bool:
        """Say whether the word so far ahead is this keyword or sign."""
        return self._signs[self.at + ahead : self.at + ahead + 1] == [text]

    def skip(self, *texts: str) -> bool:
        """Take these words if they come next."""
        if not self.is_next(*texts):
            return False
        self.at += len(texts)
        return True

    def need(self, *texts: str) -> None:
        """Take these words, or say that the syntax is wrong."""
        if not self.skip(*texts):
            raise self.wrong()

    def wrong(self) -> ServerError:
        """Return the server's error about the next word."""
        return ServerError(102, f"Incorrect syntax near '{self.word.text or 'end of text'}'.", severity=15)

    def name(self) -> str:
        """Take a name."""
        if self.word.kind is WordKind.QUOTED or (
            self.word.kind is WordKind.NAME and self.word.text.upper() not in _RESERVED
        ):
            return self.step().text
        raise self.wrong()

    def has_name(self) -> bool:
        """Say whether a name comes next."""
        quoted = self.word.kind is WordKind.QUOTED
        return quoted or (self.word.kind is WordKind.NAME and self.word.text.upper() not in _RESERVED)

    def parts(self) -> tuple[str, ...]:
        """Take a name of several parts; two dots name the schema that is understood."""
        found = [self.name()]
        while self.skip("."):
            found.append("dbo" if self.is_next(".") else self.name())
        return tuple(found)

    def type(self, length: int = 1) -> SqlType:
        """Take a type; `length` is that of a text or of bytes that are declared without one."""
        text = self.name()
        if self.skip("("):
            sizes = [self.step().text]
            while self.skip(","):
                sizes.append(self.step().text)
            self.need(")")
            text += f"({','.join(sizes)})"
        elif text.lower() in SIZED:
            text += f"({length})"
        return sql_type(text)
