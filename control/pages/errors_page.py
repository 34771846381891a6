"""Prints docs/errors.md, and the console's file of codes: each with its kind, its sentence and its hint."""

from collections.abc import Mapping
from dataclasses import asdict

import orjson

from wrackline.control.cli.commands.explain import import_everything, loaded_codes
from wrackline.schemas.errors import Definite, ErrorCode, OperatorNeeded, Transient, all_codes

HEAD = """# Errors

Printed from the code by `python -m wrackline.control.pages.errors_page > docs/errors.md`.
On the command line: `wrackline errors <code>`.

| kind | who acts |
|---|---|
| Transient | nobody yet: Wrackline tries again, up to a limit |
| OperatorNeeded | you: the table or pipeline stops at its position until you have done what the hint says |
| Definite | you: waiting does not help, because data is gone or the request is impossible |

`{name}` stands for a name of a thing, never for a row's value or a secret.
"""

KINDS = (Transient, OperatorNeeded, Definite)


def page(codes: Mapping[str, ErrorCode]) -> str:
    """Return the page: a section for each part of the product, its codes in order."""
    parts = sorted({code.partition(".")[0] for code in codes})
    sections = [HEAD]
    for part in parts:
        rows = [_row(code) for name, code in sorted(codes.items()) if name.partition(".")[0] == part]
        sections.append(
            "\n".join([f"## {part}\n", "| code | kind | what | hint |", "|---|---|---|---|", *rows, ""])
        )
    return "\n".join(sections)


def of_everything() -> str:
    """Return the page of all codes; every module must be importable, or codes would be left out."""
    missing = import_everything()
    if missing:
        raise RuntimeError(f"install the missing extras first, these can't be imported: {', '.join(missing)}")
    ours = {name: code for name, code in all_codes().items() if not name.startswith("test.")}
    return page(ours)


def code_lines() -> str:
    """Return a line of JSON for each code and each finding, as `wrackline errors` explains them."""
    import_everything()
    declared = sorted(loaded_codes().items())
    lines = [orjson.dumps(asdict(one)).decode() for name, one in declared if not name.startswith("test.")]
    return "\n".join(lines) + "\n"


def _row(code: ErrorCode) -> str:
    kind = next(kind.__name__ for kind in KINDS if issubclass(code.kind, kind))
    return f"| `{code.code}` | {kind} | {cell(_plain(code.sentence))} | {cell(_plain(code.hint))} |"


def _plain(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def cell(text: str) -> str:
    """Make a text fit a cell of a Markdown table, with nothing in it read as markup."""
    for sign in ("\\", "|", "<", "*", "_"):
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


if __name__ == "__main__":
    print(of_everything(), end="")
