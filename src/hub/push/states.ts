import type { State } from "../../fleet/protocol.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { Sql } from "../database/connect.ts";
import { type Origin, storeAlerts, writeRows } from "./facts.ts";
import { FEATURES, featureRow, heldRows, POOLS, poolRows, ROWS } from "./picture-rows.ts";
import { SUMS } from "./sums.ts";

type StateOf<Kind extends State["kind"]> = Extract<State, { readonly kind: Kind }>;

/** Stores the newest states. Returns the servers whose complete pictures are needed. */
export async function storeStates(
  tx: Sql,
  origin: Origin,
  states: readonly State[],
  now: number,
  pseudonyms: Pseudonyms,
): Promise<string[]> {
  const newest = <Kind extends State["kind"]>(kind: Kind) =>
    states.findLast((state): state is StateOf<Kind> => state.kind === kind);
  const site = newest("site");
  if (site !== undefined) await storeSite(tx, origin, site, now);
  const wanted = await storePictures(
    tx,
    origin,
    states.filter((state) => state.kind === "picture"),
    now,
    pseudonyms,
  );
  const alerts = newest("alerts");
  if (alerts !== undefined) {
    await tx`UPDATE sites SET firing = ${JSON.stringify(alerts.firing)} WHERE site = ${origin.site}`;
    await settleAlerts(tx, origin, now);
  }
  const known = newest("known");
  if (known !== undefined) await storeKnown(tx, origin, known);
  return wanted;
}

/** Stores a site's public config. Removed servers keep their history. */
async function storeSite(
  tx: Sql,
  origin: Origin,
  { kind: _, servers, ...info }: StateOf<"site">,
  now: number,
): Promise<void> {
  const { site } = origin;
  await tx`UPDATE sites SET info = ${JSON.stringify(info)} WHERE site = ${site}`;
  await writeRows(
    tx,
    SERVERS,
    origin,
    [...new Set(servers)].map((server, place) => ({ server, place, now })),
  );
  for (const table of ["current_rows", "current_pools", "current_features", "servers"])
    await tx.unsafe(
      `DELETE FROM ${table} WHERE site = $1 AND NOT server = ANY(SELECT json_array_elements_text($2::text::json))`,
      [site, JSON.stringify(servers)],
    );
}

const SERVERS = `
  INSERT INTO servers (site, server, place, changed_at)
  SELECT $1, r.server, r.place, r.now FROM json_to_recordset($2::text::json) AS r(server text, place integer, now bigint)
  ON CONFLICT (site, server) DO UPDATE SET place = excluded.place, changed = excluded.changed,
    changed_at = greatest(excluded.changed_at, servers.changed_at + 1) WHERE servers.place <> excluded.place`;

/**
 * Applies the newest state of alerts, which may be ahead of the facts. An alert that no longer fires is
 * resolved now. The real end of the alert arrives later as a fact.
 */
export async function settleAlerts(tx: Sql, origin: Origin, now: number): Promise<void> {
  const { site, epoch } = origin;
  const [row] = await tx`SELECT firing FROM sites WHERE site = ${site}`;
  if (row.firing === null) return;
  const firing: StateOf<"alerts">["firing"] = JSON.parse(row.firing);
  await tx`
    UPDATE alerts SET resolved_at = ${now}
    WHERE site = ${site} AND resolved_at IS NULL AND site_id IS NOT NULL AND (epoch <> ${epoch} OR NOT site_id IN (
      SELECT (firing ->> 'id')::bigint FROM json_array_elements(${row.firing}::text::json) AS firing))`;
  await storeAlerts(tx, origin, firing);
}

async function storeKnown(tx: Sql, origin: Origin, known: StateOf<"known">): Promise<void> {
  const { site } = origin;
  const { at, coverage, statuses, denialSpans, sessionsFrom } = known;
  await tx`UPDATE sites SET known_at = ${at}, sessions_from = ${sessionsFrom} WHERE site = ${site}`;
  await writeRows(tx, COVERAGE, origin, coverage);
  await writeRows(tx, STATUSES, origin, statuses);
  if (denialSpans === null) return;
  const spans = JSON.stringify(denialSpans);
  await tx.unsafe(
    `DELETE FROM denial_spans s WHERE site = $1 AND NOT EXISTS (SELECT 1 FROM ${SPANS} WHERE ${SAME})`,
    [site, spans],
  );
  await tx.unsafe(
    `INSERT INTO denial_spans (site, server, from_at, to_at, counted, by_feature)
     SELECT $1, r.server, r."from", r."to", r.counted, coalesce(r."byFeature", false) FROM ${SPANS}
     WHERE NOT EXISTS (SELECT 1 FROM denial_spans s WHERE s.site = $1 AND ${SAME})`,
    [site, spans],
  );
}

const SPANS = `json_to_recordset($2::text::json) AS r(server text, "from" bigint, "to" bigint, counted boolean, "byFeature" boolean)`;
const SAME = `s.server = r.server AND s.from_at = r."from" AND s.to_at IS NOT DISTINCT FROM r."to" AND s.counted = r.counted
  AND s.by_feature = coalesce(r."byFeature", false)`;

const COVERAGE = `
  UPDATE coverage c SET read_at = r."readAt", until_at = r."until", looks = r.looks
  FROM json_to_recordset($2::text::json) AS r(server text, "from" bigint, "readAt" bigint, "until" bigint, looks bigint)
  WHERE c.site = $1 AND c.server = r.server AND c.from_at = r."from"`;

const STATUSES = `
  UPDATE statuses s SET read_at = r."readAt", until_at = r."until", next_by = r."nextBy"
  FROM json_to_recordset($2::text::json) AS r(server text, "from" bigint, "readAt" bigint, "until" bigint, "nextBy" bigint)
  WHERE s.site = $1 AND s.server = r.server AND s.from_at = r."from"`;

type Picture = Extract<State, { readonly kind: "picture" }>;

/**
 * Stores pictures. Returns the servers whose stored picture is not the one that the sent difference is
 * relative to.
 */
async function storePictures(
  tx: Sql,
  origin: Origin,
  pictures: readonly Picture[],
  now: number,
  pseudonyms: Pseudonyms,
): Promise<string[]> {
  const wanted = new Set<string>();
  let rest = pictures;
  while (rest.length > 0) {
    // Store one part of each server's picture per round, because parts build on each other.
    const round = [...new Map(rest.toReversed().map((picture) => [picture.server, picture])).values()];
    for (const server of await storeRound(tx, origin, round, now, pseudonyms)) wanted.add(server);
    rest = rest.filter((picture) => !round.includes(picture));
  }
  return [...wanted];
}

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
  // The picture may be stored already: a part is sent again if its answer was lost.
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
  DELETE FROM ${table} USING json_to_recordset($2::text::json) AS r(server text)
  WHERE site = $1 AND ${table}.server = r.server`;

const namedRows = (table: string, column: string) => `
  DELETE FROM ${table} t USING json_to_recordset($2::text::json) AS r(server text, daemon text, name text)
  WHERE t.site = $1 AND t.server = r.server AND t.daemon = r.daemon AND t.${column} = r.name`;

const HEADS = `
  INSERT INTO servers (site, server, place, picture, partly, head, collected_at, changed_at)
  SELECT $1, r.server, 2147483647, r."to", r.more, r.head::text, r.at, r.now
  FROM json_to_recordset($2::text::json) AS r(server text, "to" bigint, more boolean, head json, at bigint, now bigint)
  ON CONFLICT (site, server) DO UPDATE SET picture = excluded.picture, partly = excluded.partly, head = excluded.head,
    collected_at = excluded.collected_at, changed = excluded.changed,
    changed_at = greatest(excluded.changed_at, servers.changed_at + 1)`;

const PLACES = `
  UPDATE current_features f SET place = r.place
  FROM json_to_recordset($2::text::json) AS r(server text, daemon text, name text, place integer)
  WHERE f.site = $1 AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.name
    AND f.place <> r.place`;
