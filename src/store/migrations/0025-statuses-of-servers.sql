-- Status found by polls, as stretches of one status: [from_at, until_at). `read_at` is the last poll in it. The next
-- poll continues the stretch if it comes by `next_by`; a stretch that was ended by another one cannot continue.
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
CREATE INDEX outages_by_time ON server_statuses (from_at, status, until_at, next_by) WHERE status <> 'up';

-- Past statuses, from stored events: each lasts from its event to the next one, the last one to the last poll. Before
-- the first event, the status is the old value of that event, back to the oldest time without deleted events. Times
-- without licmond, from the last event before a start to that start, are left out.
INSERT OR IGNORE INTO server_statuses (server_id, from_at, status, reason, read_at, until_at, next_by)
WITH
  told AS (SELECT id, at, type, server, iif(json_valid(body), body, '{}') AS body FROM events),
  polls AS (
    SELECT server, head ->> '$.status' AS status, head ->> '$.lastPollAt' AS last,
      ifnull(head ->> '$.nextPollAt', 0) + (head ->> '$.server.intervalMs') + (head ->> '$.server.timeoutMs') AS next_by
    FROM (SELECT server_id AS server, iif(json_valid(head), head, '{}') -> '$.head' AS head FROM pictures)
  ),
  changes AS (
    SELECT server, at, body ->> '$.from' AS before, body ->> '$.to' AS status, body ->> '$.reason' AS reason
    FROM told WHERE type = 'server_status' AND body ->> '$.daemon' IS NULL
  ),
  known AS (
    SELECT server, at, status, reason FROM changes
    UNION ALL
    SELECT server, value, iif(server IN (SELECT server FROM changes),
      (SELECT before FROM changes WHERE changes.server = polls.server ORDER BY at LIMIT 1), status), NULL
    FROM polls JOIN event_marks ON name = 'deleted_events' AND value > 0
  ),
  stretches AS (SELECT *, lead(at) OVER (PARTITION BY server ORDER BY at) AS next FROM known),
  starts AS (
    SELECT at, (SELECT earlier.at FROM events earlier WHERE earlier.id < told.id ORDER BY earlier.id DESC LIMIT 1) AS ended
    FROM told WHERE type = 'log' AND body ->> '$.message' = 'licmond started'
  ),
  runs AS (
    SELECT at AS begun, ifnull(lead(ended) OVER (ORDER BY at), 9e15) AS ended FROM starts
    UNION ALL
    SELECT 0, ifnull((SELECT ended FROM starts ORDER BY at LIMIT 1), 9e15)
  )
SELECT server, max(at, begun) AS f, stretches.status, reason, min(ifnull(next, last), ended) AS u, min(ifnull(next, last), ended),
  iif(next IS NULL AND last < ended, max(last, next_by), min(ifnull(next, last), ended))
FROM stretches JOIN polls USING (server) JOIN runs ON at < ended AND ifnull(next, last) > begun
WHERE stretches.status IN ('up', 'degraded', 'down', 'unknown') AND server IN (SELECT id FROM servers) AND u > f;
