"""Fields of a saved position: what Kafka gave back is not trusted.  Pure.

An error names the field in our own words and never shows its content.
"""

from collections.abc import Mapping

from wrackline.producers.contract.steps import Json
from wrackline.schemas.untrusted import is_number


class SavedFieldError(Exception):
    """A field has another form; no ValueError, so that nobody takes it for a value that can't be parsed."""


def number_in(saved: Mapping[str, Json], name: str) -> int:
    """Return a whole number of 0 or more."""
    value = saved.get(name)
    if not is_number(value):
        raise SavedFieldError(f"{name} is not a whole number of 0 or more")
    return value


def text_in(saved: Mapping[str, Json], name: str) -> str:
    """Return a text."""
    value = saved.get(name)
    if not isinstance(value, str):
        raise SavedFieldError(f"{name} is not text")
    return value


def object_in(value: Json, name: str) -> Mapping[str, Json]:
    """Return an object: a field's value, or what stands for one that is not there."""
    if not isinstance(value, Mapping):
        raise SavedFieldError(f"{name} is not an object")
    return value
