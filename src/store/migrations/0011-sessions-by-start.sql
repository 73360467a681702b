-- The list of sessions begins with the newest: of years of them the first page must not read all.
CREATE INDEX sessions_by_start ON sessions (first_seen_at);
