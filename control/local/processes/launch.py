"""Becomes a server, after it has started a watcher that ends the server when the starter is gone.

In: `launch.py STARTER LOCK SIGNAL PROGRAM…`: the starter's process number, the number of an open and locked
file or -1, and the signal that asks the program to stop; the process leads a group of its own. Out: this
very process turns into the program, so the starter's child is the server itself.
It is right because the watcher starts before the server, watches by pidfd (no process number can be mistaken
for another, no thread's end counts as the process's), and does not need the starter alive: `kill -9` of the
starter is enough. It holds the lock until the server has gone; then the folder is free.

Runs by itself under `python -S -E`: it imports only the standard library, to start within milliseconds.
"""

import contextlib
import os
import select
import signal
import sys
from collections.abc import Sequence

NO_LOCK = -1
GRACE_MS = 10_000  # what a server gets to stop by itself before it is killed


def launched(command: Sequence[str], stop: int = signal.SIGTERM, lock: int = NO_LOCK) -> list[str]:
    """Return the command that becomes this one, and ends with this process; start it in a new session."""
    ours = [sys.executable, "-S", "-E", __file__]
    return [*ours, *(str(number) for number in (os.getpid(), lock, int(stop))), *command]


def main() -> None:
    """Fork the watcher, then become the program."""
    parent, lock, stop = map(int, sys.argv[1:4])
    command = sys.argv[4:]
    starter = os.pidfd_open(parent)
    if os.getppid() != parent:
        sys.exit("whoever started this has gone already")
    server = os.pidfd_open(os.getpid())
    group = os.getpid()
    if os.fork() == 0:
        _watch(starter, server, group, stop)
        os._exit(0)
    if lock != NO_LOCK:
        os.set_inheritable(lock, False)
    try:
        os.execvp(command[0], command)  # noqa: S606 no shell is wanted: this process becomes the server
    except OSError as exc:
        sys.exit(f"{command[0]} does not start: {exc.strerror}")


def _watch(starter: int, server: int, group: int, stop: int) -> None:
    os.setsid()  # Ctrl-C and the server's own group are not for the watcher
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    ended = select.poll()
    ended.register(starter, select.POLLIN)
    ended.register(server, select.POLLIN)
    if any(fd == server for fd, _ in ended.poll()):
        return
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(server, stop)
        signal.pidfd_send_signal(server, signal.SIGCONT)  # a paused server could not receive it
        ended.unregister(starter)
        if not ended.poll(GRACE_MS):
            os.killpg(group, signal.SIGKILL)
            ended.poll(GRACE_MS)


if __name__ == "__main__":
    main()
