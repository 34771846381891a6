"""What comes from elsewhere: each package and jar has its hash, is what is asked for, and may be shipped."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wrackline.control.runtime.spark import jars
from wrackline.control.runtime.spark.jars import JAR_ALTERED
from wrackline.schemas import versions
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.jar_hashes import SHA256

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAY_BE_SHIPPED = {
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "LGPL-3.0-only",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "PSF-2.0",
}


def locked(name: str) -> dict[str, str]:
    """Each package's version; every line of the file is a requirement with hashes."""
    found = {}
    for words in (ROOT / "deploy" / name).read_text().replace("\\\n", " ").splitlines():
        package, version, _, hashes = re.fullmatch(
            r"([a-z0-9-]+)==(\S+)( ; [^-]+?)?((?: +--hash=sha256:[0-9a-f]{64})+)", words
        ).groups()  # type: ignore[union-attr]  # a line of another form fails here
        assert hashes
        found[package] = version
    return found


def asked(names: list[str]) -> list[Requirement]:
    return [one for one in map(Requirement, names) if one.name != "wrackline"]


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("requirements-build.txt", asked(PROJECT["build-system"]["requires"])),
        (
            "requirements.txt",
            asked(
                [
                    *PROJECT["project"]["dependencies"],
                    *PROJECT["project"]["optional-dependencies"]["spark"],
                    *PROJECT["build-system"]["requires"],
                ]
            ),
        ),
    ],
)
def test_the_image_has_packages_with_hashes_in_the_range_of_the_project(
    file: str, wanted: list[Requirement]
) -> None:
    """A-SUPPLY-01."""
    has = locked(file)
    assert wanted
    outside = [
        str(one)
        for one in wanted
        if not one.specifier.contains(has.get(canonicalize_name(one.name), "0"), prereleases=True)
    ]
    assert outside == [], f"write deploy/{file} again: deploy/lock.sh"


def test_the_licence_of_every_package_in_the_image_is_listed_and_allows_shipping() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text().partition("| package | licence |")[2]
    rows = re.findall(r"^\| ([a-z0-9-]+) \| (.+) \|$", page, re.MULTILINE)
    assert dict(rows).keys() == locked("requirements.txt").keys()
    for package, licence in rows:
        for one in re.split(r" (?:AND|OR) ", licence.replace("(", "").replace(")", "")):
            assert one in MAY_BE_SHIPPED, package


def test_every_jar_that_is_named_has_a_hash() -> None:
    every = [*versions.KAFKA, versions.APICURIO, versions.MARIADB, *versions.SPARK, versions.ICEBERG_AWS]
    every += [versions.HADOOP_AWS, *versions.CONNECT, versions.APICURIO_CONVERTER]
    every += [one for jars_of in versions.REST_CATALOGUE for one in jars_of]
    every += [versions.debezium(database) for database in ("postgres", "mysql", "mariadb")]
    every += [versions.postgres_binaries(major) for major in versions.POSTGRES_VERSIONS]
    for jar in every:
        tail = f"-{jar.classifier}" if jar.classifier else ""
        assert f"{jar.group}/{jar.artifact}-{jar.version}{tail}.{jar.type}" in SHA256


@pytest.mark.parametrize("name", ["slf4j-api-1.7.36.jar", "slf4j-nobody-1.jar"])
def test_a_jar_that_is_another_or_unknown_is_not_handed_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-SUPPLY-02."""
    false = tmp_path / "ivy" / "org.slf4j" / "slf4j-api" / "jars" / name
    false.parent.mkdir(parents=True)
    false.write_bytes(b"PK somebody else's")
    monkeypatch.setattr(jars, "_read_list", lambda _: [false])
    with pytest.raises(OperatorNeeded) as refused:
        jars.fetch(versions.KAFKA, cache=tmp_path)
    assert refused.value.code == JAR_ALTERED.code
    assert str(false) in refused.value.hint


def test_a_jar_that_changes_after_it_was_handed_out_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "ivy" / "g" / "m" / "jars" / "a-1.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"one")
    monkeypatch.setattr(jars, "_read_list", lambda _: [jar])
    monkeypatch.setitem(SHA256, "g/a-1.jar", jars.sha256(jar))
    assert jars.fetch(versions.KAFKA, cache=tmp_path) == [jar]
    jar.write_bytes(b"three")
    with pytest.raises(OperatorNeeded):
        jars.fetch(versions.KAFKA, cache=tmp_path)
