"""Drafts of pipelines as they are stored: records of a group's `<group>-configs`, or files of the same text.

    draft-default-<id>   {"version", "name", "created_ms", "updated_ms", "by", "config"}

A draft may be unfinished or wrong in any way, so its `config` is kept as it was sent: an object of
settings, or the stages and connections of CDAP's document.  No task reads a draft.  Pure; a record that
can't be read is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from wrackline.schemas.untrusted import number, text

VERSION: Final = 1
MOST_BYTES: Final = 256 << 10  # of a record
MOST_DRAFTS: Final = 1000
KIND: Final = "draft"
NAMESPACE: Final = "default"
DRAFT_ID: Final = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A pipeline that is not made yet."""

    name: str
    created_ms: int
    updated_ms: int
    by: str  # the user that wrote it last; empty where nobody logs in
    config: Mapping[str, Any] = field(repr=False)  # it may contain secrets

    @property
    def staged(self) -> bool:
        """Whether it is written as CDAP's stages and connections; else as settings."""
        return "stages" in self.config


class StoredDraft(NamedTuple):
    """A draft, and what changes whenever it is written."""

    draft: Draft
    tag: str


def key_of(draft_id: str) -> bytes:
    """Return the key of a draft's record."""
    return f"{KIND}-{NAMESPACE}-{draft_id}".encode()


def write_draft(draft: Draft) -> bytes:
    """Return the value of a draft's record."""
    document = {
        "version": VERSION,
        "name": draft.name,
        "created_ms": draft.created_ms,
        "updated_ms": draft.updated_ms,
        "by": draft.by,
        "config": draft.config,
    }
    return orjson.dumps(document)


def read_draft(value: bytes) -> Draft:
    """Read a value; ValueError, KeyError or TypeError: it is none of a draft."""
    if len(value) > MOST_BYTES:
        raise ValueError("larger than a draft may be")
    return draft_of(orjson.loads(value))


def draft_of(document: Mapping[str, Any]) -> Draft:
    """Return the draft of a value that was read as JSON."""
    if document["version"] != VERSION:
        raise ValueError("a version that is not known")
    config = document["config"]
    if not isinstance(config, dict):
        raise TypeError("a configuration that is no object")
    times = number(document["created_ms"]), number(document["updated_ms"])
    return Draft(text(document["name"]), *times, text(document["by"]), config)


def id_of(key: str) -> str:
    """Return the id in a record's key without its kind; ValueError: it is none."""
    namespace, _, draft_id = key.partition("-")
    if namespace != NAMESPACE or not DRAFT_ID.fullmatch(draft_id):
        raise ValueError("no draft's key")
    return draft_id
