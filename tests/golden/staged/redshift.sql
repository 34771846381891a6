-- the table
CREATE TABLE IF NOT EXISTS "wrackline"."public__orders" ("_wl_key" VARCHAR(65535), "id" BIGINT, "day" DATE, "price" DECIMAL(12, 2), "la""bel\" VARCHAR(65535), "weight" DOUBLE PRECISION, "at" TIMESTAMP, "seen" TIMESTAMPTZ, "clock" TIME, "picture" VARBYTE(1024000), "big" DECIMAL(20, 0), "_wl_seq" VARCHAR(65535), "_wl_op" VARCHAR(65535), "_wl_deleted" BOOLEAN, "_wl_missing" VARCHAR(65535), "_wl_commit_ts" TIMESTAMPTZ) DISTSTYLE KEY DISTKEY("_wl_key");

-- a stage
CREATE TABLE "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" (k VARCHAR(65535), c0 BIGINT, c1 BIGINT, c2 VARCHAR(65535), c3 VARCHAR(65535), c4 DOUBLE PRECISION, c5 BIGINT, c6 BIGINT, c7 BIGINT, c8 VARBYTE(1024000), c9 VARCHAR(65535), seq VARCHAR(65535), op VARCHAR(65535), commit_us BIGINT, deleted BOOLEAN, unsent VARCHAR(65535), missing VARCHAR(65535)) BACKUP NO DISTSTYLE KEY DISTKEY(k);

-- the load of a stage
COPY "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" FROM 's3://shop-stage/batches/shop/0/files.manifest' IAM_ROLE 'arn:aws:iam::123456789012:role/copies' FORMAT AS PARQUET MANIFEST;

-- what a load refused
SELECT error_code, column_name FROM sys_load_error_detail WHERE session_id = pg_backend_pid() AND start_time > GETDATE() - INTERVAL '61 seconds' ORDER BY start_time DESC LIMIT 1;

-- state, created
CREATE TABLE "wrackline"."_wl_state__public__orders" AS SELECT CAST(1 AS BIGINT) AS number, CAST(2 AS BIGINT) AS version, CAST('[%22db%22,%22public%22,%22orders%22]' AS VARCHAR(65535)) AS source, CAST(NULL AS VARCHAR(65535)) AS made, CAST('{%22types%22:[{%22kind%22:%22int64%22,%22source%22:%22bigint%22},{%22kind%22:%22date%22,%22source%22:%22date%22},{%22kind%22:%22decimal%22,%22source%22:%22numeric%2812,2%29%22,%22precision%22:12,%22scale%22:2},{%22kind%22:%22string%22,%22source%22:%22text%22},{%22kind%22:%22float64%22,%22source%22:%22float8%22},{%22kind%22:%22timestamp-micros%22,%22source%22:%22timestamp%22},{%22kind%22:%22zoned-timestamp%22,%22source%22:%22timestamptz%22},{%22kind%22:%22time-micros%22,%22source%22:%22time%22},{%22kind%22:%22bytes%22,%22source%22:%22bytea%22},{%22kind%22:%22decimal%22,%22source%22:%22numeric%2819,0%29%22,%22precision%22:19,%22scale%22:0}],%22columns%22:[[1,0,%22id%22],[2,1,%22day%22],[3,2,%22price%22],[4,3,%22la%5C%22bel%5C%5C%22],[5,4,%22weight%22],[6,5,%22at%22],[7,6,%22seen%22],[8,7,%22clock%22],[9,8,%22picture%22],[10,9,%22big%22]],%22key%22:[1,2],%22leaving%22:[],%22husks%22:[],%22ours%22:{%22seq%22:%22_wl_seq%22,%22op%22:%22_wl_op%22,%22deleted%22:%22_wl_deleted%22,%22missing%22:%22_wl_missing%22,%22commit_ts%22:%22_wl_commit_ts%22,%22row%22:%22_wl_row%22,%22unsent%22:%22_wl_unsent%22,%22start%22:%22__START_AT%22,%22end%22:%22__END_AT%22,%22sequence%22:%22%22},%22mode%22:%22upsert%22,%22shown%22:false}' AS VARCHAR(65535)) AS shape, CAST('{%22version%22: 2, %22offsets%22: {}, %22floor%22: null, %22newest%22: null, %22topic_ids%22: {}}' AS VARCHAR(65535)) AS applied;

-- state, moved
UPDATE "wrackline"."_wl_state__public__orders" SET number = CAST(2 AS BIGINT), applied = CAST('{%22version%22: 2, %22offsets%22: {%22server.db.public.orders%22: {%220%22: 9}}, %22floor%22: %2200000000000000000003%22, %22newest%22: null, %22topic_ids%22: {}}' AS VARCHAR(65535)) WHERE number = 1 AND made IS NULL;

-- state, read
SELECT number, version, source, made, shape, applied FROM "wrackline"."_wl_state__public__orders";

-- void
DELETE FROM "wrackline"."public__orders" WHERE "_wl_seq" < '00000000000000000003';

-- merge of whole changes, 1
UPDATE "wrackline"."public__orders" t SET "price" = CAST(s.c2 AS DECIMAL(12, 2)), "la""bel\" = s.c3, "weight" = s.c4, "at" = (CAST('epoch' AS TIMESTAMP) + (s.c5 / 1000000) * INTERVAL '1 second' + (s.c5 % 1000000) * INTERVAL '1 microsecond'), "seen" = ((CAST('epoch' AS TIMESTAMP) + (s.c6 / 1000000) * INTERVAL '1 second' + (s.c6 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), "clock" = CAST((CAST('epoch' AS TIMESTAMP) + (s.c7 / 1000000) * INTERVAL '1 second' + (s.c7 % 1000000) * INTERVAL '1 microsecond') AS TIME), "picture" = s.c8, "big" = CAST(s.c9 AS DECIMAL(20, 0)), "_wl_seq" = s.seq, "_wl_op" = s.op, "_wl_deleted" = s.deleted, "_wl_commit_ts" = ((CAST('epoch' AS TIMESTAMP) + (s.commit_us / 1000000) * INTERVAL '1 second' + (s.commit_us % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), "_wl_missing" = CAST(NULL AS VARCHAR(65535))
FROM (SELECT * FROM "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" WHERE seq >= '00000000000000000003') s WHERE t."_wl_key" = s.k AND t."id" = s.c0 AND t."day" = (CAST('1970-01-01' AS DATE) + CAST(s.c1 AS INTEGER)) AND t."id" BETWEEN 41000 AND 43999 AND t."day" BETWEEN DATE '2026-01-01' AND DATE '2026-01-31' AND (s.seq > t."_wl_seq" OR (s.seq = t."_wl_seq" AND t."_wl_deleted" AND NOT s.deleted));

-- merge of whole changes, 2
INSERT INTO "wrackline"."public__orders" ("_wl_key", "id", "day", "price", "la""bel\", "weight", "at", "seen", "clock", "picture", "big", "_wl_seq", "_wl_op", "_wl_deleted", "_wl_commit_ts", "_wl_missing")
SELECT s.k, s.c0, (CAST('1970-01-01' AS DATE) + CAST(s.c1 AS INTEGER)), CAST(s.c2 AS DECIMAL(12, 2)), s.c3, s.c4, (CAST('epoch' AS TIMESTAMP) + (s.c5 / 1000000) * INTERVAL '1 second' + (s.c5 % 1000000) * INTERVAL '1 microsecond'), ((CAST('epoch' AS TIMESTAMP) + (s.c6 / 1000000) * INTERVAL '1 second' + (s.c6 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), CAST((CAST('epoch' AS TIMESTAMP) + (s.c7 / 1000000) * INTERVAL '1 second' + (s.c7 % 1000000) * INTERVAL '1 microsecond') AS TIME), s.c8, CAST(s.c9 AS DECIMAL(20, 0)), s.seq, s.op, s.deleted, ((CAST('epoch' AS TIMESTAMP) + (s.commit_us / 1000000) * INTERVAL '1 second' + (s.commit_us % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), CAST(NULL AS VARCHAR(65535)) FROM (SELECT * FROM "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" WHERE seq >= '00000000000000000003') s
WHERE NOT EXISTS (SELECT 1 FROM "wrackline"."public__orders" t WHERE t."_wl_key" = s.k AND t."id" = s.c0 AND t."day" = (CAST('1970-01-01' AS DATE) + CAST(s.c1 AS INTEGER)) AND t."id" BETWEEN 41000 AND 43999 AND t."day" BETWEEN DATE '2026-01-01' AND DATE '2026-01-31');

-- merge of partial changes, hard deletes, 1
DELETE FROM "wrackline"."public__orders" WHERE "_wl_key" IN
(SELECT t."_wl_key" FROM "wrackline"."public__orders" t JOIN "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" s ON t."_wl_key" = s.k AND (s.seq > t."_wl_seq" OR (s.seq = t."_wl_seq" AND t."_wl_deleted" AND NOT s.deleted)) WHERE s.deleted);

-- merge of partial changes, hard deletes, 2
UPDATE "wrackline"."public__orders" t SET "price" = CASE WHEN COALESCE(s.unsent, '') LIKE '%,3,%' AND NOT t."_wl_deleted" THEN t."price" ELSE CAST(s.c2 AS DECIMAL(12, 2)) END, "la""bel\" = CASE WHEN COALESCE(s.unsent, '') LIKE '%,4,%' AND NOT t."_wl_deleted" THEN t."la""bel\" ELSE s.c3 END, "weight" = s.c4, "at" = (CAST('epoch' AS TIMESTAMP) + (s.c5 / 1000000) * INTERVAL '1 second' + (s.c5 % 1000000) * INTERVAL '1 microsecond'), "seen" = ((CAST('epoch' AS TIMESTAMP) + (s.c6 / 1000000) * INTERVAL '1 second' + (s.c6 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), "clock" = CAST((CAST('epoch' AS TIMESTAMP) + (s.c7 / 1000000) * INTERVAL '1 second' + (s.c7 % 1000000) * INTERVAL '1 microsecond') AS TIME), "picture" = s.c8, "big" = CAST(s.c9 AS DECIMAL(20, 0)), "_wl_seq" = s.seq, "_wl_op" = s.op, "_wl_deleted" = s.deleted, "_wl_commit_ts" = ((CAST('epoch' AS TIMESTAMP) + (s.commit_us / 1000000) * INTERVAL '1 second' + (s.commit_us % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), "_wl_missing" = NULLIF(',' || CASE WHEN COALESCE(s.missing, '') LIKE '%,3,%' OR COALESCE(s.unsent, '') LIKE '%,3,%' AND (t."_wl_deleted" OR COALESCE(t."_wl_missing", '') LIKE '%,3,%') THEN '3,' ELSE '' END || CASE WHEN COALESCE(s.missing, '') LIKE '%,4,%' OR COALESCE(s.unsent, '') LIKE '%,4,%' AND (t."_wl_deleted" OR COALESCE(t."_wl_missing", '') LIKE '%,4,%') THEN '4,' ELSE '' END, ',')
FROM "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" s WHERE t."_wl_key" = s.k AND (s.seq > t."_wl_seq" OR (s.seq = t."_wl_seq" AND t."_wl_deleted" AND NOT s.deleted));

-- merge of partial changes, hard deletes, 3
INSERT INTO "wrackline"."public__orders" ("_wl_key", "id", "day", "price", "la""bel\", "weight", "at", "seen", "clock", "picture", "big", "_wl_seq", "_wl_op", "_wl_deleted", "_wl_commit_ts", "_wl_missing")
SELECT s.k, s.c0, (CAST('1970-01-01' AS DATE) + CAST(s.c1 AS INTEGER)), CAST(s.c2 AS DECIMAL(12, 2)), s.c3, s.c4, (CAST('epoch' AS TIMESTAMP) + (s.c5 / 1000000) * INTERVAL '1 second' + (s.c5 % 1000000) * INTERVAL '1 microsecond'), ((CAST('epoch' AS TIMESTAMP) + (s.c6 / 1000000) * INTERVAL '1 second' + (s.c6 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), CAST((CAST('epoch' AS TIMESTAMP) + (s.c7 / 1000000) * INTERVAL '1 second' + (s.c7 % 1000000) * INTERVAL '1 microsecond') AS TIME), s.c8, CAST(s.c9 AS DECIMAL(20, 0)), s.seq, s.op, s.deleted, ((CAST('epoch' AS TIMESTAMP) + (s.commit_us / 1000000) * INTERVAL '1 second' + (s.commit_us % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), NULLIF(',' || CASE WHEN COALESCE(s.unsent, '') LIKE '%,3,%' OR COALESCE(s.missing, '') LIKE '%,3,%' THEN '3,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,4,%' OR COALESCE(s.missing, '') LIKE '%,4,%' THEN '4,' ELSE '' END, ',') FROM "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" s
WHERE NOT s.deleted AND NOT EXISTS (SELECT 1 FROM "wrackline"."public__orders" t WHERE t."_wl_key" = s.k);

-- load, all new, 1
INSERT INTO "wrackline"."public__orders" ("_wl_key", "id", "day", "price", "la""bel\", "weight", "at", "seen", "clock", "picture", "big", "_wl_seq", "_wl_op", "_wl_deleted", "_wl_commit_ts", "_wl_missing")
SELECT s.k, s.c0, (CAST('1970-01-01' AS DATE) + CAST(s.c1 AS INTEGER)), CAST(s.c2 AS DECIMAL(12, 2)), s.c3, s.c4, (CAST('epoch' AS TIMESTAMP) + (s.c5 / 1000000) * INTERVAL '1 second' + (s.c5 % 1000000) * INTERVAL '1 microsecond'), ((CAST('epoch' AS TIMESTAMP) + (s.c6 / 1000000) * INTERVAL '1 second' + (s.c6 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), CAST((CAST('epoch' AS TIMESTAMP) + (s.c7 / 1000000) * INTERVAL '1 second' + (s.c7 % 1000000) * INTERVAL '1 microsecond') AS TIME), s.c8, CAST(s.c9 AS DECIMAL(20, 0)), s.seq, s.op, s.deleted, ((CAST('epoch' AS TIMESTAMP) + (s.commit_us / 1000000) * INTERVAL '1 second' + (s.commit_us % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), CAST(NULL AS VARCHAR(65535)) FROM "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" s;

-- events, 1
INSERT INTO "wrackline"."public__orders" ("_wl_key", "id", "day", "price", "la""bel\", "weight", "at", "seen", "clock", "picture", "big", "_wl_seq", "_wl_op", "_wl_deleted", "_wl_commit_ts", "_wl_missing")
SELECT s.k, s.c1, (CAST('1970-01-01' AS DATE) + CAST(s.c2 AS INTEGER)), CAST(s.c3 AS DECIMAL(12, 2)), s.c4, s.c5, (CAST('epoch' AS TIMESTAMP) + (s.c6 / 1000000) * INTERVAL '1 second' + (s.c6 % 1000000) * INTERVAL '1 microsecond'), ((CAST('epoch' AS TIMESTAMP) + (s.c7 / 1000000) * INTERVAL '1 second' + (s.c7 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), CAST((CAST('epoch' AS TIMESTAMP) + (s.c8 / 1000000) * INTERVAL '1 second' + (s.c8 % 1000000) * INTERVAL '1 microsecond') AS TIME), s.c9, CAST(s.c10 AS DECIMAL(20, 0)), s.seq, s.op, s.deleted, ((CAST('epoch' AS TIMESTAMP) + (s.commit_us / 1000000) * INTERVAL '1 second' + (s.commit_us % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'), NULLIF(',' || CASE WHEN COALESCE(s.unsent, '') LIKE '%,1,%' OR COALESCE(s.missing, '') LIKE '%,1,%' THEN '1,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,2,%' OR COALESCE(s.missing, '') LIKE '%,2,%' THEN '2,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,3,%' OR COALESCE(s.missing, '') LIKE '%,3,%' THEN '3,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,4,%' OR COALESCE(s.missing, '') LIKE '%,4,%' THEN '4,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,5,%' OR COALESCE(s.missing, '') LIKE '%,5,%' THEN '5,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,6,%' OR COALESCE(s.missing, '') LIKE '%,6,%' THEN '6,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,7,%' OR COALESCE(s.missing, '') LIKE '%,7,%' THEN '7,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,8,%' OR COALESCE(s.missing, '') LIKE '%,8,%' THEN '8,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,9,%' OR COALESCE(s.missing, '') LIKE '%,9,%' THEN '9,' ELSE '' END || CASE WHEN COALESCE(s.unsent, '') LIKE '%,10,%' OR COALESCE(s.missing, '') LIKE '%,10,%' THEN '10,' ELSE '' END, ',') FROM "wrackline"."_wl_stage__public__orders__0123456789abcdef0123456789abcdef" s
WHERE NOT EXISTS (SELECT 1 FROM "wrackline"."public__orders" t WHERE t."_wl_key" = s.k);

-- view of rows
CREATE VIEW "public"."orders" AS SELECT "id" AS "id", "day" AS "day", "price" AS "price", "la""bel\" AS "la""bel\", "weight" AS "weight", "at" AS "at", "seen" AS "seen", "clock" AS "clock", "picture" AS "picture", "big" AS "big" FROM "wrackline"."public__orders" WHERE NOT "_wl_deleted" AND "_wl_missing" IS NULL;

-- view of events
CREATE VIEW "public"."orders" AS SELECT "id" AS "id", "day" AS "day", "price" AS "price", "la""bel\" AS "la""bel\", "weight" AS "weight", "at" AS "at", "seen" AS "seen", "clock" AS "clock", "picture" AS "picture", "big" AS "big", "_wl_op", "_wl_seq", "_wl_commit_ts", NULLIF(',' || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,1,%' THEN 'id,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,2,%' THEN 'day,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,3,%' THEN 'price,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,4,%' THEN ('la"bel' || CHR(92) || ',') ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,5,%' THEN 'weight,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,6,%' THEN 'at,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,7,%' THEN 'seen,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,8,%' THEN 'clock,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,9,%' THEN 'picture,' ELSE '' END || CASE WHEN COALESCE("_wl_missing", '') LIKE '%,10,%' THEN 'big,' ELSE '' END, ',') AS "_wl_missing" FROM "wrackline"."public__orders";

-- view of a bag
CREATE VIEW "public"."orders" AS SELECT "id" AS "id", "day" AS "day", "price" AS "price", "la""bel\" AS "la""bel\", "weight" AS "weight", "at" AS "at", "seen" AS "seen", "clock" AS "clock", "picture" AS "picture", "big" AS "big" FROM (SELECT t.*, ROW_NUMBER() OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big", "_wl_deleted" ORDER BY "_wl_seq") AS "_wl_row copy", SUM(CASE WHEN "_wl_deleted" THEN 1 ELSE 0 END) OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big") AS "_wl_row went" FROM "wrackline"."public__orders" t) counted WHERE NOT "_wl_deleted" AND "_wl_row copy" > "_wl_row went";

-- view after a change
CREATE VIEW "public"."orders" AS SELECT "id__7" AS "id", "day" AS "day", "price" AS "price", "la""bel\" AS "title", "weight" AS "weight", "at" AS "at", "seen" AS "seen", "new__7" AS "new" FROM "wrackline"."public__orders" WHERE NOT "_wl_deleted" AND "_wl_missing" IS NULL;

-- pairs
SELECT COUNT(*) FROM (SELECT "_wl_key" FROM (SELECT "_wl_key", ROW_NUMBER() OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big", "_wl_deleted" ORDER BY "_wl_seq") AS copy, SUM(CASE WHEN NOT "_wl_deleted" THEN 1 ELSE 0 END) OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big") AS came, SUM(CASE WHEN "_wl_deleted" THEN 1 ELSE 0 END) OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big") AS went FROM "wrackline"."public__orders" WHERE "_wl_commit_ts" < ((CAST('epoch' AS TIMESTAMP) + (1000000 / 1000000) * INTERVAL '1 second' + (1000000 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC')) counted WHERE copy <= came AND copy <= went) AS pairs;

-- pairs, deleted
DELETE FROM "wrackline"."public__orders" WHERE "_wl_key" IN (SELECT "_wl_key" FROM (SELECT "_wl_key", ROW_NUMBER() OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big", "_wl_deleted" ORDER BY "_wl_seq") AS copy, SUM(CASE WHEN NOT "_wl_deleted" THEN 1 ELSE 0 END) OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big") AS came, SUM(CASE WHEN "_wl_deleted" THEN 1 ELSE 0 END) OVER (PARTITION BY "id", "day", "price", "la""bel\", CASE WHEN CAST("weight" AS VARCHAR(32)) <> 'NaN' THEN "weight" END, CAST("weight" AS VARCHAR(32)), "at", "seen", "clock", "picture", "big") AS went FROM "wrackline"."public__orders" WHERE "_wl_commit_ts" < ((CAST('epoch' AS TIMESTAMP) + (1000000 / 1000000) * INTERVAL '1 second' + (1000000 % 1000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC')) counted WHERE copy <= came AND copy <= went);

-- added 0
ALTER TABLE "wrackline"."public__orders" ADD COLUMN "id__7" DECIMAL(20, 0);

-- added 1
ALTER TABLE "wrackline"."public__orders" ADD COLUMN "new__7" VARCHAR(65535);

-- filled 0
UPDATE "wrackline"."public__orders" SET "id__7" = CAST("id" AS DECIMAL(20, 0)) WHERE "id" IS NOT NULL;

-- dropped id
ALTER TABLE "wrackline"."public__orders" DROP COLUMN "id";

-- dropped clock
ALTER TABLE "wrackline"."public__orders" DROP COLUMN "clock";

-- dropped picture
ALTER TABLE "wrackline"."public__orders" DROP COLUMN "picture";

-- dropped big
ALTER TABLE "wrackline"."public__orders" DROP COLUMN "big";
