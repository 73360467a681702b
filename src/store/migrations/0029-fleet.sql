-- Data that a site must still send to its hub. Triggers of the daemon's own connection fill these tables, only if the
-- config has [fleet] (fleet/recording.ts).

-- Facts in the order in which they were stored. `key` finds the fact's row; of a step it is the step itself, because its
-- row is packed within the hour. Numbers are never given twice, also when all rows are gone.
CREATE TABLE fleet_outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  kind TEXT NOT NULL,
  key ANY NOT NULL
) STRICT;

-- UTC days (since 1970-01-01; -1 for rows without a day) whose rows the hub must get; `whole`: of all tables, not
-- only the packed ones. `touches` records changes made while they were sent.
CREATE TABLE fleet_days (
  day INTEGER PRIMARY KEY NOT NULL,
  whole INTEGER NOT NULL,
  touches INTEGER NOT NULL
) STRICT;

-- The epoch of this database, the position of the hub, and the last setting about people.
CREATE TABLE fleet_marks (
  name TEXT PRIMARY KEY NOT NULL,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
