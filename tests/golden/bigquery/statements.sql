-- table by ranges
CREATE TABLE IF NOT EXISTS `wrackline`.`public__orders` (`_wl_key` STRING, `id` INT64, `day` DATE, `price` NUMERIC(12, 2), `la_bel_` STRING, `weight` FLOAT64, `at` DATETIME, `seen` TIMESTAMP, `clock` TIME, `big` BIGNUMERIC(38, 10), `_wl_seq` STRING, `_wl_op` STRING, `_wl_deleted` BOOL, `_wl_missing` STRING, `_wl_commit_ts` TIMESTAMP)
PARTITION BY RANGE_BUCKET(`id`, GENERATE_ARRAY(0, 3998000000, 1000000))
CLUSTER BY `id`, `day`;

-- table by months
CREATE TABLE IF NOT EXISTS `wrackline`.`public__orders` (`_wl_key` STRING, `id` INT64, `day` DATE, `price` NUMERIC(12, 2), `la_bel_` STRING, `weight` FLOAT64, `at` DATETIME, `seen` TIMESTAMP, `clock` TIME, `big` BIGNUMERIC(38, 10), `_wl_seq` STRING, `_wl_op` STRING, `_wl_deleted` BOOL, `_wl_missing` STRING, `_wl_commit_ts` TIMESTAMP)
PARTITION BY DATE_TRUNC(`day`, MONTH)
CLUSTER BY `day`;

-- table that is not cut
CREATE TABLE IF NOT EXISTS `wrackline`.`public__orders` (`_wl_key` STRING, `id` INT64, `day` DATE, `price` NUMERIC(12, 2), `la_bel_` STRING, `weight` FLOAT64, `at` DATETIME, `seen` TIMESTAMP, `clock` TIME, `big` BIGNUMERIC(38, 10), `_wl_seq` STRING, `_wl_op` STRING, `_wl_deleted` BOOL, `_wl_missing` STRING, `_wl_commit_ts` TIMESTAMP)
CLUSTER BY `id`, `day`;

-- table of events
CREATE TABLE IF NOT EXISTS `wrackline`.`public__orders` (`_wl_key` STRING, `id` INT64, `day` DATE, `price` NUMERIC(12, 2), `la_bel_` STRING, `weight` FLOAT64, `at` DATETIME, `seen` TIMESTAMP, `clock` TIME, `big` BIGNUMERIC(38, 10), `_wl_seq` STRING, `_wl_op` STRING, `_wl_deleted` BOOL, `_wl_missing` STRING, `_wl_commit_ts` TIMESTAMP)
CLUSTER BY `_wl_key`;

-- stage
CREATE TABLE `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` (k STRING, c0 INT64, c1 INT64, c2 STRING, c3 STRING, c4 FLOAT64, c5 INT64, c6 INT64, c7 INT64, c8 STRING, seq STRING, op STRING, commit_us INT64, deleted BOOL, unsent STRING, missing STRING, w2 STRING)
OPTIONS (expiration_timestamp = TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 1 DAY));

-- state, created
CREATE TABLE IF NOT EXISTS `wrackline`.`_wl_state__public__orders` AS SELECT CAST(1 AS INT64) AS number, CAST(2 AS INT64) AS version, CAST('[%22db%22,%22public%22,%22orders%22]' AS STRING) AS source, CAST(NULL AS STRING) AS made, CAST('{%22types%22:[{%22kind%22:%22int64%22,%22source%22:%22bigint%22},{%22kind%22:%22date%22,%22source%22:%22date%22},{%22kind%22:%22decimal%22,%22source%22:%22numeric%2812,2%29%22,%22precision%22:12,%22scale%22:2},{%22kind%22:%22string%22,%22source%22:%22text%22},{%22kind%22:%22float64%22,%22source%22:%22float8%22},{%22kind%22:%22timestamp-micros%22,%22source%22:%22timestamp%22},{%22kind%22:%22zoned-timestamp%22,%22source%22:%22timestamptz%22},{%22kind%22:%22time-micros%22,%22source%22:%22time%22},{%22kind%22:%22decimal%22,%22source%22:%22numeric%2838,10%29%22,%22precision%22:38,%22scale%22:10}],%22columns%22:[[1,0,%22id%22],[2,1,%22day%22],[3,2,%22price%22],[4,3,%22la%60bel%5C%5C%22,%22la_bel_%22],[5,4,%22weight%22],[6,5,%22at%22],[7,6,%22seen%22],[8,7,%22clock%22],[9,8,%22big%22]],%22key%22:[1,2],%22leaving%22:[],%22husks%22:[],%22ours%22:{%22seq%22:%22_wl_seq%22,%22op%22:%22_wl_op%22,%22deleted%22:%22_wl_deleted%22,%22missing%22:%22_wl_missing%22,%22commit_ts%22:%22_wl_commit_ts%22,%22row%22:%22_wl_row%22,%22unsent%22:%22_wl_unsent%22,%22start%22:%22__START_AT%22,%22end%22:%22__END_AT%22,%22sequence%22:%22%22},%22mode%22:%22upsert%22,%22shown%22:false}' AS STRING) AS shape, CAST('{%22version%22: 2, %22offsets%22: {}, %22floor%22: null, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) AS applied;

-- state, read
SELECT number, version, source, made, shape, applied FROM `wrackline`.`_wl_state__public__orders`;

-- transaction of a batch
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM `wrackline`.`_wl_state__public__orders` WHERE number = 1 AND made IS NULL) THEN
  UPDATE `wrackline`.`_wl_state__public__orders` SET number = CAST(2 AS INT64), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) WHERE number = 1 AND made IS NULL;
  DELETE FROM `wrackline`.`public__orders` WHERE `_wl_seq` < '00000000000000000003';
  MERGE INTO `wrackline`.`public__orders` t USING (SELECT * FROM `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` WHERE seq >= '00000000000000000003') s ON t.`_wl_key` = s.k AND t.`id` = s.c0 AND t.`day` = DATE_FROM_UNIX_DATE(s.c1) AND t.`id` BETWEEN 41000 AND 43999 AND t.`day` BETWEEN DATE '2026-01-01' AND DATE '2026-01-31'
WHEN MATCHED AND (s.seq > t.`_wl_seq` OR (s.seq = t.`_wl_seq` AND t.`_wl_deleted` AND NOT s.deleted)) THEN UPDATE SET `price` = PARSE_NUMERIC(s.c2), `la_bel_` = s.c3, `weight` = s.c4, `at` = DATETIME(TIMESTAMP_MICROS(s.c5), 'UTC'), `seen` = TIMESTAMP_MICROS(s.c6), `clock` = TIME_ADD(TIME '00:00:00', INTERVAL s.c7 MICROSECOND), `big` = PARSE_BIGNUMERIC(s.c8), `_wl_seq` = s.seq, `_wl_op` = s.op, `_wl_deleted` = s.deleted, `_wl_commit_ts` = TIMESTAMP_MICROS(s.commit_us), `_wl_missing` = CAST(NULL AS STRING)
WHEN NOT MATCHED THEN INSERT (`_wl_key`, `id`, `day`, `price`, `la_bel_`, `weight`, `at`, `seen`, `clock`, `big`, `_wl_seq`, `_wl_op`, `_wl_deleted`, `_wl_commit_ts`, `_wl_missing`)
VALUES (s.k, s.c0, DATE_FROM_UNIX_DATE(s.c1), PARSE_NUMERIC(s.c2), s.c3, s.c4, DATETIME(TIMESTAMP_MICROS(s.c5), 'UTC'), TIMESTAMP_MICROS(s.c6), TIME_ADD(TIME '00:00:00', INTERVAL s.c7 MICROSECOND), PARSE_BIGNUMERIC(s.c8), s.seq, s.op, s.deleted, TIMESTAMP_MICROS(s.commit_us), CAST(NULL AS STRING));
  COMMIT TRANSACTION;
  SELECT 'done' AS outcome;
ELSE
  ROLLBACK TRANSACTION;
  SELECT 'moved' AS outcome;
END IF;

-- transaction without rows
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM `wrackline`.`_wl_state__public__orders` WHERE number = 1 AND made IS NULL) THEN
  UPDATE `wrackline`.`_wl_state__public__orders` SET number = CAST(2 AS INT64), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) WHERE number = 1 AND made IS NULL;
  COMMIT TRANSACTION;
  SELECT 'done' AS outcome;
ELSE
  ROLLBACK TRANSACTION;
  SELECT 'moved' AS outcome;
END IF;

-- transaction of partial changes
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM `wrackline`.`_wl_state__public__orders` WHERE number = 1 AND made IS NULL) THEN
  UPDATE `wrackline`.`_wl_state__public__orders` SET number = CAST(2 AS INT64), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) WHERE number = 1 AND made IS NULL;
  MERGE INTO `wrackline`.`public__orders` t USING `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` s ON t.`_wl_key` = s.k AND t.`id` = s.c0 AND t.`day` = DATE_FROM_UNIX_DATE(s.c1) AND t.`id` BETWEEN 41000 AND 43999 AND t.`day` BETWEEN DATE '2026-01-01' AND DATE '2026-01-31'
WHEN MATCHED AND (s.seq > t.`_wl_seq` OR (s.seq = t.`_wl_seq` AND t.`_wl_deleted` AND NOT s.deleted)) AND s.deleted THEN DELETE
WHEN MATCHED AND (s.seq > t.`_wl_seq` OR (s.seq = t.`_wl_seq` AND t.`_wl_deleted` AND NOT s.deleted)) THEN UPDATE SET `price` = CASE WHEN COALESCE(s.unsent, '') LIKE '%,3,%' AND NOT t.`_wl_deleted` THEN t.`price` ELSE PARSE_NUMERIC(s.c2) END, `la_bel_` = CASE WHEN COALESCE(s.unsent, '') LIKE '%,4,%' AND NOT t.`_wl_deleted` THEN t.`la_bel_` ELSE s.c3 END, `weight` = s.c4, `at` = DATETIME(TIMESTAMP_MICROS(s.c5), 'UTC'), `seen` = TIMESTAMP_MICROS(s.c6), `clock` = TIME_ADD(TIME '00:00:00', INTERVAL s.c7 MICROSECOND), `big` = PARSE_BIGNUMERIC(s.c8), `_wl_seq` = s.seq, `_wl_op` = s.op, `_wl_deleted` = s.deleted, `_wl_commit_ts` = TIMESTAMP_MICROS(s.commit_us), `_wl_missing` = NULLIF(',' || CASE WHEN COALESCE(s.missing, '') LIKE '%,3,%' OR COALESCE(s.unsent, '') LIKE '%,3,%' AND (t.`_wl_deleted` OR COALESCE(t.`_wl_missing`, '') LIKE '%,3,%') THEN '3,' ELSE '' END || CASE WHEN COALESCE(s.missing, '') LIKE '%,4,%' OR COALESCE(s.unsent, '') LIKE '%,4,%' AND (t.`_wl_deleted` OR COALESCE(t.`_wl_missing`, '') LIKE '%,4,%') THEN '4,' ELSE '' END, ',')
WHEN NOT MATCHED AND NOT s.deleted THEN INSERT (`_wl_key`, `id`, `day`, `price`, `la_bel_`, `weight`, `at`, `seen`, `clock`, `big`, `_wl_seq`, `_wl_op`, `_wl_deleted`, `_wl_commit_ts`, `_wl_missing`)
VALUES (s.k, s.c0, DATE_FROM_UNIX_DATE(s.c1), PARSE_NUMERIC(s.c2), s.c3, s.c4, DATETIME(TIMESTAMP_MICROS(s.c5), 'UTC'), TIMESTAMP_MICROS(s.c6), TIME_ADD(TIME '00:00:00', INTERVAL s.c7 MICROSECOND), PARSE_BIGNUMERIC(s.c8), s.seq, s.op, s.deleted, TIMESTAMP_MICROS(s.commit_us), NULLIF(',' || CASE WHEN COALESCE(s.unsent, '') LIKE '%,3,%' OR COALESCE(s.missing, '') LIKE '%,3,%' THEN '3,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,4,%' OR COALESCE(s.missing, '') LIKE '%,4,%' THEN '4,' ELSE '' END, ','));
  COMMIT TRANSACTION;
  SELECT 'done' AS outcome;
ELSE
  ROLLBACK TRANSACTION;
  SELECT 'moved' AS outcome;
END IF;

-- transaction of late changes
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM `wrackline`.`_wl_state__public__orders` WHERE number = 1 AND made IS NULL) THEN
  UPDATE `wrackline`.`_wl_state__public__orders` SET number = CAST(2 AS INT64), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) WHERE number = 1 AND made IS NULL;
  MERGE INTO `wrackline`.`public__orders` t USING `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` s ON t.`_wl_key` = s.k AND t.`id` = s.c0 AND t.`day` = DATE_FROM_UNIX_DATE(s.c1) AND t.`id` BETWEEN 41000 AND 43999 AND t.`day` BETWEEN DATE '2026-01-01' AND DATE '2026-01-31'
WHEN MATCHED AND (s.seq > t.`_wl_seq` OR (s.seq = t.`_wl_seq` AND t.`_wl_deleted` AND NOT s.deleted)) THEN UPDATE SET `price` = CASE WHEN COALESCE(s.unsent, '') LIKE '%,3,%' AND NOT t.`_wl_deleted` THEN t.`price` WHEN s.w2 < t.`_wl_seq` THEN CASE WHEN NOT t.`_wl_deleted` THEN t.`price` END ELSE PARSE_NUMERIC(s.c2) END, `la_bel_` = s.c3, `weight` = s.c4, `at` = DATETIME(TIMESTAMP_MICROS(s.c5), 'UTC'), `seen` = TIMESTAMP_MICROS(s.c6), `clock` = TIME_ADD(TIME '00:00:00', INTERVAL s.c7 MICROSECOND), `big` = PARSE_BIGNUMERIC(s.c8), `_wl_seq` = s.seq, `_wl_op` = s.op, `_wl_deleted` = s.deleted, `_wl_commit_ts` = TIMESTAMP_MICROS(s.commit_us), `_wl_missing` = CAST(NULL AS STRING)
WHEN NOT MATCHED THEN INSERT (`_wl_key`, `id`, `day`, `price`, `la_bel_`, `weight`, `at`, `seen`, `clock`, `big`, `_wl_seq`, `_wl_op`, `_wl_deleted`, `_wl_commit_ts`, `_wl_missing`)
VALUES (s.k, s.c0, DATE_FROM_UNIX_DATE(s.c1), PARSE_NUMERIC(s.c2), s.c3, s.c4, DATETIME(TIMESTAMP_MICROS(s.c5), 'UTC'), TIMESTAMP_MICROS(s.c6), TIME_ADD(TIME '00:00:00', INTERVAL s.c7 MICROSECOND), PARSE_BIGNUMERIC(s.c8), s.seq, s.op, s.deleted, TIMESTAMP_MICROS(s.commit_us), CAST(NULL AS STRING));
  COMMIT TRANSACTION;
  SELECT 'done' AS outcome;
ELSE
  ROLLBACK TRANSACTION;
  SELECT 'moved' AS outcome;
END IF;

-- transaction of a load
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM `wrackline`.`_wl_state__public__orders` WHERE number = 1 AND made IS NULL) THEN
  UPDATE `wrackline`.`_wl_state__public__orders` SET number = CAST(2 AS INT64), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) WHERE number = 1 AND made IS NULL;
  INSERT INTO `wrackline`.`public__orders` (`_wl_key`, `id`, `day`, `price`, `la_bel_`, `weight`, `at`, `seen`, `clock`, `big`, `_wl_seq`, `_wl_op`, `_wl_deleted`, `_wl_commit_ts`, `_wl_missing`)
SELECT s.k, s.c0, DATE_FROM_UNIX_DATE(s.c1), PARSE_NUMERIC(s.c2), s.c3, s.c4, DATETIME(TIMESTAMP_MICROS(s.c5), 'UTC'), TIMESTAMP_MICROS(s.c6), TIME_ADD(TIME '00:00:00', INTERVAL s.c7 MICROSECOND), PARSE_BIGNUMERIC(s.c8), s.seq, s.op, s.deleted, TIMESTAMP_MICROS(s.commit_us), CAST(NULL AS STRING) FROM `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` s;
  COMMIT TRANSACTION;
  SELECT 'done' AS outcome;
ELSE
  ROLLBACK TRANSACTION;
  SELECT 'moved' AS outcome;
END IF;

-- transaction of events
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM `wrackline`.`_wl_state__public__orders` WHERE number = 1 AND made IS NULL) THEN
  UPDATE `wrackline`.`_wl_state__public__orders` SET number = CAST(2 AS INT64), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) WHERE number = 1 AND made IS NULL;
  INSERT INTO `wrackline`.`public__orders` (`_wl_key`, `id`, `day`, `price`, `la_bel_`, `weight`, `at`, `seen`, `clock`, `big`, `_wl_seq`, `_wl_op`, `_wl_deleted`, `_wl_commit_ts`, `_wl_missing`)
SELECT s.k, s.c1, DATE_FROM_UNIX_DATE(s.c2), PARSE_NUMERIC(s.c3), s.c4, s.c5, DATETIME(TIMESTAMP_MICROS(s.c6), 'UTC'), TIMESTAMP_MICROS(s.c7), TIME_ADD(TIME '00:00:00', INTERVAL s.c8 MICROSECOND), PARSE_BIGNUMERIC(s.c9), s.seq, s.op, s.deleted, TIMESTAMP_MICROS(s.commit_us), NULLIF(',' || CASE WHEN COALESCE(s.unsent, '') LIKE '%,1,%' OR COALESCE(s.missing, '') LIKE '%,1,%' THEN '1,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,2,%' OR COALESCE(s.missing, '') LIKE '%,2,%' THEN '2,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,3,%' OR COALESCE(s.missing, '') LIKE '%,3,%' THEN '3,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,4,%' OR COALESCE(s.missing, '') LIKE '%,4,%' THEN '4,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,5,%' OR COALESCE(s.missing, '') LIKE '%,5,%' THEN '5,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,6,%' OR COALESCE(s.missing, '') LIKE '%,6,%' THEN '6,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,7,%' OR COALESCE(s.missing, '') LIKE '%,7,%' THEN '7,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,8,%' OR COALESCE(s.missing, '') LIKE '%,8,%' THEN '8,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,9,%' OR COALESCE(s.missing, '') LIKE '%,9,%' THEN '9,' ELSE '' END, ',') FROM `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` s
WHERE NOT EXISTS (SELECT 1 FROM `wrackline`.`public__orders` t WHERE t.`_wl_key` = s.k);
  COMMIT TRANSACTION;
  SELECT 'done' AS outcome;
ELSE
  ROLLBACK TRANSACTION;
  SELECT 'moved' AS outcome;
END IF;

-- transaction of a second place
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM `wrackline`.`_wl_state__public__orders` WHERE number = 1 AND made IS NULL) THEN
  UPDATE `wrackline`.`_wl_state__public__orders` SET number = CAST(2 AS INT64), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS STRING) WHERE number = 1 AND made IS NULL;
  UPDATE `wrackline`.`public__orders` SET `price__7` = `price` WHERE `price` IS NOT NULL;
  COMMIT TRANSACTION;
  SELECT 'done' AS outcome;
ELSE
  ROLLBACK TRANSACTION;
  SELECT 'moved' AS outcome;
END IF;

-- question of a load
SELECT 1 FROM `wrackline`.`public__orders` t WHERE t.`id` BETWEEN 41000 AND 43999 AND t.`day` BETWEEN DATE '2026-01-01' AND DATE '2026-01-31' LIMIT 1;

-- view of rows
CREATE OR REPLACE VIEW `public`.`orders` AS SELECT `id` AS `id`, `day` AS `day`, `price` AS `price`, `la_bel_` AS `la_bel_`, `weight` AS `weight`, `at` AS `at`, `seen` AS `seen`, `clock` AS `clock`, `big` AS `big` FROM `wrackline`.`public__orders` WHERE NOT `_wl_deleted` AND `_wl_missing` IS NULL;

-- view of events
CREATE OR REPLACE VIEW `public`.`orders` AS SELECT `id` AS `id`, `day` AS `day`, `price` AS `price`, `la_bel_` AS `la_bel_`, `weight` AS `weight`, `at` AS `at`, `seen` AS `seen`, `clock` AS `clock`, `big` AS `big`, `_wl_op`, `_wl_seq`, `_wl_commit_ts`, NULLIF(',' || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,1,%' THEN 'id,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,2,%' THEN 'day,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,3,%' THEN 'price,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,4,%' THEN 'la_bel_,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,5,%' THEN 'weight,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,6,%' THEN 'at,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,7,%' THEN 'seen,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,8,%' THEN 'clock,' ELSE '' END || CASE WHEN COALESCE(`_wl_missing`, '') LIKE '%,9,%' THEN 'big,' ELSE '' END, ',') AS `_wl_missing` FROM `wrackline`.`public__orders`;

-- view of a bag
CREATE OR REPLACE VIEW `public`.`orders` AS SELECT `id` AS `id`, `day` AS `day`, `price` AS `price`, `la_bel_` AS `la_bel_`, `weight` AS `weight`, `at` AS `at`, `seen` AS `seen`, `clock` AS `clock`, `big` AS `big` FROM (SELECT t.*, ROW_NUMBER() OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`, `_wl_deleted` ORDER BY `_wl_seq`) AS `_wl_row copy`, SUM(CASE WHEN `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`) AS `_wl_row went` FROM `wrackline`.`public__orders` t) counted WHERE NOT `_wl_deleted` AND `_wl_row copy` > `_wl_row went`;

-- view after a change
CREATE OR REPLACE VIEW `public`.`orders` AS SELECT `id` AS `id`, `day` AS `day`, `price__7` AS `price`, `la_bel_` AS `title`, `weight` AS `weight`, `at` AS `at`, `seen` AS `seen`, `clock` AS `clock`, `new__7` AS `new` FROM `wrackline`.`public__orders` WHERE NOT `_wl_deleted` AND `_wl_missing` IS NULL;

-- pairs
SELECT COUNT(*) FROM (SELECT `_wl_key` FROM (SELECT `_wl_key`, ROW_NUMBER() OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`, `_wl_deleted` ORDER BY `_wl_seq`) AS copy, SUM(CASE WHEN NOT `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`) AS came, SUM(CASE WHEN `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`) AS went FROM `wrackline`.`public__orders` WHERE `_wl_commit_ts` < TIMESTAMP_MICROS(1000000)) counted WHERE copy <= came AND copy <= went) AS pairs;

-- pairs, deleted
DELETE FROM `wrackline`.`public__orders` WHERE `_wl_key` IN (SELECT `_wl_key` FROM (SELECT `_wl_key`, ROW_NUMBER() OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`, `_wl_deleted` ORDER BY `_wl_seq`) AS copy, SUM(CASE WHEN NOT `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`) AS came, SUM(CASE WHEN `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `la_bel_`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `at`, `seen`, `clock`, `big`) AS went FROM `wrackline`.`public__orders` WHERE `_wl_commit_ts` < TIMESTAMP_MICROS(1000000)) counted WHERE copy <= came AND copy <= went);

-- added 0
ALTER TABLE `wrackline`.`public__orders` ADD COLUMN IF NOT EXISTS `price__7` NUMERIC(20, 2);

-- added 1
ALTER TABLE `wrackline`.`public__orders` ADD COLUMN IF NOT EXISTS `new__7` STRING;

-- emptied
UPDATE `wrackline`.`public__orders` SET `id` = NULL WHERE `id` IS NOT NULL;

-- dropped price
ALTER TABLE `wrackline`.`public__orders` DROP COLUMN IF EXISTS `price`;

-- dropped big
ALTER TABLE `wrackline`.`public__orders` DROP COLUMN IF EXISTS `big`;
