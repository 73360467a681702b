import fleet from "./migrations/0001-fleet.sql" with { type: "text" };
import ownSecret from "./migrations/0002-own-secret.sql" with { type: "text" };

/** In order: the schema version of a database is the number of steps it has taken. One that was released never changes. */
export const MIGRATIONS: readonly { readonly name: string; readonly sql: string }[] = [
  { name: "0001-fleet", sql: fleet },
  { name: "0002-own-secret", sql: ownSecret },
];
