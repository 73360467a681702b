-- Seat-hours leave out the gaps between two readings of a server: days with such a gap are summed up again.
DELETE FROM session_days WHERE day IN (
  SELECT day FROM session_days JOIN (
    SELECT until_at, lead(from_at) OVER (PARTITION BY server_id ORDER BY from_at) AS next FROM coverage
  ) ON next > until_at AND day BETWEEN until_at / 86400000 AND next / 86400000
);
