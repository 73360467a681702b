-- What each poll found of its server, as stretches of one status: [from_at, until_at). `read_at` is the last poll in it. The
-- next one goes on with it when it comes by `next_by`; a stretch that another one ended has no time left to go on.
CREATE TABLE server_statuses (
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  from_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  read_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  next_by INTEGER NOT NULL,
  PRIMARY KEY (server_id, from_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX outages_by_time ON server_statuses (from_at, status) WHERE status <> 'up';

-- The past, as far as stored events and coverage prove it. An outage lasts from its event to the next one, without the
-- times in which licmond did not run: from the last event before a start to that start. Up is what was covered and is no
-- outage, from where on all changes of status are known.
INSERT INTO server_statuses (server_id, from_at, status, reason, read_at, until_at, next_by)
WITH
  told AS (
    SELECT id, at, type, server, iif(json_valid(body), body, '{}') AS body FROM events
    WHERE type = 'server_status' OR source = 'system'
  ),
  changes AS (
    SELECT server, at, body ->> '$.to' AS status, body ->> '$.reason' AS reason, lead(at) OVER (PARTITION BY server ORDER BY id) AS next
    FROM told WHERE type = 'server_status' AND body ->> '$.to' IS NOT NULL AND body ->> '$.daemon' IS NULL
      AND server IN (SELECT id FROM servers)
  ),
  starts AS (
    SELECT id, at, (SELECT earlier.at FROM events earlier WHERE earlier.id < told.id ORDER BY earlier.id DESC LIMIT 1) AS ended
    FROM told WHERE type = 'log' AND body ->> '$.message' = 'licmond started'
  ),
  runs AS (
    SELECT at AS begun, ifnull(lead(ended) OVER (ORDER BY id), 9e15) AS ended FROM starts
    UNION ALL
    SELECT 0, ifnull((SELECT ended FROM starts ORDER BY id LIMIT 1), 9e15)
  ),
  polls AS (
    SELECT server, head ->> '$.lastPollAt' AS last,
      ifnull(head ->> '$.nextPollAt', 0) + (head ->> '$.server.intervalMs') + (head ->> '$.server.timeoutMs') AS next_by
    FROM (SELECT server_id AS server, iif(json_valid(head), head, '{}') -> '$.head' AS head FROM pictures)
  ),
  outages AS (
    SELECT changes.server, status, reason, max(at, begun) AS f, min(ifnull(next, last), ended) AS u,
      iif(next IS NULL AND last < ended, next_by, 0) AS next_by
    FROM changes JOIN polls USING (server) JOIN runs ON at < ended AND ifnull(next, last) > begun
    WHERE status <> 'up'
  ),
  known AS (
    SELECT id AS server, ifnull(
      (SELECT nullif(value, 0) FROM event_marks WHERE name = 'deleted_events'),
      (SELECT min(at) FROM changes WHERE changes.server = servers.id)) AS since
    FROM servers
  ),
  covered AS (
    SELECT server, max(from_at, since) AS f, until_at AS u FROM coverage JOIN known ON known.server = server_id WHERE until_at > since
  ),
  edges AS (
    SELECT server, f AS at, 1 AS outages, 0 AS covered FROM outages UNION ALL SELECT server, u, -1, 0 FROM outages
    UNION ALL SELECT server, f, 0, 1 FROM covered UNION ALL SELECT server, u, 0, -1 FROM covered
  ),
  pieces AS (
    SELECT server, at, lead(at) OVER edge AS next, sum(sum(outages)) OVER edge AS outages, sum(sum(covered)) OVER edge AS covered
    FROM edges GROUP BY server, at WINDOW edge AS (PARTITION BY server ORDER BY at)
  ),
  stretches AS (
    SELECT server, f, status, reason, u, max(u, next_by) AS next_by FROM outages
    UNION ALL
    SELECT server, at, 'up', NULL, next, next FROM pieces WHERE covered > 0 AND outages = 0
  )
SELECT server, f, status, reason, u, u, next_by FROM stretches WHERE u > f
ON CONFLICT DO NOTHING;
