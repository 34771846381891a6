"""Whatever ranges cut, and wherever a process stops: the committed rows come, each once, in one order."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.producers.oracle.model_reader import ModelReader, wanted
from tests.unit.producers.oracle.oracle_faults import FAULTS, is_caught
from tests.unit.producers.oracle.redo_model import RedoModel
from wrackline.producers.sources.oracle.transactions import change_stack
from wrackline.producers.sources.oracle.transactions.spill_file import SpillFile

SEEDS = 400  # within which each planted fault shows
DEEP = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spill")


@given(
    st.randoms(use_true_random=False),
    st.randoms(use_true_random=False),
    st.integers(5, 90),
    st.sampled_from((0.0, 0.1, 0.5)),
    st.sampled_from((0, 6_000, 1 << 20)),
)
@settings(max_examples=150)
def test_any_cut_and_any_stop_give_the_same_rows(
    folder: Path, history: Random, reading: Random, steps: int, stops: float, most_bytes: int
) -> None:
    """T-O03, T-O04."""
    model = RedoModel(history)
    model.write(steps)
    reader = ModelReader(model, reading, folder, stops, most_bytes)
    assert reader.read() == list(wanted(model))
    assert list(folder.iterdir()) == [], "a file has no name"


def test_seeds_that_are_all_alike_for_the_faults_are_read_without_them(folder: Path) -> None:
    assert [seed for seed in range(SEEDS) if is_caught(seed, folder)] == []


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_planted_fault_is_caught(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = FAULTS[name](monkeypatch)
    found = next((seed for seed in range(SEEDS) if is_caught(seed, folder, reader)), None)
    assert found is not None, f"{name} survives {SEEDS} histories"


def test_histories_have_what_the_rules_are_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are taken back from files, commits share SCNs, processes stop inside transactions."""
    monkeypatch.setattr(change_stack, "SEGMENT_BYTES", 2_000)
    seen = dict.fromkeys(("dropped", "taken back", "segments", "equal", "restarts", "threads", "cuts"), 0)

    def counted(method: str, what: str) -> None:
        real = getattr(SpillFile, method)

        def count(*given: object) -> object:
            seen[what] += 1
            return real(*given)

        monkeypatch.setattr(SpillFile, method, count)

    counted("drop", "dropped")
    counted("take_back", "taken back")
    counted("append", "segments")
    for seed in range(60):
        model = RedoModel(Random(seed))
        model.write(80)
        reader = ModelReader(model, Random(seed), folder)
        assert reader.read() == list(wanted(model))
        places = [place for place, *_ in model.expected]
        seen["equal"] += len(places) - len({place.scn for place in places})
        seen["threads"] += sum(len({row.thread for row in rows}) > 1 for *_, rows in model.expected)
        seen["restarts"] += reader.restarts
        seen["cuts"] += reader.resumed_inside
    assert min(seen.values()) >= 10, seen


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_any_cut_and_any_stop_give_the_same_rows_many_times(folder: Path) -> None:
    first = Random().getrandbits(48)
    found = [seed for seed in range(first, first + DEEP) if is_caught(seed, folder)]
    assert found == []
