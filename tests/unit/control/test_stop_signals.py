"""A request to stop ends a wait, so that nobody has to look for it five times a second."""

import os
import signal
import threading

import pytest

from wrackline.control.runtime.ground.stop_signals import Alarm, hear_stop_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_noted_and_rings(number: int) -> None:
    alarm = Alarm()
    before = signal.getsignal(number)
    with hear_stop_signals(alarm) as asked:
        assert not asked()
        os.kill(os.getpid(), number)
        alarm.wait(20)
        assert asked()
        assert alarm._rings.empty(), "it was heard"
    assert signal.getsignal(number) == before


def test_a_ring_from_another_thread_ends_the_wait_that_comes_after_it() -> None:
    alarm = Alarm()
    ringing = threading.Thread(target=alarm.ring)
    ringing.start()
    ringing.join()
    assert alarm._rings.qsize() == 1
    alarm.wait(20)
    assert alarm._rings.empty()
    alarm.wait(0.0)
