-- What a site still has to say to its hub. Triggers of the daemon's own connection fill these tables, and only where the
-- config has [fleet] (fleet/recording.ts).

-- Facts in the order in which they were stored. `key` finds the fact's row; of a step it is the step itself, because its
-- row is packed within the hour. Numbers are never given twice, also when all rows are gone.
CREATE TABLE fleet_outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  kind TEXT NOT NULL,
  key ANY NOT NULL
) STRICT;

-- UTC days (since 1970-01-01; -1 stands for what belongs to none) of which the hub is to get the rows; `whole`: of all tables,
-- not only the packed ones. `touches` tells whether there was news while they were sent.
CREATE TABLE fleet_days (
  day INTEGER PRIMARY KEY NOT NULL,
  whole INTEGER NOT NULL,
  touches INTEGER NOT NULL
) STRICT;

-- The epoch of this database, what the hub has of it, and what was said of people.
CREATE TABLE fleet_marks (
  name TEXT PRIMARY KEY NOT NULL,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
