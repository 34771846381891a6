"""No text for Spanner is what its documentation refuses; each restriction finds what it is for."""

import pytest

from tests.unit.consumers.spanner.restrictions import MOST_CHARACTERS, RESTRICTIONS, broken
from tests.unit.consumers.spanner.test_spanner_texts import statements

TEXTS = [text for text in statements().strip().split("\n\n") if not text.startswith("-- ")]
KEY = "PRIMARY KEY (`a`)"
REFUSED = (
    "MERGE INTO `a` USING `b` ON c WHEN MATCHED THEN DELETE",
    "SELECT ROW_NUMBER() OVER (ORDER BY a) FROM b",
    "ALTER TABLE `a` RENAME COLUMN `b` TO `c`",
    "ALTER TABLE `a` ALTER COLUMN `b` INT64",
    "ALTER TABLE `a` DROP COLUMN IF EXISTS `b`",
    "ALTER TABLE `a` ADD COLUMN `b` INT64, ADD COLUMN `c` INT64",
    "CREATE OR REPLACE VIEW `a` AS SELECT t.`b` AS `b` FROM `c` AS t",
    "CREATE VIEW IF NOT EXISTS `a` SQL SECURITY INVOKER AS SELECT t.`b` AS `b` FROM `c` AS t",
    "CREATE OR REPLACE VIEW `a` SQL SECURITY INVOKER AS SELECT `b` AS `b` FROM `c` AS t",
    "CREATE TABLE `a` (`b` INT64)",
    f"CREATE TABLE `a` AS SELECT 1 AS b {KEY}",
    f"CREATE TABLE `a` (`b` INT64) PRIMARY KEY ({', '.join(17 * ['`b`'])})",
    f"CREATE TABLE `a` (`_b` INT64) {KEY}",
    f"CREATE TABLE `a` (`{'b' * 129}` INT64) {KEY}",
    f"CREATE TABLE `a` (`b` STRING) {KEY}",
    f"CREATE TABLE `a` (`b` STRING(2621441)) {KEY}",
    f"CREATE TABLE `a` (`b` NUMERIC(12, 2)) {KEY}",
    f"CREATE TABLE `a` (`b` DATETIME) {KEY}",
    "DELETE FROM `a`",
    "UPDATE `a` SET `b` = (SELECT 1) WHERE c",
    "INSERT INTO `a` (`b`) VALUES (1)",
    "BEGIN",
    "DELETE FROM `a` WHERE b RETURNING c",
    "SELECT " + "1" * MOST_CHARACTERS,
)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:60])
def test_a_text_breaks_no_restriction_of_the_documentation(text: str) -> None:
    assert broken(text) == []


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:60])
def test_a_refused_text_breaks_one(text: str) -> None:
    assert broken(text)


def test_each_restriction_sees_something() -> None:
    seen = {why for text in REFUSED for why in broken(text)}
    assert {why for _, why in RESTRICTIONS} - seen == set()
    assert {one for one in seen if one.startswith(("names: ", "CREATE VIEW: a name", "limits: 128 "))} == {
        "names: a letter comes first",
        "CREATE VIEW: a name of a column has its table's before it",
        "limits: 128 characters of a name",
    }
