"""Reads statements that define: tables with plain columns, their changes, databases and their options."""

from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import (
    ColumnAlteration,
    Constant,
    DatabaseDefinition,
    Definition,
    TableDefinition,
    TableRemoval,
)
from wrackline.control.local.sqlserver_standin.tsql.reading.word_reader import WordReader
from wrackline.control.local.sqlserver_standin.tsql.reading.words import WordKind

_OPTIONS = frozenset({"READ_COMMITTED_SNAPSHOT", "ALLOW_SNAPSHOT_ISOLATION"})


class DefinitionReader:
    """Reads definitions at a place."""

    def __init__(self, words: WordReader) -> None:
        self._words = words

    def read(self) -> Definition:
        """Read a definition."""
        if self._words.skip("CREATE", "TABLE"):
            return self._table()
        if self._words.skip("ALTER", "TABLE"):
            return self._alteration()
        for kind in ("DROP", "TRUNCATE"):
            if self._words.skip(kind, "TABLE"):
                return TableRemoval(kind, self._words.parts())
        if self._words.skip("CREATE", "DATABASE"):
            return DatabaseDefinition("CREATE", self._words.name())
        if self._words.skip("DROP", "DATABASE"):
            return DatabaseDefinition("DROP", self._words.name())
        if self._words.skip("ALTER", "DATABASE"):
            return self._option()
        raise self._words.wrong()

    def _table(self) -> TableDefinition:
        return self.columns(self._words.parts())

    def columns(self, name: tuple[str, ...] = ()) -> TableDefinition:
        """Read what stands in the brackets of a table's definition."""
        columns: list[tuple[str, str]] = []
        key: list[str] = []
        unique: list[str] = []
        defaults: dict[str, Constant] = {}
        self._words.need("(")
        while True:
            if self._words.skip("CONSTRAINT"):
                self._words.name()
            if self._words.is_next("PRIMARY", "KEY"):
                key += self._index("PRIMARY", "KEY")
            elif self._words.is_next("UNIQUE"):
                unique += self._index("UNIQUE")
            else:
                columns.append(self._column(key, unique, defaults))
            if not self._words.skip(","):
                break
        self._words.need(")")
        return TableDefinition(name, tuple(columns), tuple(key), tuple(unique), defaults)

    def _index(self, *kind: str) -> list[str]:
        self._words.need(*kind)
        _ = self._words.skip("CLUSTERED") or self._words.skip("NONCLUSTERED")
        self._words.need("(")
        names = [self._words.name()]
        while self._words.skip(","):
            names.append(self._words.name())
        self._words.need(")")
        return names

    def _column(self, key: list[str], unique: list[str], defaults: dict[str, Constant]) -> tuple[str, str]:
        """Read a column; that it is a key, and its default, are added to what is there."""
        name, declaration = self._words.name(), self._declaration()
        if (default := self._default()) is not None:
            defaults[name] = default
        if self._words.skip("CONSTRAINT"):
            self._words.name()
        if self._words.skip("PRIMARY", "KEY"):
            key.append(name)
            _ = self._words.skip("CLUSTERED") or self._words.skip("NONCLUSTERED")
        if self._words.skip("UNIQUE"):
            unique.append(name)
        return name, declaration

    def _declaration(self) -> str:
        """Read type, COLLATE, IDENTITY and NULL, and return them in one order."""
        of = str(self._words.type())
        collation = f" collate {self._words.name()}" if self._words.skip("COLLATE") else ""
        identity = ""
        if self._words.skip("IDENTITY"):
            identity = " identity"
            if self._words.skip("("):
                first = self._words.step().value
                self._words.need(",")
                if (first, self._words.step().value) != (1, 1):
                    raise self._words.wrong()
                self._words.need(")")
        null = " not null" if self._words.skip("NOT", "NULL") else ""
        self._words.skip("NULL")
        return f"{of}{collation}{identity}{null}"

    def _default(self) -> Constant | None:
        """Read DEFAULT with a literal, which may be in brackets."""
        if self._words.is_next("CONSTRAINT") and not self._words.at_word(2, "DEFAULT"):
            return None
        if self._words.skip("CONSTRAINT"):
            self._words.name()
        if not self._words.skip("DEFAULT"):
            return None
        brackets = 0
        while self._words.skip("("):
            brackets += 1
        word = self._words.step()
        if word.kind is not WordKind.VALUE:
            raise self._words.wrong()
        for _ in range(brackets):
            self._words.need(")")
        return Constant(word.value)

    def _alteration(self) -> ColumnAlteration:
        table = self._words.parts()
        if self._words.skip("ADD"):
            name, declaration, default = self._words.name(), self._declaration(), self._default()
            fills = self._words.skip("WITH", "VALUES")
            return ColumnAlteration(table, "ADD", name, declaration, default, fills)
        if self._words.skip("DROP", "COLUMN"):
            return ColumnAlteration(table, "DROP", self._words.name())
        self._words.need("ALTER", "COLUMN")
        return ColumnAlteration(table, "ALTER", self._words.name(), self._declaration())

    def _option(self) -> DatabaseDefinition:
        name = self._words.name()
        self._words.need("SET")
        option = self._words.name().upper()
        if option not in _OPTIONS:
            raise self._words.wrong()
        on = self._words.skip("ON")
        if not on:
            self._words.need("OFF")
        return DatabaseDefinition("SET", name, option, on)
