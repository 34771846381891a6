"""The store between Spark and COPY: a folder for each batch, and in it a manifest that names its files.

    <target.stage>/<pipeline>/<a batch's own name>/…parquet, files.manifest

In: settings, which are those of Hadoop's file system for S3, and files.  Out: the manifest's address, for
COPY.  A prefix would do only if nothing else began with it, and Spark leaves marks of folders.  What a crash
leaves is a day old at last, and goes with `sweep`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import boto3  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from wrackline.consumers.contract.place_settings import storage_values
from wrackline.consumers.targets.redshift.refusals import (
    ENCRYPTION_UNREADABLE,
    STORE_REFUSED,
    STORE_UNREACHABLE,
)
from wrackline.schemas.settings.settings_registry import Values

MANIFEST: Final = "files.manifest"
_S3A: Final = "fs.s3a."
_OPTIONS: Final[Mapping[str, str]] = {
    "access.key": "aws_access_key_id",
    "secret.key": "aws_secret_access_key",
    "session.token": "aws_session_token",
    "endpoint.region": "region_name",
}
_ENCRYPTIONS: Final[Mapping[str, str]] = {
    "AES256": "AES256",
    "SSE-KMS": "aws:kms",
    "DSSE-KMS": "aws:kms:dsse",
}
_PAGE: Final = 1000  # objects that one request removes
_PASSES: Final = frozenset({500, 502, 503, 504})  # statuses after which another try may succeed


@dataclass(frozen=True, slots=True)
class S3Store:
    """One pipeline's part of a bucket; safe for many threads, as its client is."""

    client: Any  # boto3 has no types
    bucket: str
    folder: str  # of the pipeline, without a slash at its end
    written_with: Mapping[str, str] = field(default_factory=dict)  # how what is written is encrypted

    def new_folder(self) -> str:
        """Name a batch's own folder, as an address that Spark writes to."""
        return self._address(f"{self.folder}/{uuid4().hex}")

    def upload(self, files: Sequence[Path]) -> str:
        """Upload a batch's files, and return the address of their manifest."""
        folder = f"{self.folder}/{uuid4().hex}"
        sizes = {f"{folder}/{file.name}": file.stat().st_size for file in files}
        with self._refused("the upload of a batch"):
            for file, key in zip(files, sizes, strict=True):
                with file.open("rb") as body:
                    self.client.put_object(Bucket=self.bucket, Key=key, Body=body, **self.written_with)
        return self._write_manifest(folder, sizes)

    def seal(self, folder: str) -> str:
        """Write the manifest of what Spark has written into a folder, and return its address."""
        key = folder.removeprefix(self._address(""))
        with self._refused("a look at a batch's files"):
            sizes = {name: size for name, size, _ in self._objects(f"{key}/") if name.endswith(".parquet")}
        return self._write_manifest(key, sizes)

    def forget(self, manifest: str) -> None:
        """Remove a batch's folder."""
        folder = manifest.removeprefix(self._address("")).removesuffix(MANIFEST)
        with self._refused("the removal of a batch's files"):
            self._remove([name for name, _, _ in self._objects(folder)])

    def sweep(self, age: timedelta = timedelta(days=1)) -> int:
        """Remove what batches left that are older; return how many files."""
        before = datetime.now(UTC) - age
        with self._refused("the removal of old files"):
            old = [name for name, _, written in self._objects(f"{self.folder}/") if written < before]
            self._remove(old)
        return len(old)

    def region(self) -> str | None:
        """Return where the bucket is, if the store says it."""
        with self._refused("a look at the bucket"):
            answer = self.client.head_bucket(Bucket=self.bucket)
        found = answer.get("BucketRegion") or answer["ResponseMetadata"]["HTTPHeaders"].get(
            "x-amz-bucket-region"
        )
        return None if found is None else str(found)

    def _write_manifest(self, folder: str, sizes: Mapping[str, int]) -> str:
        entries = [
            {"url": f"s3://{self.bucket}/{key}", "mandatory": True, "meta": {"content_length": size}}
            for key, size in sizes.items()
        ]
        body, key = json.dumps({"entries": entries}).encode(), f"{folder}/{MANIFEST}"
        with self._refused("the upload of a batch"):
            self.client.put_object(Bucket=self.bucket, Key=key, Body=body, **self.written_with)
        return self._address(key)

    def _objects(self, prefix: str) -> Iterator[tuple[str, int, datetime]]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        for page in pages:
            for one in page.get("Contents", ()):
                yield one["Key"], one["Size"], one["LastModified"]

    def _remove(self, names: Sequence[str]) -> None:
        for start in range(0, len(names), _PAGE):
            listed = [{"Key": name} for name in names[start : start + _PAGE]]
            answer = self.client.delete_objects(Bucket=self.bucket, Delete={"Objects": listed, "Quiet": True})
            if refused := answer.get("Errors"):  # each object has an answer of its own
                raise ClientError({"Error": {"Code": refused[0].get("Code", "?")}}, "DeleteObjects")

    def _address(self, key: str) -> str:
        return f"s3a://{self.bucket}/{key}"

    @contextmanager
    def _refused(self, doing: str) -> Iterator[None]:
        """Say what an error of the client means; its text may name what nobody has to see."""
        try:
            yield
        except ClientError as exc:
            code = str(exc.response.get("Error", {}).get("Code", "?"))
            status = exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            kind = STORE_UNREACHABLE if status in _PASSES or code == "SlowDown" else STORE_REFUSED
            refusal = kind(doing=doing, bucket=self.bucket, folder=self.folder, why=code)
        except (BotoCoreError, OSError) as exc:
            why = type(exc).__name__
            refusal = STORE_UNREACHABLE(doing=doing, bucket=self.bucket, folder=self.folder, why=why)
        else:
            return
        raise refusal from None


def open_store(settings: Values) -> S3Store:
    """Make a client as the settings of Hadoop's file system have it; AWS's own chain says the rest."""
    stored = storage_values(settings)
    given = {name.removeprefix(_S3A): value for name, value in stored.items()}
    options: dict[str, Any] = {ours: given[name] for name, ours in _OPTIONS.items() if name in given}
    if "endpoint" in given:
        scheme = "http" if given.get("connection.ssl.enabled") == "false" else "https"
        address = given["endpoint"]
        options["endpoint_url"] = address if "://" in address else f"{scheme}://{address}"
    style = "path" if given.get("path.style.access") == "true" else "auto"
    config = Config(
        s3={"addressing_style": style}, retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10
    )
    bucket, _, prefix = settings.text("target.stage").partition("://")[2].partition("/")
    folder = "/".join(part for part in (prefix.strip("/"), settings.text("name")) if part)
    client = boto3.session.Session().client("s3", config=config, **options)
    return S3Store(client, bucket, folder, _encrypted(given))


def _encrypted(given: Mapping[str, str]) -> dict[str, str]:
    """Return how the client has to write, if the bucket's own way is not to be used."""
    wanted = given.get("encryption.algorithm")
    if wanted is None:
        return {}
    if wanted not in _ENCRYPTIONS:
        raise ENCRYPTION_UNREADABLE(name="target.storage.fs.s3a.encryption.algorithm", value=wanted)
    key = {"SSEKMSKeyId": given["encryption.key"]} if "KMS" in wanted and "encryption.key" in given else {}
    return {"ServerSideEncryption": _ENCRYPTIONS[wanted], **key}
