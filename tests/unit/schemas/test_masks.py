"""Masks against values that were computed apart from this code, and the edges of text."""

import hashlib

import pytest

from wrackline.schemas.language.masks import DIGESTS, StarsMask, TruncateMask, hash_of, serialize_for_java


def test_version_2_hashes_the_salt_and_the_text() -> None:
    made = hash_of("SHA-256", "pepper", 2)("Grüße".encode())
    assert made.decode() == hashlib.sha256(b"pepperGr\xc3\xbc\xc3\x9fe").hexdigest()


def test_version_1_hashes_what_java_serializes() -> None:
    made = hash_of("md5", "s", 1)(b"abc")
    assert made.decode() == hashlib.md5(b"s\xac\xed\x00\x05t\x00\x03abc", usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("text", "java"),
    [
        ("", b"\xac\xed\x00\x05t\x00\x00"),
        ("é", b"\xac\xed\x00\x05t\x00\x02\xc3\xa9"),
        ("\U0001f600", b"\xac\xed\x00\x05t\x00\x06\xed\xa0\xbd\xed\xb8\x80"),  # a pair of surrogates
        ("x" * 65535, b"\xac\xed\x00\x05t\xff\xff" + b"x" * 65535),
        ("x" * 65536, b"\xac\xed\x00\x05|\x00\x00\x00\x00\x00\x01\x00\x00" + b"x" * 65536),
    ],
    ids=["empty", "accent", "emoji", "short", "long"],
)
def test_text_is_serialized_as_java_does(text: str, java: bytes) -> None:
    assert serialize_for_java(text.encode()) == java


@pytest.mark.parametrize("algorithm", DIGESTS)
def test_every_algorithm_makes_as_much_as_it_says(algorithm: str) -> None:
    mask = hash_of(algorithm, "salt", 2)
    assert len(mask(b"text")) == mask.most
    assert mask(b"text") == mask(b"text") != mask(b"texT")


def test_stars_say_nothing_of_the_value() -> None:
    assert StarsMask(3)(b"") == StarsMask(3)(b"a longer text") == b"***"
    assert StarsMask(0)(b"text") == b""


@pytest.mark.parametrize(
    ("text", "count", "kept"),
    [
        (b"abc", 3, b"abc"),
        (b"abcd", 3, b"abc"),
        ("äöü".encode(), 2, "äö".encode()),
        ("😀😀😀".encode(), 1, "😀".encode()),
        (b"\xff\xfe\xfd", 2, b"\xff\xfe"),
        (b"", 1, b""),
    ],
)
def test_truncation_counts_characters(text: bytes, count: int, kept: bytes) -> None:
    assert TruncateMask(count)(text) == kept
