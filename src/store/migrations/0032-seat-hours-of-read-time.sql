-- Seat-hours count the time in which a server was read: days on which a reading stopped are summed up again.
DELETE FROM session_days WHERE day IN (
  SELECT day FROM session_days JOIN (
    SELECT until_at, lead(from_at, 1, until_at + 1) OVER (PARTITION BY server_id ORDER BY from_at) AS next FROM coverage
  ) ON next > until_at AND day BETWEEN until_at / 86400000 AND next / 86400000
);
