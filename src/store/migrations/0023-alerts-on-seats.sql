-- Usage, exhausted seats and the queue of a feature are one alert, `seats`. `fired_at` is when it was raised, `peak_value`
-- the worst value so far.
ALTER TABLE alerts ADD COLUMN fired_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alerts ADD COLUMN peak_value REAL;
UPDATE alerts SET fired_at = started_at;
-- Values of `seats` are percentages; seats_exhausted had seats in use of all, queue those that were waited for.
UPDATE alerts SET value = round(100.0 * value / threshold, 2), threshold = 100 WHERE rule = 'seats_exhausted';
UPDATE alerts SET value = NULL, threshold = NULL WHERE rule = 'queue';
UPDATE alerts SET peak_value = value;
-- If several alerts fire about one feature, the oldest continues with the worst severity. Every target that was
-- notified about one of them counts as notified, so that the new name sends no messages.
UPDATE alerts SET
  severity = (SELECT a.severity FROM alerts a WHERE a.resolved_at IS NULL AND a.rule IN ('usage', 'seats_exhausted', 'queue')
    AND a.server IS alerts.server AND a.daemon IS alerts.daemon AND a.feature IS alerts.feature
    ORDER BY a.severity = 'critical' DESC LIMIT 1),
  told = (SELECT json_group_object(t.key, t.value) FROM alerts a, json_each(a.told) t
    WHERE a.resolved_at IS NULL AND a.rule IN ('usage', 'seats_exhausted', 'queue')
    AND a.server IS alerts.server AND a.daemon IS alerts.daemon AND a.feature IS alerts.feature)
WHERE resolved_at IS NULL AND rule IN ('usage', 'seats_exhausted', 'queue');
DELETE FROM alerts WHERE resolved_at IS NULL AND rule IN ('usage', 'seats_exhausted', 'queue') AND EXISTS (
  SELECT 1 FROM alerts a WHERE a.resolved_at IS NULL AND a.rule IN ('usage', 'seats_exhausted', 'queue') AND a.id < alerts.id
    AND a.server IS alerts.server AND a.daemon IS alerts.daemon AND a.feature IS alerts.feature);
UPDATE alerts SET rule = 'seats' WHERE rule IN ('usage', 'seats_exhausted', 'queue');
-- Conditions that had not lasted long enough start again; firing alerts are watched at their level.
DELETE FROM alert_watches WHERE json_extract(subject, '$.rule') IN ('usage', 'seats_exhausted', 'queue');
INSERT INTO alert_watches SELECT
  json_object('rule', rule, 'server', server, 'daemon', daemon, 'feature', feature, 'detail', detail),
  json_object('level', iif(severity = 'critical', 2, 1), 'until', NULL, 'runs', iif(severity = 'critical',
    json_array(json_object('above', 1, 'below', 0, 'since', started_at), json_object('above', 1, 'below', 0, 'since', started_at)),
    json_array(json_object('above', 1, 'below', 0, 'since', started_at))))
FROM alerts WHERE rule = 'seats' AND resolved_at IS NULL;
