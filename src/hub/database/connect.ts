import { readFileSync } from "node:fs";
import { SQL, type TransactionSQL } from "bun";
import type { Config } from "../../config/config.ts";

export type Sql = SQL | TransactionSQL;
export type Pool = SQL;

/**
 * Maximum number of connections per hub for pushes and reads. More would not help, because PostgreSQL runs
 * one query per processor.
 */
const CONNECTIONS = 12;

/** Opens a pool, which connects on first use. Reads the password file now. */
export function openPool(
  { database, passwordFile }: NonNullable<Config["hub"]>,
  max = CONNECTIONS,
  // Maximum lifetime of a connection, because the address may lead to another machine after a failover.
  lifetimeSeconds = 600,
): Pool {
  const url = new URL(database);
  if (passwordFile !== null) url.password = encodeURIComponent(readFileSync(passwordFile, "utf8").trim());
  return new SQL(url.href, { max, idleTimeout: 60, connectionTimeout: 10, maxLifetime: lifetimeSeconds });
}

export function sqlState(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof SQL.PostgresError && typeof at.errno === "string") return at.errno;
  }
  return null;
}

/**
 * Reports whether PostgreSQL refused the values of a statement. Code 21000: an upsert has one row twice;
 * 54000: a value is too large for an index.
 */
export function isBadData(error: unknown): boolean {
  return /^(2[23]|21000|54000)/.test(sqlState(error) ?? "");
}

/**
 * Reports whether PostgreSQL is unreachable, full, read-only or shutting down, so that a retry may succeed.
 * Classes: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function isAway(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null && /^(08|25006|53|57P|58|40)/.test(state)) return true;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(ERR_POSTGRES_(CONNECTION|IDLE_TIMEOUT|LIFETIME|SERVER_ERROR_CONN)|ECONN|ENOTFOUND|ETIMEDOUT|EPIPE|ENOENT|FailedToOpenSocket)/.test(
    code,
  );
}

/** Converts a 64-bit number, which PostgreSQL sends as text. Null stays null. */
export function whole(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

const names = new Map<string, string>();
const nameOf = (column: string) => column.replaceAll(/_[a-z]/g, ([, letter = ""]) => letter.toUpperCase());

/** Converts a row to an object: `started_at` becomes `startedAt`, and the 64-bit `numbers` become numbers. */
export function fromRow<T extends object>(
  row: Readonly<Record<string, unknown>>,
  numbers: readonly (keyof T & string)[],
): T {
  const made: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    const name = names.getOrInsertComputed(column, nameOf);
    made[name] = (numbers as readonly string[]).includes(name) ? whole(value) : value;
  }
  return made as T;
}
