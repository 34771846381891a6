-- letters
CREATE TABLE IF NOT EXISTS `wrackline`.`_wl_dead_letters` (storage STRING, topic STRING, part INT64, place INT64, piece INT64, code STRING, reason STRING, kept_ms INT64, key_part STRING, value_part STRING);

-- their stage
CREATE TABLE `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` (storage STRING, topic STRING, part INT64, place INT64, piece INT64, code STRING, reason STRING, kept_ms INT64, key_part STRING, value_part STRING)
OPTIONS (expiration_timestamp = TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 1 DAY));

-- letters, kept
INSERT INTO `wrackline`.`_wl_dead_letters` (storage, topic, part, place, piece, code, reason, kept_ms, key_part, value_part) SELECT storage, topic, part, place, piece, code, reason, kept_ms, key_part, value_part FROM `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef` s WHERE NOT EXISTS (SELECT 1 FROM `wrackline`.`_wl_dead_letters` b WHERE b.storage = s.storage AND b.topic = s.topic AND b.part = s.part AND b.place = s.place);

-- their stage, dropped
DROP TABLE `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef`;

-- letters, their spots
SELECT DISTINCT topic, part, place FROM `wrackline`.`_wl_dead_letters` WHERE storage = 'public__orders';

-- letters, a page
SELECT topic, part, place, piece, code, reason, kept_ms, key_part, value_part FROM `wrackline`.`_wl_dead_letters` b WHERE storage = 'public__orders' AND (topic > '' OR topic = '' AND (part > -1 OR part = -1 AND (place > -1 OR place = -1 AND piece > -1))) ORDER BY topic, part, place, piece LIMIT 100;

-- letters, removed
DELETE FROM `wrackline`.`_wl_dead_letters` WHERE storage = 'public__orders' AND ((topic = 'server.db.public.orders' AND part = 0 AND place IN (5)) OR (topic = 'server.db.public.orders' AND part = 1 AND place IN (7)));

-- letters, forgotten
DELETE FROM `wrackline`.`_wl_dead_letters` WHERE storage = 'public__orders';

-- upkeep, upsert, 1
SELECT COUNT(CASE WHEN `_wl_deleted` AND `_wl_commit_ts` < TIMESTAMP_MICROS(1000000) THEN 1 END), COUNT(CASE WHEN NOT `_wl_deleted` AND `_wl_missing` IS NOT NULL THEN 1 END) FROM `wrackline`.`public__orders`;

-- upkeep, upsert, 2
DELETE FROM `wrackline`.`public__orders` WHERE `_wl_deleted` AND `_wl_commit_ts` < TIMESTAMP_MICROS(1000000);

-- upkeep, no key, 1
SELECT COUNT(*) FROM (SELECT `_wl_key` FROM (SELECT `_wl_key`, ROW_NUMBER() OVER (PARTITION BY `id`, `day`, `price`, `label`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `seen`, `_wl_deleted` ORDER BY `_wl_seq`) AS copy, SUM(CASE WHEN NOT `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `label`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `seen`) AS came, SUM(CASE WHEN `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `label`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `seen`) AS went FROM `wrackline`.`public__orders` WHERE `_wl_commit_ts` < TIMESTAMP_MICROS(1000000)) counted WHERE copy <= came AND copy <= went) pairs;

-- upkeep, no key, 2
SELECT COUNT(*) FROM `wrackline`.`public__orders` WHERE NOT `_wl_deleted` AND `_wl_missing` IS NOT NULL;

-- upkeep, no key, 3
DELETE FROM `wrackline`.`public__orders` WHERE `_wl_key` IN (SELECT `_wl_key` FROM (SELECT `_wl_key`, ROW_NUMBER() OVER (PARTITION BY `id`, `day`, `price`, `label`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `seen`, `_wl_deleted` ORDER BY `_wl_seq`) AS copy, SUM(CASE WHEN NOT `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `label`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `seen`) AS came, SUM(CASE WHEN `_wl_deleted` THEN 1 ELSE 0 END) OVER (PARTITION BY `id`, `day`, `price`, `label`, CONCAT(CASE WHEN `weight` = 0 AND IEEE_DIVIDE(1, `weight`) < 0 THEN '-' ELSE '' END, TO_JSON_STRING(`weight`)), `seen`) AS went FROM `wrackline`.`public__orders` WHERE `_wl_commit_ts` < TIMESTAMP_MICROS(1000000)) counted WHERE copy <= came AND copy <= went);

-- upkeep, history, 1
SELECT COUNT(*) FROM `wrackline`.`public__orders` WHERE `__START_AT` IS NOT NULL AND `_wl_missing` IS NOT NULL;

-- a stage that was left
DROP TABLE IF EXISTS `wrackline`.`_wl_stage__public__orders__0123456789abcdef0123456789abcdef`;
