"""Threads share one heap: in a process of its own, because the C library's settings can't be undone."""

import ctypes
import subprocess
import sys

import pytest

_COUNTED = """
import ctypes, os, socket, sys, threading
from wrackline.control.runtime.worker import task_process
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace
from wrackline.producers.task.memory_tuning import use_one_heap
libc, all_there = ctypes.CDLL(None), threading.Barrier(9)
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
libc.malloc_info.argtypes, libc.fflush.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
def use():
    libc.malloc(5000)
    all_there.wait()
def count():
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads: thread.start()
    all_there.wait()
    reading, writing = os.pipe()
    file = libc.fdopen(writing, b"w")
    libc.malloc_info(0, file)
    libc.fflush(file)
    print(os.read(reading, 1 << 20).count(b"<heap nr="), flush=True)
    os._exit(0)
if sys.argv[1] == "of a worker's child":
    ours, theirs = socket.socketpair()
    # in place of its pipeline, which is read once its lifeline is held
    task_process._run(count, TaskPlace(), theirs)
elif sys.argv[1] == "kept":
    assert use_one_heap()
count()
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="this C library is not glibc")
def test_threads_share_one_heap() -> None:
    assert _heaps("kept") == 1
    assert _heaps("of a worker's child") == 1
    assert _heaps("as it comes") > 1


def _heaps(how: str) -> int:
    told = subprocess.run(
        [sys.executable, "-c", _COUNTED, how], check=True, capture_output=True, text=True, timeout=60
    )
    return int(told.stdout)
