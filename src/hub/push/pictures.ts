import type { State } from "../../fleet/protocol.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { Sql } from "../database/connect.ts";
import { type Origin, writeRows } from "./facts.ts";
import { FEATURES, featureRow, heldRows, POOLS, poolRows, ROWS } from "./picture-rows.ts";
import { SUMS } from "./sums.ts";

type Picture = Extract<State, { readonly kind: "picture" }>;

/**
 * Stores the head, the changed features and the people of each picture. Returns the servers whose difference
 * does not match the stored picture; complete pictures are needed.
 */
export async function storePictures(
  tx: Sql,
  origin: Origin,
  pictures: readonly Picture[],
  now: number,
  pseudonyms: Pseudonyms,
): Promise<string[]> {
  const wanted = new Set<string>();
  let rest = pictures;
  while (rest.length > 0) {
    // Parts of a server's picture build on each other.
    const round = [...new Map(rest.toReversed().map((picture) => [picture.server, picture])).values()];
    for (const server of await storeRound(tx, origin, round, now, pseudonyms)) wanted.add(server);
    rest = rest.filter((picture) => !round.includes(picture));
  }
  return [...wanted];
}

/** Stores at most one picture of each server. */
async function storeRound(
  tx: Sql,
  origin: Origin,
  pictures: readonly Picture[],
  now: number,
  pseudonyms: Pseudonyms,
): Promise<string[]> {
  const { site } = origin;
  const ids = pictures.map(({ server }) => server);
  const found: { server: string; picture: string | null }[] = await tx`
    SELECT server, picture FROM servers WHERE site = ${site} AND server IN ${tx(ids)}`;
  const stored = new Map(
    found.map(({ server, picture }) => [server, picture === null ? null : Number(picture)]),
  );
  const fits = pictures.filter(({ server, from }) => from === null || stored.get(server) === from);
  // A part that is sent again because its answer was lost.
  const isThere = ({ server, to }: Picture) => stored.get(server) === to;
  const wanted = pictures.filter((picture) => !fits.includes(picture) && !isThere(picture));
  if (fits.length === 0) return wanted.map(({ server }) => server);

  const whole = fits.filter(({ from }) => from === null).map(({ server }) => ({ server }));
  for (const table of ["current_rows", "current_pools", "current_features"])
    await writeRows(tx, allOf(table), origin, whole);
  const gone = fits.flatMap(({ server, gone }) => gone.map(([daemon, name]) => ({ server, daemon, name })));
  const changed = fits.flatMap(({ server, features }) =>
    features.map(({ daemon, name }) => ({ server, daemon, name })),
  );
  for (const table of ["current_rows", "current_pools"])
    await writeRows(tx, namedRows(table, "feature"), origin, [...gone, ...changed]);
  await writeRows(tx, namedRows("current_features", "name"), origin, gone);
  const each = fits.flatMap(({ server, features }) => features.map((feature) => ({ server, feature })));
  const featureRows = each.map(({ server, feature }) => featureRow(server, feature));
  await writeRows(tx, FEATURES, origin, featureRows);
  const pools = each.flatMap(({ server, feature }) => poolRows(server, feature));
  await writeRows(tx, POOLS, origin, pools);
  const held = each.flatMap(({ server, feature }) => heldRows(server, feature, pseudonyms));
  await writeRows(tx, ROWS, origin, held);
  const places = fits.flatMap(({ server, order }) =>
    (order ?? []).map(([daemon, name], place) => ({ server, daemon, name, place })),
  );
  await writeRows(tx, PLACES, origin, places);
  const heads = fits.map(({ server, to, more, head }) => ({
    server,
    to,
    more,
    head,
    at: head.collectedAt,
    now,
  }));
  await writeRows(tx, HEADS, origin, heads);
  await writeRows(tx, SUMS, origin, heads);
  return wanted.map(({ server }) => server);
}

const allOf = (table: string) => `
  DELETE FROM ${table} USING json_to_recordset($3::text::json) AS r(server text)
  WHERE site = $1 AND $2::int IS NOT NULL AND ${table}.server = r.server`;

const namedRows = (table: string, column: string) => `
  DELETE FROM ${table} t USING json_to_recordset($3::text::json) AS r(server text, daemon text, name text)
  WHERE t.site = $1 AND $2::int IS NOT NULL AND t.server = r.server AND t.daemon = r.daemon AND t.${column} = r.name`;

const HEADS = `
  INSERT INTO servers (site, server, place, picture, partly, head, collected_at, changed_at)
  SELECT $1, r.server, 2147483647, r."to", r.more, r.head::text, r.at, r.now
  FROM json_to_recordset($3::text::json) AS r(server text, "to" bigint, more boolean, head json, at bigint, now bigint)
  WHERE $2::int IS NOT NULL
  ON CONFLICT (site, server) DO UPDATE SET picture = excluded.picture, partly = excluded.partly, head = excluded.head,
    collected_at = excluded.collected_at, changed = excluded.changed,
    changed_at = greatest(excluded.changed_at, servers.changed_at + 1)`;

const PLACES = `
  UPDATE current_features f SET place = r.place
  FROM json_to_recordset($3::text::json) AS r(server text, daemon text, name text, place integer)
  WHERE f.site = $1 AND $2::int IS NOT NULL AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.name
    AND f.place <> r.place`;
