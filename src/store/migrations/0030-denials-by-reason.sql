-- Two requests of one user may be denied in the same second for different reasons.
DROP INDEX denials_once;
CREATE UNIQUE INDEX denials_once ON denials
  (server_id, feature, user, daemon, at, ifnull(code, 0), ifnull(reason, ''));
