"""The suites see statements that are wrong in one place, whichever form they have."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.promises import broken
from tests.fakes.duck_service import DIALECT, IN_PARTS, DuckService, DuckSession
from tests.fakes.duck_world import DuckWorld, Frame, ModelCarrier
from tests.fixtures.tiers import alternatives
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.merge import StageColumn
from wrackline.consumers.staged.service import CarriedFiles, StagedSession
from wrackline.consumers.staged.state import StateMove
from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import AppendPromises, HardDeletePromises, HistoryPromises
from wrackline.testing.targets.target_suite import TargetSuite

NEWER = r's\.seq > t\."_wl_seq"'
AT_ONE_PLACE = r'OR \(s\.seq = t\."_wl_seq" AND t\."_wl_deleted" AND NOT s\.deleted\)'
WRONG: list[tuple[str, str, type, str]] = [  # what is found in a text, what stands there, and who sees it
    (NEWER, "TRUE", TargetSuite, "test_an_older_change_never_wins"),
    (AT_ONE_PLACE, "", KeyPromises, "test_what_was_made_at_the_place_of_its_delete_lives"),
    (r"WHERE seq >= '\w+'", "", TargetSuite, "test_a_truncate_is_a_floor"),
    (r'WHERE "_wl_seq" < .*', "WHERE FALSE", TargetSuite, "test_a_truncate_is_a_floor"),
    (r'THEN t\."big" ELSE', "THEN NULL ELSE", TargetSuite, "test_a_partial_update_keeps_what_is_stored"),
    (
        r"THEN '4,' ELSE",
        "THEN '' ELSE",
        TargetSuite,
        "test_a_partial_insert_is_incomplete_until_a_full_image",
    ),
    (r't\."_wl_deleted" OR ', "", TargetSuite, "test_a_new_row_takes_nothing_of_an_old_one"),
    (r'"_wl_deleted" = s\.deleted', '"_wl_deleted" = FALSE', TargetSuite, "test_a_delete_keeps_its_seq"),
    (r'WHERE NOT "_wl_deleted" AND', "WHERE", TargetSuite, "test_a_delete_keeps_its_seq"),
    (
        r'"_wl_missing" IS NULL',
        "TRUE",
        TargetSuite,
        "test_a_partial_insert_is_incomplete_until_a_full_image",
    ),
    (r'"(\w+)" AS "\w+"', r'"\1" AS "\1"', TargetSuite, "test_a_renamed_column_keeps_its_values"),
    (r" AND b\.part = s\.part", "", TargetSuite, "test_a_letter_twice_is_a_letter_once"),
    (r"WHERE storage = '\w+' AND", "WHERE", TargetSuite, "test_letters_are_a_tables_own"),
    (r'CAST\("weight" AS VARCHAR\)', 'ABS("weight")', KeylessPromises, "test_contents_are_compared_exactly"),
    (
        '"_wl_row copy" > "_wl_row went"',
        '"_wl_row copy" >= "_wl_row went"',
        KeylessPromises,
        "test_each_row_is_stored_as_often_as_it_came",
    ),
    (" AND copy <= went", "", KeylessPromises, "test_upkeep_drops_old_pairs_alone"),
    (r"\nWHERE NOT EXISTS \(.*", "", AppendPromises, "test_every_event_is_a_row"),
    (
        r"NOT s\.deleted AND (?=NOT EXISTS)|(?<=NOT MATCHED) AND NOT s\.deleted",
        "",
        HardDeletePromises,
        "test_a_hard_delete_leaves_nothing",
    ),
    (
        "DROP TABLE IF EXISTS .*_wl_state__.*",
        "SELECT 1",
        DropSuite,
        "test_a_dropped_table_goes_with_all_that_is_its_own",
    ),
]
TRUNCATES, UNSENT = "test_a_truncate_ends_what_lived", "test_what_was_not_sent_comes_from_the_event_before"
WRONG_HISTORIES = [
    ("op <> 'd' AND (?=COALESCE.LEAD)", "", "test_a_version_is_valid_until_the_next"),
    (
        r"CASE WHEN shown THEN CASE WHEN cut .* AS ends",
        "NULL AS ends",
        "test_a_version_is_valid_until_the_next",
    ),
    (r'(?<="_wl_key" = s\.k) AND t\."_wl_row" = s\.e', "", "test_a_version_is_valid_until_the_next"),
    ("CASE WHEN cut < followed THEN cut ELSE", "CASE WHEN FALSE THEN cut ELSE", TRUNCATES),
    (r" UNION ALL SELECT x\..*? WHERE b\.op = 't'", "", TRUNCATES),
    (r" UNION ALL SELECT seq, 1 FROM .*? WHERE op = 't'", "", TRUNCATES),
    (r" UNION ALL SELECT t\.\"_wl_seq\", 0 FROM .*? IS NULL(?= UNION|\))", "", TRUNCATES),
    (r"\(PARTITION BY k, epoch, missing", "(PARTITION BY k, missing", TRUNCATES),
    (r"MAX\(CASE WHEN begins THEN seq END\)", "MAX(seq)", "test_untracked_columns_begin_no_version"),
    ('"__START_AT" IS NOT NULL AND', "", "test_untracked_columns_begin_no_version"),
    ('"_wl_missing" IS NULL', "TRUE", UNSENT),
    ("LIKE '%,4,%' THEN 0 ELSE 1", "LIKE '%,4,%' THEN 1 ELSE 1", UNSENT),
    ("late4 = 1", "FALSE", UNSENT),
    (r', "big" = s\.w4', "", UNSENT),
    (r"(?<=, )s\.unsent", "NULL", UNSENT),
]
WRONG += [(part, other, HistoryPromises, promise) for part, other, promise in WRONG_HISTORIES]


@pytest.mark.full
@pytest.mark.parametrize("dialect", alternatives([DIALECT, IN_PARTS]), ids=["merge", "parts"])
@pytest.mark.parametrize(("part", "other", "suite", "promise"), WRONG, ids=map(str, range(len(WRONG))))
def test_a_suite_catches(
    dialect: StagedDialect, part: str, other: str, suite: type, promise: str, tmp_path: Path
) -> None:
    replaced = 0

    def spoil(text: str) -> str:
        nonlocal replaced
        spoiled, times = re.subn(part, other, text)
        replaced += times
        return spoiled

    def make() -> DuckWorld:
        world = DuckWorld(tmp_path, dialect)
        world.service.reach = lambda text: spoil(world.trap.reach(text))
        return world

    assert broken(suite, [promise], make) == {promise}
    assert replaced, "no text has such a part"


class CommitsInParts(DuckSession):
    """Each statement is committed by itself."""

    def commit(self, move: StateMove, steps: Sequence[str], name: str) -> bool:
        for text in (move.text, *steps, "COMMIT", "COMMITTED"):
            self._reach(text) if text.startswith("COMMIT") else self.run(text)
        return bool(name)


class ServiceInParts(DuckService):
    def session(self) -> StagedSession:
        return CommitsInParts(self.connect(), self._pass_on)


@pytest.mark.parametrize("dialect", alternatives([DIALECT, IN_PARTS]), ids=["merge", "parts"])
def test_the_suite_catches_a_commit_in_parts(dialect: StagedDialect, tmp_path: Path) -> None:
    promise = "test_a_crash_leaves_all_of_a_batch_or_nothing"
    assert broken(TargetSuite, [promise], lambda: DuckWorld(tmp_path, dialect, ServiceInParts)) == {promise}


@pytest.mark.parametrize(
    "promise",
    [
        "test_a_value_beyond_a_limit_is_refused_before_anything_is_kept",
        "test_a_character_that_is_not_held_is_refused_before_anything_is_kept",
    ],
)
def test_the_suite_catches_a_carrier_that_looks_at_no_limit(promise: str, tmp_path: Path) -> None:
    class Blind(ModelCarrier):
        def carry(self, frame: Frame, plan: MergePlan, columns: Sequence[StageColumn]) -> CarriedFiles:
            return super().carry(frame, plan, [replace(one, limit=None) for one in columns])

    def make() -> DuckWorld:
        world = DuckWorld(tmp_path)
        world.carrier = Blind(tmp_path)
        world.restart()
        return world

    assert broken(TargetSuite, [promise], make) == {promise}
