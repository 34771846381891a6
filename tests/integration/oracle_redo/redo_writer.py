"""Statements as LogMiner writes them, by chance; and others that differ from one by a few characters."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

_FIRST, _REST = "ABXÄж", "ABZ019_$# .(=,')ñ"  # of names
_LETTERS = "abcXYZ 0189.,;:|()='\"\\-/*?&@\n\täéжΩ中🌊"
_TINY = (
    "'",
    "''",
    '"',
    ",",
    " ",
    "(",
    ")",
    ";",
    "=",
    "|",
    "||",
    "\\",
    "a",
    "0",
    ".",
    "é",
    "\n",
    "NULL",
    " and ",
)


@dataclass
class RedoWriter:
    """Writes statements; none has a column twice."""

    random: Random

    def statement(self) -> str:
        """Write a statement."""
        table = f'"{self._name()}"."{self._name()}"'
        names = list(dict.fromkeys(self._name() for _ in range(self.random.choice((1, 2, 3, 5, 12)))))
        alias, dot = self.random.choice((("", ""), (" a", "a.")))
        match self.random.choice(("insert", "update", "delete")):
            case "insert":
                values = ",".join(self._value() for _ in names)
                columns = ",".join(f'"{name}"' for name in names)
                return f"insert into {table}({columns}) values ({values});"
            case "update":
                changed = names[: self.random.randint(1, len(names))]
                set_ = ", ".join(f'{dot}"{name}" = {self._value()}' for name in changed)
                if self.random.random() < 0.1:
                    return f"update {table}{alias} set {set_};"
                return f"update {table}{alias} set {set_}{self._where(names, dot)};"
            case _:
                return f"delete from {table}{alias}{self._where(names, dot)};"

    def change(self, text: str) -> str:
        """Change a statement at some places."""
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            at = self.random.randrange(len(text) + 1)
            end = at + self.random.choice((0, 0, 1, 1, 2, 8))
            match self.random.randrange(4):
                case 0:
                    text = text[:at] + text[end:]
                case 1:
                    text = text[:end] + text[at:]
                case 2:
                    other = self.random.randrange(len(text) + 1)
                    text = text[:at] + text[other : other + 8] + text[end:]
                case _:
                    text = text[:at] + self.random.choice(_TINY) + text[end:]
        return text

    def _where(self, names: list[str], dot: str) -> str:
        said = []
        for name in names:
            if self.random.random() < 0.2:
                said.append(f'{dot}"{name}" IS NULL')
            else:
                said.append(f'{dot}"{name}" = {self._value()}')
        if self.random.random() < 0.3:
            said.append(f"{dot}ROWID = 'AAAB12AAEAAAC34AAB'")
        return " where " + " and ".join(said)

    def _name(self) -> str:
        rest = "".join(self.random.choices(_REST, k=self.random.choice((0, 2, 9))))
        return self.random.choice(_FIRST) + rest

    def _value(self) -> str:
        choice = self.random.randrange(7)
        if choice < 3:
            return "'" + self._text().replace("'", "''") + "'"
        if choice == 3:
            return " || ".join(self._unistr() for _ in range(self.random.choice((1, 1, 2, 3))))
        zone = f"{self.random.choice('+-')}05:30"
        fraction = self.random.choice(("", "5", "123456789"))
        return self.random.choice(
            (
                "NULL",
                self.random.choice(("-12", "0", ".5", "1.79E+100", "9223372036854775808")),
                f"HEXTORAW('{self.random.randbytes(self.random.choice((1, 9))).hex()}')",
                f"TO_DATE('{self._moment()}', 'YYYY-MM-DD HH24:MI:SS')",
                f"TO_TIMESTAMP('{self._moment()}.{fraction}')",
                f"TO_TIMESTAMP_TZ('{self._moment()}.{fraction or '250000'} {zone}')",
                self.random.choice(("TO_DSINTERVAL('+00005 04:03:02.12')", "TO_YMINTERVAL('-0012-03')")),
                self.random.choice(("EMPTY_CLOB()", "EMPTY_BLOB()", "XMLType(:1)", "Unsupported Type")),
            )
        )

    def _text(self) -> str:
        return "".join(self.random.choices(_LETTERS, k=self.random.choice((1, 3, 10, 30))))

    def _unistr(self) -> str:
        written = []
        for letter in self._text():
            if letter == "\\":
                written.append("\\\\")
            elif letter < "\x7f":
                written.append(letter.replace("'", "''"))
            else:
                units = letter.encode("utf-16-be").hex().upper()
                written += [f"\\{units[i : i + 4]}" for i in range(0, len(units), 4)]
        return f"UNISTR('{''.join(written)}')"

    def _moment(self) -> str:
        moment = datetime(1, 1, 1, tzinfo=UTC) + timedelta(seconds=self.random.randrange(315_537_897_600))
        return moment.replace(tzinfo=None).isoformat(" ")
