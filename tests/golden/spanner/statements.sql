CREATE TABLE IF NOT EXISTS `wrackline`.`wl_state` (place STRING(MAX) NOT NULL, number INT64, version INT64, source STRING(MAX), made STRING(MAX), shape STRING(MAX), applied STRING(MAX)) PRIMARY KEY (place)

CREATE TABLE IF NOT EXISTS `wrackline`.`wl_dead_letters` (storage STRING(MAX) NOT NULL, topic STRING(MAX) NOT NULL, part INT64 NOT NULL, place INT64 NOT NULL, piece INT64 NOT NULL, code STRING(MAX), reason STRING(MAX), kept_ms INT64, key_part BYTES(MAX), value_part BYTES(MAX)) PRIMARY KEY (storage, topic, part, place, piece)

ALTER TABLE `wrackline`.`db_public__orders` ADD COLUMN IF NOT EXISTS `more` STRING(MAX)

ALTER TABLE `wrackline`.`db_public__orders` DROP COLUMN `more`

UPDATE `wrackline`.`db_public__orders` SET `more__2` = FORMAT('%.12f', `more`) WHERE `more` IS NOT NULL OR `more__2` IS NOT NULL

-- upsert

CREATE TABLE IF NOT EXISTS `wrackline`.`db_public__orders` (`wl_key` STRING(MAX) NOT NULL, `shop` STRING(MAX), `number` INT64, `label` STRING(MAX), `big` STRING(MAX), `wl_seq` STRING(MAX), `wl_op` STRING(MAX), `wl_deleted` BOOL, `wl_missing` STRING(MAX), `wl_commit_ts` TIMESTAMP, `wl_made_0f` BOOL) PRIMARY KEY (`wl_key`)

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big` FROM `wrackline`.`db_public__orders` AS t WHERE NOT t.`wl_deleted` AND t.`wl_missing` IS NULL

SELECT t.`wl_key` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_seq` < @floor LIMIT 10

DELETE FROM `wrackline`.`db_public__orders` WHERE `wl_seq` < @floor

SELECT COUNT(*) FROM `wrackline`.`db_public__orders` AS t WHERE NOT t.`wl_deleted` AND t.`wl_missing` IS NOT NULL

DELETE FROM `wrackline`.`db_public__orders` WHERE `wl_deleted` AND `wl_commit_ts` < @before

-- append

CREATE TABLE IF NOT EXISTS `wrackline`.`db_public__orders` (`wl_key` STRING(MAX) NOT NULL, `shop` STRING(MAX), `number` INT64, `label` STRING(MAX), `big` STRING(MAX), `wl_seq` STRING(MAX), `wl_op` STRING(MAX), `wl_deleted` BOOL, `wl_missing` STRING(MAX), `wl_commit_ts` TIMESTAMP, `wl_made_0f` BOOL) PRIMARY KEY (`wl_key`)

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big`, t.`wl_op` AS `wl_op`, t.`wl_seq` AS `wl_seq`, t.`wl_commit_ts` AS `wl_commit_ts`, NULLIF(',' || CASE WHEN COALESCE(t.`wl_missing`, '') LIKE '%,1,%' THEN 'shop,' ELSE '' END || CASE WHEN COALESCE(t.`wl_missing`, '') LIKE '%,2,%' THEN 'number,' ELSE '' END || CASE WHEN COALESCE(t.`wl_missing`, '') LIKE '%,3,%' THEN 'label,' ELSE '' END || CASE WHEN COALESCE(t.`wl_missing`, '') LIKE '%,4,%' THEN 'big,' ELSE '' END, ',') AS `wl_missing` FROM `wrackline`.`db_public__orders` AS t

SELECT t.`wl_key` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_seq` < @floor LIMIT 10

DELETE FROM `wrackline`.`db_public__orders` WHERE `wl_seq` < @floor

SELECT COUNT(*) FROM `wrackline`.`db_public__orders` AS t WHERE NOT t.`wl_deleted` AND t.`wl_missing` IS NOT NULL

DELETE FROM `wrackline`.`db_public__orders` WHERE `wl_deleted` AND `wl_commit_ts` < @before

-- history

CREATE TABLE IF NOT EXISTS `wrackline`.`db_public__orders` (`wl_key` STRING(MAX) NOT NULL, `wl_row` STRING(MAX) NOT NULL, `shop` STRING(MAX), `number` INT64, `label` STRING(MAX), `big` STRING(MAX), `wl_seq` STRING(MAX), `wl_op` STRING(MAX), `wl_deleted` BOOL, `wl_missing` STRING(MAX), `wl_commit_ts` TIMESTAMP, `wl_unsent` STRING(MAX), `wl_start` STRING(MAX), `wl_end` STRING(MAX), `wl_made_0f` BOOL) PRIMARY KEY (`wl_key`, `wl_row`)

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big`, t.`wl_start` AS `wl_start_at`, t.`wl_end` AS `wl_end_at`, t.`wl_commit_ts` AS `wl_commit_ts` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` IS NOT NULL AND t.`wl_missing` IS NULL

SELECT t.`wl_key`, t.`wl_row` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_seq` < @floor LIMIT 10

DELETE FROM `wrackline`.`db_public__orders` WHERE `wl_seq` < @floor

SELECT COUNT(*) FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` IS NOT NULL AND t.`wl_missing` IS NOT NULL

SELECT DISTINCT t.`wl_key` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` < @seq AND (t.`wl_end` IS NULL OR t.`wl_end` > @seq) LIMIT 10

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big`, (CAST(CAST(SPLIT(t.`wl_start`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '9223372036854775808' AS INT64)) AS `wl_start_at`, (CAST(CAST(SPLIT(t.`wl_end`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '9223372036854775808' AS INT64)) AS `wl_end_at`, t.`wl_commit_ts` AS `wl_commit_ts` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` IS NOT NULL AND t.`wl_missing` IS NULL

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big`, DATE_FROM_UNIX_DATE(CAST(CAST(SPLIT(t.`wl_start`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '9223372036854775808' AS INT64)) AS `wl_start_at`, DATE_FROM_UNIX_DATE(CAST(CAST(SPLIT(t.`wl_end`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '9223372036854775808' AS INT64)) AS `wl_end_at`, t.`wl_commit_ts` AS `wl_commit_ts` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` IS NOT NULL AND t.`wl_missing` IS NULL

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big`, TIMESTAMP_MICROS(CAST(CAST(SPLIT(t.`wl_start`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '9223372036854775808' AS INT64)) AS `wl_start_at`, TIMESTAMP_MICROS(CAST(CAST(SPLIT(t.`wl_end`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '9223372036854775808' AS INT64)) AS `wl_end_at`, t.`wl_commit_ts` AS `wl_commit_ts` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` IS NOT NULL AND t.`wl_missing` IS NULL

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big`, REPLACE(REPLACE(REPLACE(SPLIT(t.`wl_start`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)], CODE_POINTS_TO_STRING([2, 2]), CODE_POINTS_TO_STRING([0])), CODE_POINTS_TO_STRING([2, 3]), CODE_POINTS_TO_STRING([1])), CODE_POINTS_TO_STRING([2, 4]), CODE_POINTS_TO_STRING([2])) AS `wl_start_at`, REPLACE(REPLACE(REPLACE(SPLIT(t.`wl_end`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)], CODE_POINTS_TO_STRING([2, 2]), CODE_POINTS_TO_STRING([0])), CODE_POINTS_TO_STRING([2, 3]), CODE_POINTS_TO_STRING([1])), CODE_POINTS_TO_STRING([2, 4]), CODE_POINTS_TO_STRING([2])) AS `wl_end_at`, t.`wl_commit_ts` AS `wl_commit_ts` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` IS NOT NULL AND t.`wl_missing` IS NULL

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT t.`shop` AS `shop`, t.`number` AS `number`, t.`label` AS `label`, t.`big` AS `big`, CAST(SPLIT(t.`wl_start`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '10000000000000000' AS `wl_start_at`, CAST(SPLIT(t.`wl_end`, CODE_POINTS_TO_STRING([1]))[SAFE_OFFSET(0)] AS NUMERIC) - NUMERIC '10000000000000000' AS `wl_end_at`, t.`wl_commit_ts` AS `wl_commit_ts` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_start` IS NOT NULL AND t.`wl_missing` IS NULL

-- no key

CREATE TABLE IF NOT EXISTS `wrackline`.`db_public__orders` (`wl_key` STRING(MAX) NOT NULL, `shop` STRING(MAX), `number` INT64, `label` STRING(MAX), `big` STRING(MAX), `weight` FLOAT64, `wl_seq` STRING(MAX), `wl_op` STRING(MAX), `wl_deleted` BOOL, `wl_missing` STRING(MAX), `wl_commit_ts` TIMESTAMP, `wl_made_0f` BOOL) PRIMARY KEY (`wl_key`)

CREATE OR REPLACE VIEW `db_public`.`orders` SQL SECURITY DEFINER AS SELECT c.`shop` AS `shop`, c.`number` AS `number`, c.`label` AS `label`, c.`big` AS `big`, c.`weight` AS `weight` FROM (SELECT ANY_VALUE(t.`shop`) AS `shop`, ANY_VALUE(t.`number`) AS `number`, ANY_VALUE(t.`label`) AS `label`, ANY_VALUE(t.`big`) AS `big`, ANY_VALUE(t.`weight`) AS `weight`, SUM(IF(t.`wl_deleted`, -1, 1)) AS `wl copies` FROM `wrackline`.`db_public__orders` AS t GROUP BY t.`shop`, t.`number`, t.`label`, t.`big`, t.`weight`, IEEE_DIVIDE(1, t.`weight`)) AS c, UNNEST(GENERATE_ARRAY(1, c.`wl copies`)) AS copy

SELECT t.`wl_key` FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_seq` < @floor LIMIT 10

DELETE FROM `wrackline`.`db_public__orders` WHERE `wl_seq` < @floor

SELECT COUNT(*) FROM `wrackline`.`db_public__orders` AS t WHERE NOT t.`wl_deleted` AND t.`wl_missing` IS NOT NULL

SELECT MIN(IF(t.`wl_deleted`, NULL, t.`wl_key`)), MIN(IF(t.`wl_deleted`, t.`wl_key`, NULL)) FROM `wrackline`.`db_public__orders` AS t WHERE t.`wl_commit_ts` < @before GROUP BY t.`shop`, t.`number`, t.`label`, t.`big`, t.`weight`, IEEE_DIVIDE(1, t.`weight`) HAVING MIN(IF(t.`wl_deleted`, NULL, t.`wl_key`)) IS NOT NULL AND MIN(IF(t.`wl_deleted`, t.`wl_key`, NULL)) IS NOT NULL LIMIT 10
