"""Google's emulator of Spanner as a server of the stack, which Google's own client reaches over gRPC.

It is a program of Google's command line: `gcloud components install cloud-spanner-emulator`.  It has one
read-write transaction at a time, neither `SQL SECURITY DEFINER` nor rights, and all data is in its memory.

In: a folder.  Out: an `EmulatorServer`, in which an instance and a database can be made.
"""

import shutil
import socket
from functools import partial
from pathlib import Path

from google.auth.credentials import AnonymousCredentials
from google.cloud.spanner_v1.client import Client
from google.cloud.spanner_v1.database import Database

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.local.stack.servers import HOST, EmulatorServer
from wrackline.schemas.errors import OperatorNeeded, define

PROJECT, INSTANCE = "emulated", "emulated"
_WAIT_S = 30.0

NO_EMULATOR = define(
    "local.no_spanner_emulator",
    OperatorNeeded,
    "Google's emulator of Spanner is not on this machine",
    hint="it is a part of Google's command line: gcloud components install cloud-spanner-emulator",
)


def find_emulator() -> Path | None:
    """Return the emulator's program, beside Google's command line."""
    gcloud = shutil.which("gcloud")
    if gcloud is None:
        return None
    program = Path(gcloud).resolve().parent / "cloud_spanner_emulator" / "emulator_main"
    return program if program.exists() else None


def server(folder: Path) -> EmulatorServer:
    """Make a server, not yet started, whose log and port are in this folder."""
    found = find_emulator()
    if found is None:
        missing = NO_EMULATOR()
        raise missing
    folder = folder.absolute()
    port = choose(folder, "grpc")["grpc"]
    options = [f"--host_port={HOST}:{port}", "--abort_current_transaction_probability=100"]
    program = Program(
        "the emulator of Spanner", [str(found), *options], folder, [port], partial(_answers, port)
    )
    return EmulatorServer(Process(program), port)


def emulated_client(port: int) -> Client:
    """Make a client of a running emulator."""
    return Client(
        project=PROJECT,
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options={"api_endpoint": f"{HOST}:{port}"},
        disable_builtin_metrics=True,
    )


def make_database(client: Client, name: str) -> Database:
    """Make a database, and the instance if it is not there."""
    instance = client.instance(INSTANCE, f"{client.project_name}/instanceConfigs/emulator-config")
    if not instance.exists():
        instance.create().result(_WAIT_S)
    database: Database = instance.database(name)
    database.create().result(_WAIT_S)
    return database


def _answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=2).close()
    except OSError:
        return False
    return True
