"""The process of the stand-in for Redshift: `python -m … PORT STORE_PORT "host=… port=… user=… dbname=…"`.

The database is made if it is not there, and so is the bucket.  It serves until it is asked to stop.
"""

import signal
import sys
from contextlib import suppress
from threading import Event

import boto3  # type: ignore[import-untyped]
import psycopg
from moto.server import ThreadedMotoServer
from psycopg import conninfo

from wrackline.control.local.emulators.redshift import BUCKET
from wrackline.control.local.emulators.redshift_front import RedshiftFront


def main() -> None:
    """Serve."""
    port, store_port, dsn = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    end = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=store_port, verbose=False)
    moto.start()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{store_port}",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",  # noqa: S106 - moto takes any
    )
    client.create_bucket(Bucket=BUCKET)

    def fetch(bucket: str, key: str) -> bytes:
        found: bytes = client.get_object(Bucket=bucket, Key=key)["Body"].read()
        return found

    _make_database(dsn)
    front = RedshiftFront(dsn, fetch, port)
    end.wait()
    front.close()
    moto.stop()


def _make_database(dsn: str) -> None:
    fields = conninfo.conninfo_to_dict(dsn)
    outer = conninfo.make_conninfo(dsn, dbname="postgres")
    with psycopg.connect(outer, autocommit=True) as admin, suppress(psycopg.errors.DuplicateDatabase):
        admin.execute(f'CREATE DATABASE "{fields["dbname"]}"'.encode())


if __name__ == "__main__":
    main()
