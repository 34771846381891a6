"""What an Iceberg table has applied is the sum of what its snapshots say, whatever came in between."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.contract.applied_text import parse, text
from wrackline.consumers.contract.plan import Applied, NewestChange, TopicPartition
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergSnapshot, walk_snapshots
from wrackline.consumers.targets.iceberg.upkeep import expires_before

PARTITIONS = [TopicPartition(topic, partition) for topic in ("s.d.p.a", "s.d.p.b") for partition in (0, 1)]
MINUTE = 60_000

seqs = st.integers(0, 99).map("{:04x}".format)
appliances = st.builds(
    Applied,
    st.dictionaries(st.sampled_from(PARTITIONS), st.integers(0, 2**63 - 1)),
    st.none() | seqs,
    st.none() | st.builds(NewestChange, seqs, st.none() | st.integers(1, 9), st.integers(1, 9)),
    st.dictionaries(st.sampled_from(["s.d.p.a", "s.d.p.b"]), st.sampled_from(["0a", "0b"])),
)


def history(*said: Applied | None) -> tuple[dict[int, IcebergSnapshot], int]:
    """One commit after the other; None: another writer's."""
    snapshots = {
        at: IcebergSnapshot(at - 1 if at else None, at * MINUTE, None if one is None else text(one))
        for at, one in enumerate(said)
    }
    return snapshots, len(said) - 1


@given(appliances)
def test_what_is_written_is_read(applied: Applied) -> None:
    assert parse(text(applied), "t", "DROP TABLE t") == applied


def test_what_was_written_before_topics_had_ids_is_read() -> None:
    older = '{"version": 2, "offsets": {"s.d.p.a": {"0": 5}}, "floor": null, "newest": null}'
    assert parse(older, "t", "DROP TABLE t") == Applied({PARTITIONS[0]: 5})


@given(st.lists(st.none() | appliances, min_size=1, max_size=6))
def test_nothing_moves_back(said: list[Applied | None]) -> None:
    before = walk_snapshots(*history(*said[:-1]), "t").applied if len(said) > 1 else Applied()
    after = walk_snapshots(*history(*said), "t").applied
    assert before.then(after) == after == before.then(said[-1] or Applied())


def test_a_late_writer_of_an_old_base_takes_nothing_back() -> None:
    here, there = PARTITIONS[:2]
    first = Applied({here: 5}, "0004", NewestChange("0009", 1, 2))
    late = Applied({there: 3}, None, NewestChange("0002", 1, 1))
    found = walk_snapshots(*history(first, late), "t")
    assert found.applied == Applied({here: 5, there: 3}, "0004", NewestChange("0009", 1, 2))
    assert found.depth is None, "no snapshot knows it all: it is written again before one expires"
    assert found.floor is None, "the late one voided nothing: the next merge has to"


def test_commits_of_others_between_ours_are_skipped() -> None:
    said = Applied({PARTITIONS[0]: 5})
    found = walk_snapshots(*history(said, None, None), "t")
    assert (found.applied, found.depth, len(found.ages)) == (said, 2, 3)


def test_a_table_set_back_says_what_it_had() -> None:
    snapshots, head = history(Applied({PARTITIONS[0]: 5}), Applied({PARTITIONS[0]: 9}))
    assert walk_snapshots(snapshots, head - 1, "t").applied == Applied({PARTITIONS[0]: 5})
    assert walk_snapshots({1: replace(snapshots[1], parent=77)}, 1, "t").applied.offsets == {PARTITIONS[0]: 9}
    assert walk_snapshots(snapshots, None, "t").applied == Applied()


def test_what_readers_may_need_stays() -> None:
    hour = 60 * MINUTE
    young = [(200 - at) * MINUTE for at in range(50)]
    assert expires_before([], hour) is None
    assert expires_before(young, hour) is None
    assert expires_before([*young, 100 * MINUTE], hour) == 140 * MINUTE


def test_snapshots_are_bounded_but_for_the_youngest() -> None:
    hour, newest = 60 * MINUTE, 10**9
    each_second = [newest - at * 1000 for at in range(2000)]
    assert expires_before(each_second, hour) == newest - 10 * MINUTE
    each_two = [newest - at * 2000 for at in range(2000)]
    assert expires_before(each_two, hour) == each_two[499]
