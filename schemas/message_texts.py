"""Fills the texts of errors and findings in, so that a name in a command stays one word of it."""

import re
from collections.abc import Mapping
from typing import Final

# Names and addresses from outside, where a command has them in single quotes.
_WORD: Final = re.compile(r"'\{(table|request|path|url)\}([^'\s]*)'")
_QUOTE: Final = "'\"'\"'"  # a single quote inside of single quotes, for a shell and for Python


def fill_in(text: str, names: Mapping[str, object]) -> str:
    """Put the names into the text."""

    def quoted(found: re.Match[str]) -> str:
        word = str(names[found[1]]).replace("'", _QUOTE)
        return "'" + word.replace("{", "{{").replace("}", "}}") + found[2] + "'"

    return _WORD.sub(quoted, text).format_map(names)
