import fleet from "./migrations/0001-fleet.sql" with { type: "text" };
import ownSecret from "./migrations/0002-own-secret.sql" with { type: "text" };

/** In order; the schema version is the number of applied migrations. Released migrations never change. */
export const MIGRATIONS: readonly { readonly name: string; readonly sql: string }[] = [
  { name: "0001-fleet", sql: fleet },
  { name: "0002-own-secret", sql: ownSecret },
];
