"""`wrackline rest …`: what a file of users keeps, made here; no password is a word of a command line."""

import secrets
import sys
from typing import Annotated, Final

import typer

from wrackline.control.cli.terminal.output import Json, Options, print_json, say
from wrackline.control.runtime.rest.access import passwords
from wrackline.schemas.errors import Definite, define

_MOST: Final = passwords.LONGEST // 2  # bytes; in a request it grows by a third, and has a name beside it

BAD_PASSWORD = define(
    "rest.bad_password",
    Definite,
    "a password must have at least {least} characters and at most {most} bytes, in one line",
    hint="to make one at random: wrackline rest password --random",
)

app = typer.Typer(
    name="rest",
    help="Make passwords and tokens for the users of a worker's REST.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def password(
    context: typer.Context,
    *,
    random: Annotated[bool, typer.Option("--random", help="Make one, and print it only this once.")] = False,
    json: Json = False,
) -> None:
    """Read a password from a prompt, or the first line of standard input; print its line for users.toml."""
    context.ensure_object(Options).json = json
    given = secrets.token_urlsafe(18) if random else _read()
    if len(given) < passwords.SHORTEST or len(given.encode()) > _MOST or not given.isprintable():
        raise BAD_PASSWORD(least=passwords.SHORTEST, most=_MOST)
    kept = passwords.hash_password(given)
    shown = {"given": given} if random else {}
    if json:
        print_json({**shown, "password": kept})
        return
    for one in shown.values():
        say(one)
    say(f'password = "{kept}"')


@app.command()
def token(context: typer.Context, *, json: Json = False) -> None:
    """Make a token; print it, only this once, and its line for users.toml."""
    context.ensure_object(Options).json = json
    made = passwords.new_token()
    kept = passwords.digest(made)
    if json:
        print_json({"given": made, "sha256": kept})
        return
    say(made)
    say(f'tokens = [{{ sha256 = "{kept}" }}]')


def _read() -> str:
    if sys.stdin.isatty():
        given: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return given
    return sys.stdin.buffer.readline(2 * _MOST).decode(errors="replace").rstrip("\r\n")
