-- Data of a hub's sites. Times are epoch ms, days are days since 1970-01-01 UTC. Names come from outside: they are
-- compared and sorted by code points, independent of the database's collation.

-- Sites: how far their facts are stored here, and their last state. `epoch_no` numbers the epochs of a site: rows have
-- it because ids are only valid within an epoch. `info` is the state `site` of the protocol as JSON.
CREATE TABLE sites (
  site text COLLATE "C" PRIMARY KEY,
  epoch text,
  epoch_no integer NOT NULL DEFAULT 0,
  cursor bigint NOT NULL DEFAULT 0,
  instance text,
  address text,
  joined_at bigint NOT NULL,
  last_push_at bigint,
  clock_offset_ms bigint,
  head bigint,
  waiting_since bigint,
  days_left integer,
  info text,
  known_at bigint,
  sessions_from bigint,
  -- The alerts that fire, as JSON: the state `alerts`.
  firing text,
  -- When another process than `instance` pushed for this site, and from where.
  refused_at bigint,
  refused_address text
);

-- The newest picture of each server without its features, as JSON; `picture` is its number at the site, `place` its place
-- in the site's config.
CREATE TABLE servers (
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  place integer NOT NULL,
  picture bigint,
  -- Parts of the picture are still to come.
  partly boolean NOT NULL DEFAULT false,
  head text,
  -- How many features it has in current_features and how many rows of lists in current_rows, and as JSON what its features
  -- add up to: totals ask a row a server, not one a feature.
  features integer NOT NULL DEFAULT 0,
  listed bigint NOT NULL DEFAULT 0,
  sums text,
  collected_at bigint,
  -- By the hub's clock; each change has a later one. It is the number of the picture at the hub, too, see hub/streams/pictures.ts.
  changed_at bigint NOT NULL DEFAULT 0,
  -- Transaction that wrote the row: unlike times, transaction ids reveal commits since a reader's last look.
  changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (site, server)
);
CREATE INDEX servers_by_change ON servers (changed);

-- Features of these pictures. `body` is the feature as JSON, without holders of seats; fields that lists filter and
-- sort by have columns. `collected_at` is null if it equals the server's (otherwise each poll would change every row),
-- -1 if the feature was never read.
CREATE TABLE current_features (
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  daemon text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- As the search finds it: lower() of PostgreSQL depends on the database's locale.
  lower_name text COLLATE "C" NOT NULL,
  place integer NOT NULL,
  total bigint,
  used bigint,
  available bigint,
  reserved bigint,
  queued bigint,
  checkouts integer NOT NULL,
  unlimited boolean NOT NULL,
  utilization double precision,
  shared boolean NOT NULL,
  expires_on text COLLATE "C",
  expires_at bigint,
  permanent boolean NOT NULL,
  state text COLLATE "C" NOT NULL,
  error text COLLATE "C",
  collected_at bigint,
  unit text COLLATE "C" NOT NULL,
  seat_group text COLLATE "C",
  -- How many people may use it by name; null where the manager names none.
  assigned integer,
  -- How many rows of lists it has in current_rows.
  listed integer NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (site, server, daemon, name)
) WITH (fillfactor = 70);

CREATE INDEX current_features_by_place ON current_features (site, server, place);

-- Pools of these features that lists of expirations need.
CREATE TABLE current_pools (
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  daemon text COLLATE "C" NOT NULL,
  feature text COLLATE "C" NOT NULL,
  pool text COLLATE "C" NOT NULL,
  total bigint,
  expires_on text COLLATE "C",
  expires_at bigint,
  permanent boolean NOT NULL,
  -- The feature's.
  unit text COLLATE "C" NOT NULL,
  seat_group text COLLATE "C",
  PRIMARY KEY (site, server, daemon, feature, pool)
);
CREATE INDEX current_pools_by_expiry ON current_pools (expires_at, site, server, daemon, feature, pool)
  WHERE expires_at IS NOT NULL;

-- Checkouts, reservations, queue entries and assigned people of these features, one row each; `body` is the row as
-- JSON. Durations count from `began_at`. Rows of the kind `held` name holders of a truncated reading; no list shows
-- them. The aliases are shown to anonymized keys, and sorted by.
CREATE TABLE current_rows (
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  daemon text COLLATE "C" NOT NULL,
  feature text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  place integer NOT NULL,
  session bigint,
  user_name text COLLATE "C",
  user_alias text COLLATE "C",
  host text COLLATE "C",
  lower_host text COLLATE "C",
  host_alias text COLLATE "C",
  version text COLLATE "C",
  count bigint NOT NULL,
  handle text COLLATE "C",
  pid bigint,
  started_at bigint,
  first_seen_at bigint,
  began_at bigint,
  linger_seconds bigint,
  borrowed boolean NOT NULL,
  -- The feature's, so that all rows are counted and sorted without their features.
  state text COLLATE "C" NOT NULL,
  collected_at bigint,
  body text NOT NULL,
  PRIMARY KEY (site, server, daemon, feature, kind, place)
);
CREATE INDEX current_rows_by_user ON current_rows (user_name) WHERE user_name IS NOT NULL;
CREATE INDEX current_rows_by_host ON current_rows (lower_host) WHERE lower_host IS NOT NULL;
CREATE INDEX current_rows_by_feature ON current_rows (feature);
CREATE INDEX current_rows_by_start ON current_rows (started_at);

-- Sessions that are open, and those that have ended. `id` is the hub's own, `site_id` the site's; `user_name` is null where the
-- manager does not name who it is.
CREATE SEQUENCE session_ids;
CREATE TABLE open_sessions (
  site text COLLATE "C" NOT NULL,
  epoch integer NOT NULL,
  site_id bigint NOT NULL,
  id bigint NOT NULL DEFAULT nextval('session_ids'),
  server text COLLATE "C" NOT NULL,
  daemon text COLLATE "C" NOT NULL,
  feature text COLLATE "C" NOT NULL,
  user_name text COLLATE "C",
  host text COLLATE "C",
  version text COLLATE "C",
  count bigint NOT NULL,
  handle text COLLATE "C",
  started_at bigint,
  began_at bigint NOT NULL,
  first_seen_at bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  PRIMARY KEY (site, epoch, site_id)
);
CREATE INDEX open_sessions_by_seen ON open_sessions (first_seen_at);
CREATE TABLE sessions (
  site text COLLATE "C" NOT NULL,
  epoch integer NOT NULL,
  site_id bigint NOT NULL,
  id bigint NOT NULL,
  server text COLLATE "C" NOT NULL,
  daemon text COLLATE "C" NOT NULL,
  feature text COLLATE "C" NOT NULL,
  user_name text COLLATE "C",
  host text COLLATE "C",
  version text COLLATE "C",
  count bigint NOT NULL,
  handle text COLLATE "C",
  started_at bigint,
  began_at bigint NOT NULL,
  first_seen_at bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  ended_at bigint NOT NULL,
  end_reason text COLLATE "C",
  PRIMARY KEY (site, epoch, site_id, ended_at)
) PARTITION BY RANGE (ended_at);
CREATE INDEX sessions_by_seen ON sessions (first_seen_at);
CREATE INDEX sessions_by_user ON sessions (user_name, ended_at);
CREATE INDEX sessions_by_end ON sessions (site, ended_at);
-- Of more than a day: what overlaps a range long ago ended within it, within a day after it, or is one of these.
CREATE INDEX sessions_long ON sessions (site, ended_at)
  WHERE ended_at - least(began_at, first_seen_at) > 86400000;

-- A small id for each feature that history knows, with what its counts count and the set of seats that it shares with others.
CREATE TABLE history_features (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  daemon text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  unit text COLLATE "C" NOT NULL,
  seat_group text COLLATE "C",
  UNIQUE (site, server, daemon, name)
);

-- Counts of a feature from `at` on, until their day comes packed.
CREATE TABLE steps (
  site text COLLATE "C" NOT NULL,
  feature_id bigint NOT NULL,
  at bigint NOT NULL,
  total bigint,
  used bigint,
  reserved bigint,
  queued bigint,
  unlimited boolean NOT NULL,
  PRIMARY KEY (site, feature_id, at)
) PARTITION BY RANGE (at);

-- Packed history of a feature and day in the bytes of history/codec.ts: the site's own.
CREATE TABLE packed_days (
  site text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  feature_id bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (site, kind, day, feature_id)
) PARTITION BY RANGE (day);

-- The seats that a site's sessions held on a day, in the bytes of history/session-day.ts: the site's own.
CREATE TABLE session_days (
  site text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (site, day)
);

-- Names of the users in packed days, by the numbers that the site gave them.
CREATE TABLE history_users (
  site text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  PRIMARY KEY (site, id)
);

-- Users and hosts that have held seats of a server, and when last; who still holds some is in `open_sessions`.
CREATE TABLE last_seen (
  site text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (site, kind, name, server)
) WITH (fillfactor = 70);

-- When a server was read without a break.
CREATE TABLE coverage (
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  from_at bigint NOT NULL,
  read_at bigint NOT NULL,
  until_at bigint NOT NULL,
  running boolean NOT NULL,
  looks bigint,
  PRIMARY KEY (site, server, from_at)
);

-- Stretches of one status of a server.
CREATE TABLE statuses (
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  from_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  reason text COLLATE "C",
  read_at bigint NOT NULL,
  until_at bigint NOT NULL,
  next_by bigint NOT NULL,
  PRIMARY KEY (site, server, from_at)
);
CREATE INDEX statuses_by_time ON statuses (from_at) WHERE status <> 'up';

CREATE TABLE denials (
  site text COLLATE "C" NOT NULL,
  epoch integer NOT NULL,
  site_id bigint NOT NULL,
  server text COLLATE "C" NOT NULL,
  daemon text COLLATE "C" NOT NULL,
  feature text COLLATE "C",
  user_name text COLLATE "C",
  host text COLLATE "C",
  at bigint NOT NULL,
  until bigint NOT NULL,
  count bigint NOT NULL,
  attempts bigint NOT NULL,
  reason text COLLATE "C",
  code bigint,
  outcome text COLLATE "C" NOT NULL,
  told boolean NOT NULL,
  PRIMARY KEY (site, epoch, site_id, at)
) PARTITION BY RANGE (at);
CREATE INDEX denials_by_time ON denials (at);

-- Spans in which denials of a server could be seen; `to_at` is null while a span is open. `counted`: seen by counters,
-- which name no feature unless `by_feature`.
CREATE TABLE denial_spans (
  site text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  from_at bigint NOT NULL,
  to_at bigint,
  counted boolean NOT NULL,
  by_feature boolean NOT NULL
);
CREATE INDEX denial_spans_by_server ON denial_spans (site, server);

-- Alerts of the sites, one row each from its start to its end; `site_id` is null of the hub's own.
CREATE TABLE alerts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site text COLLATE "C" NOT NULL,
  epoch integer NOT NULL,
  site_id bigint,
  rule text COLLATE "C" NOT NULL,
  severity text COLLATE "C" NOT NULL,
  server text COLLATE "C",
  daemon text COLLATE "C",
  feature text COLLATE "C",
  message text NOT NULL,
  value double precision,
  threshold double precision,
  peak_value double precision,
  started_at bigint NOT NULL,
  fired_at bigint NOT NULL,
  resolved_at bigint,
  acknowledged_at bigint,
  acknowledged_by text,
  comment text,
  silenced_until bigint,
  UNIQUE (site, epoch, site_id)
);
CREATE INDEX alerts_firing ON alerts (site) WHERE resolved_at IS NULL;

-- Events of the sites that are not published yet: pushes write them, in the order of `place` for each site. `body` is an
-- event as JSON but for `type` and `id`; `at` is its time at the site, `server` the site's id. Seats taken and given back, of
-- which there are many, stand packed in rows of the type `seats`, `number` of them, see hub/push/packed-events.ts.
CREATE SEQUENCE event_places;
CREATE TABLE new_events (
  place bigint PRIMARY KEY DEFAULT nextval('event_places'),
  received_at bigint NOT NULL,
  at bigint NOT NULL,
  site text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  level text COLLATE "C",
  source text COLLATE "C",
  server text COLLATE "C",
  body text,
  number integer NOT NULL DEFAULT 1,
  packed bytea
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE new_events ALTER packed SET STORAGE EXTERNAL;

-- Published events; `body` is whole. `id` is the hub's: one hub at a time gives it, when it publishes. Of packed events it is the
-- last one's, and those before it have the numbers before it.
CREATE TABLE events (
  id bigint PRIMARY KEY,
  received_at bigint NOT NULL,
  at bigint NOT NULL,
  site text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  level text COLLATE "C",
  source text COLLATE "C",
  server text COLLATE "C",
  body text,
  number integer NOT NULL DEFAULT 1,
  packed bytea,
  CHECK ((body IS NULL) <> (packed IS NULL))
) PARTITION BY RANGE (id);
ALTER TABLE events ALTER packed SET STORAGE EXTERNAL;
CREATE INDEX events_of_logs ON events (id) WHERE type = 'log';

-- One row: the highest id that was given, and the highest that retention has deleted; 0 = none.
CREATE TABLE stream (
  last bigint NOT NULL,
  deleted bigint NOT NULL
);
INSERT INTO stream VALUES (0, 0);

-- Facts and days (with a null `seq`) that could not be stored, unchanged, with the reason; unknown ones wait for a
-- newer hub.
CREATE TABLE refused (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site text COLLATE "C" NOT NULL,
  epoch integer NOT NULL,
  seq bigint,
  at bigint NOT NULL,
  reason text NOT NULL,
  -- Where the kind of the fact, or the table of the day, was not known.
  kind text,
  body bytea NOT NULL
);
CREATE INDEX refused_by_site ON refused (site);
CREATE INDEX refused_waiting ON refused (site, id) WHERE kind IS NOT NULL;

-- Commands to send with the answer to a site's next push.
CREATE TABLE commands (
  id text PRIMARY KEY,
  site text COLLATE "C" NOT NULL,
  asked_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  body text NOT NULL,
  done_at bigint,
  outcome text,
  code text,
  message text,
  results text,
  run text
);
CREATE INDEX commands_waiting ON commands (site) WHERE done_at IS NULL;

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  name text NOT NULL,
  role text NOT NULL,
  site text COLLATE "C",
  secret_hash bytea NOT NULL,
  anonymize boolean NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint,
  daily_quota bigint,
  monthly_quota bigint,
  requests_per_minute bigint
);

-- Sign-ins of browsers, valid at all hubs. `token_hash` is the SHA-256 of the cookie's secret; `role` is null for the
-- key's own role, `expires_at` null for an end by idleness.
CREATE TABLE sign_ins (
  id text PRIMARY KEY,
  token_hash bytea NOT NULL,
  key_id text NOT NULL,
  role text,
  stay boolean NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint NOT NULL,
  expires_at bigint,
  browser text
);
-- Links that sign a browser in and were not followed yet, by the hash of their code.
CREATE TABLE sign_in_codes (
  hash text PRIMARY KEY,
  key_id text NOT NULL,
  role text,
  expires_at bigint,
  until_at bigint NOT NULL
);

-- Requests of keys in a UTC day and month, of all hubs together.
CREATE TABLE quota_counts (
  key_id text PRIMARY KEY,
  day_at bigint NOT NULL,
  day_count bigint NOT NULL,
  month_at bigint NOT NULL,
  month_count bigint NOT NULL
) WITH (fillfactor = 50);

-- How far retention has come, e.g. `sessions_from`: sessions that ended before it are dropped. Epoch ms.
CREATE TABLE marks (
  name text PRIMARY KEY,
  value bigint NOT NULL
);

-- Secrets of the fleet, made once.
CREATE TABLE secrets (
  name text PRIMARY KEY,
  value bytea NOT NULL
);

-- When a command first left with an answer to its site; null = it waits for the site's next push.
ALTER TABLE commands ADD COLUMN handed_at bigint;
-- When a site said that it ends; null once it has pushed again. And up to when, by its own clock, it told people of its alerts
-- itself although `[fleet] notify` is "hub", because it was alone.
ALTER TABLE sites ADD COLUMN stopped_at bigint, ADD COLUMN told_until bigint;
-- Alerts that the hub notifies about: the last notification of each target as JSON, and the last news sent (its
-- severity, or `over`).
ALTER TABLE alerts ADD COLUMN told text NOT NULL DEFAULT '{}', ADD COLUMN noted text COLLATE "C";
-- The hub's own alerts have no id of a site: one of each rule fires for a site.
CREATE INDEX alerts_to_tell ON alerts (id) WHERE resolved_at IS NULL OR (noted IS NOT NULL AND noted <> 'over');
CREATE INDEX refused_by_time ON refused (at);
CREATE UNIQUE INDEX alerts_own ON alerts (site, rule) WHERE site_id IS NULL AND resolved_at IS NULL;

-- Notifications that are not delivered yet; `alert` is their content as JSON.
CREATE TABLE notifications (
  id bigint PRIMARY KEY,
  target text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  alert text NOT NULL
);

-- Rows whose times cannot be true, by clocks that were wrong: they are in no partition of a day.
CREATE TABLE sessions_rest PARTITION OF sessions DEFAULT;
CREATE TABLE denials_rest PARTITION OF denials DEFAULT;
CREATE TABLE steps_rest PARTITION OF steps DEFAULT;
CREATE TABLE packed_days_rest PARTITION OF packed_days DEFAULT;
-- Lines of the audit trail, which are kept for longer than what else happened on their days.
CREATE TABLE events_rest PARTITION OF events DEFAULT;
