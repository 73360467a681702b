import pictures from "./0001-pictures.sql" with { type: "text" };
import keys from "./0002-keys.sql" with { type: "text" };
import events from "./0003-events.sql" with { type: "text" };
import sessions from "./0004-sessions.sql" with { type: "text" };
import secrets from "./0005-secrets.sql" with { type: "text" };
import quotas from "./0006-quotas.sql" with { type: "text" };
import history from "./0007-history.sql" with { type: "text" };
import denials from "./0008-denials.sql" with { type: "text" };
import alerts from "./0009-alerts.sql" with { type: "text" };
import denialsInRollups from "./0010-denials-in-rollups.sql" with { type: "text" };
import sessionsByStart from "./0011-sessions-by-start.sql" with { type: "text" };
import longSessions from "./0012-long-sessions.sql" with { type: "text" };
import unparsedAndDisk from "./0013-unparsed-and-disk.sql" with { type: "text" };
import sumsOfDays from "./0014-sums-of-days.sql" with { type: "text" };
import importedFeatures from "./0015-imported-features.sql" with { type: "text" };
import eventsBehind from "./0016-events-behind-their-ids.sql" with { type: "text" };
import daemonsInUsage from "./0017-daemons-in-usage.sql" with { type: "text" };
import indexOfLogWords from "./0018-index-of-log-words.sql" with { type: "text" };
import noReplayTables from "./0019-no-replay-tables.sql" with { type: "text" };
import picturesInOneRow from "./0020-pictures-in-one-row.sql" with { type: "text" };
import seatsByDay from "./0021-seats-by-day.sql" with { type: "text" };
import stateOfItsOwn from "./0022-state-in-a-file-of-its-own.sql" with { type: "text" };
import alertsOnSeats from "./0023-alerts-on-seats.sql" with { type: "text" };
import looksInCoverage from "./0024-looks-in-coverage.sql" with { type: "text" };
import statusesOfServers from "./0025-statuses-of-servers.sql" with { type: "text" };
import fullTimesByDay from "./0026-full-times-by-day.sql" with { type: "text" };
import lastSeen from "./0027-last-seen.sql" with { type: "text" };
import unitsAndUsers from "./0028-units-and-unknown-users.sql" with { type: "text" };
import fleet from "./0029-fleet.sql" with { type: "text" };
import denialsByReason from "./0030-denials-by-reason.sql" with { type: "text" };
import sessionsByAWrongClock from "./0031-sessions-by-a-wrong-clock.sql" with { type: "text" };
import seatHoursOfReadTime from "./0032-seat-hours-of-read-time.sql" with { type: "text" };
import packedDays from "./0033-packed-days.sql" with { type: "text" };
import alertsOnlyInState from "./0034-alerts-only-in-state.sql" with { type: "text" };
import state from "./state/0001-state.sql" with { type: "text" };
import signIns from "./state/0003-sign-ins.sql" with { type: "text" };
import alertsOnlyHere from "./state/0004-alerts-only-here.sql" with { type: "text" };

/** One migration of the schema. Never change a released migration; add a new one. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/**
 * All migrations in order. The schema version of a database (`PRAGMA user_version`) is the number of
 * applied migrations.
 */
export const MIGRATIONS: readonly Migration[] = [
  { name: "0001-pictures", sql: pictures },
  { name: "0002-keys", sql: keys },
  { name: "0003-events", sql: events },
  { name: "0004-sessions", sql: sessions },
  { name: "0005-secrets", sql: secrets },
  { name: "0006-quotas", sql: quotas },
  { name: "0007-history", sql: history },
  { name: "0008-denials", sql: denials },
  { name: "0009-alerts", sql: alerts },
  { name: "0010-denials-in-rollups", sql: denialsInRollups },
  { name: "0011-sessions-by-start", sql: sessionsByStart },
  { name: "0012-long-sessions", sql: longSessions },
  { name: "0013-unparsed-and-disk", sql: unparsedAndDisk },
  { name: "0014-sums-of-days", sql: sumsOfDays },
  { name: "0015-imported-features", sql: importedFeatures },
  { name: "0016-events-behind-their-ids", sql: eventsBehind },
  { name: "0017-daemons-in-usage", sql: daemonsInUsage },
  { name: "0018-index-of-log-words", sql: indexOfLogWords },
  { name: "0019-no-replay-tables", sql: noReplayTables },
  { name: "0020-pictures-in-one-row", sql: picturesInOneRow },
  { name: "0021-seats-by-day", sql: seatsByDay },
  { name: "0022-state-in-a-file-of-its-own", sql: stateOfItsOwn },
  { name: "0023-alerts-on-seats", sql: alertsOnSeats },
  { name: "0024-looks-in-coverage", sql: looksInCoverage },
  { name: "0025-statuses-of-servers", sql: statusesOfServers },
  { name: "0026-full-times-by-day", sql: fullTimesByDay },
  { name: "0027-last-seen", sql: lastSeen },
  { name: "0028-units-and-unknown-users", sql: unitsAndUsers },
  { name: "0029-fleet", sql: fleet },
  { name: "0030-denials-by-reason", sql: denialsByReason },
  { name: "0031-sessions-by-a-wrong-clock", sql: sessionsByAWrongClock },
  { name: "0032-seat-hours-of-read-time", sql: seatHoursOfReadTime },
  { name: "0033-packed-days", sql: packedDays },
  { name: "0034-alerts-only-in-state", sql: alertsOnlyInState },
];

/** First schema of licmond.db without alerts, which moved to state.db. */
export const ALERTS_MOVED = 34;

/**
 * Migrations of `state.db`. `since`: the schema of licmond.db that was introduced together with the
 * migration.
 */
export const STATE_MIGRATIONS: readonly (Migration & { readonly since: number })[] = [
  { name: "0001-state", sql: state, since: 0 },
  // Until schema 34 both files had this table.
  { name: "0002-alerts-on-seats", sql: alertsOnSeats, since: 23 },
  { name: "0003-sign-ins", sql: signIns, since: 26 },
  { name: "0004-alerts-only-here", sql: alertsOnlyHere, since: ALERTS_MOVED },
];
