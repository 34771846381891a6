"""How much memory a running task has, and how much it may have: bytes, never time."""

from pathlib import Path

from tests.integration.running.world import Running

MB = 1 << 20


def allowed(largest_row: int) -> int:
    """What a task may hold at most, under any load."""
    return 300 * MB + 6 * largest_row


def resident(running: Running) -> int:
    """What it holds now."""
    return _told(running, "VmRSS")


def peak(running: Running) -> int:
    """The most that it has held, or since `forget_peak`."""
    return _told(running, "VmHWM")


def forget_peak(running: Running) -> None:
    """Let the peak start over at what is held now."""
    Path(f"/proc/{running.process.pid}/clear_refs").write_text("5")


def _told(running: Running, name: str) -> int:
    for line in Path(f"/proc/{running.process.pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10  # in kB
    raise AssertionError(f"the kernel does not say {name}")
