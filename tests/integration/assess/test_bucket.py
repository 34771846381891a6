"""A bucket in which a role may delete nothing is found before a start.

moto stands in for S3, Glue and IAM, and judges each request by the policy of the role that signed it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]  # it has no types
import pytest
import requests

from tests.e2e.catalogues import KEYS, glue
from tests.fixtures.prepared import run_command
from tests.integration.assess.world import PgAssessWorld, assess_later
from wrackline.consumers.targets.iceberg.drop import KEEPS_ALL
from wrackline.control.local.processes.process import Process

pytestmark = [pytest.mark.servers, pytest.mark.full]

ROLE = "copies"


class Bucket:
    """A catalogue of Glue over a bucket, as a role sees it that may do everything at first."""

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        self.settings = settings
        self._url, self._keys = url, KEYS
        iam = self._client("iam")
        iam.create_user(UserName=ROLE)
        made = iam.create_access_key(UserName=ROLE)["AccessKey"]
        self.allow(deletes=True)
        self._keys = KEYS | {
            "AWS_ACCESS_KEY_ID": made["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
        }
        requests.post(
            f"{url}/moto-api/reset-auth", data="0", timeout=60
        ).raise_for_status()  # judge from now on

    def allow(self, *, deletes: bool) -> None:
        """Write the role's policy."""
        rules = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
        if not deletes:
            rules.append({"Effect": "Deny", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::lake/*"})
        document = json.dumps({"Version": "2012-10-17", "Statement": rules})
        self._client("iam").put_user_policy(UserName=ROLE, PolicyName=ROLE, PolicyDocument=document)

    def objects(self) -> list[str]:
        """Return what lies in the bucket."""
        listed = self._client("s3").list_objects_v2(Bucket="lake")
        return [one["Key"] for one in listed.get("Contents", [])]

    def environment(self) -> dict[str, str]:
        """Return the role's keys, for a command."""
        return {**os.environ, **self._keys}

    def _client(self, service: str) -> Any:
        keys = [self._keys[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
        ours = dict(zip(("aws_access_key_id", "aws_secret_access_key"), keys, strict=True))
        return boto3.client(service, endpoint_url=self._url, region_name=self._keys["AWS_REGION"], **ours)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    """Run moto with a bucket."""
    catalogue = glue(tmp_path / "catalogue")
    process = Process(catalogue.program)
    process.start()
    try:
        catalogue.prepare()
        named = dict(line.split(" = ") for line in catalogue.lines)
        given = {f"target.{name}": value.strip('"') for name, value in named.items()}
        yield Bucket(given["target.catalog.glue.endpoint"], given)
    finally:
        process.kill()


def merge_of(done: Mapping[str, Any]) -> Any:
    """Return what the trial of a merge says."""
    [trial] = (one for one in done["trials"] if one["id"] == "merge")
    return trial


@pytest.mark.timeout(900)
def test_a_bucket_that_deletes_nothing_is_found(world: PgAssessWorld, bucket: Bucket) -> None:
    world.given |= {"target.kind": "iceberg", **bucket.settings}
    bucket.allow(deletes=False)
    said = run_command(
        ["assess", str(world.file()), "--probe", "--json"], env=bucket.environment(), timeout=400
    )
    assert merge_of(json.loads(said.stdout))["failed"] == KEEPS_ALL.code, said.stdout
    assert bucket.objects(), "the trial's table is still there, with its files"
    bucket.allow(deletes=True)
    assert merge_of(assess_later(world, bucket.environment()))["ok"]
    assert (bucket.objects(), world.topics()) == ([], set()), "and the next one has removed it"
