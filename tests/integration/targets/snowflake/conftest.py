"""The emulator, a key pair, and a world over both."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes.snowflake_world import SnowflakeWorld
from tests.fixtures.snowflake_emulator import snowflake_emulator
from wrackline.consumers.targets.snowflake.connect import SnowflakeAccount
from wrackline.schemas.redaction import Secret

__all__ = ["snowflake_emulator"]

PASSPHRASE = "of the key"


@pytest.fixture(scope="session")
def account(snowflake_emulator: int, tmp_path_factory: pytest.TempPathFactory) -> SnowflakeAccount:
    """The account lets any key in, but the driver signs with the file's.  EMULATORS.md: sf-login."""
    file = tmp_path_factory.mktemp("snowflake") / "key.p8"
    key = rsa.generate_private_key(65537, 2048)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(PASSPHRASE.encode()),
        )
    )
    fields = {
        "account": "org-shop",
        "host": "127.0.0.1",
        "port": snowflake_emulator,
        "protocol": "http",
        "user": "wrackline",
        "private_key_file": str(file),
        "warehouse": "loads",
        "database": "shop",
    }
    return SnowflakeAccount(fields, Secret(PASSPHRASE))


@pytest.fixture
def world(account: SnowflakeAccount, tmp_path: Path) -> Iterator[SnowflakeWorld]:
    made = SnowflakeWorld(account, tmp_path)
    yield made
    made.close()
