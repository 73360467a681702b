-- Packed days of held seats are rows of packed_days. Their feature is 0.
INSERT INTO packed_days (site, kind, day, feature_id, data) SELECT site, 'held', day, 0, data FROM session_days;
DROP TABLE session_days;
