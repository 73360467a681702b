import type { CheckoutPicture, QueuePicture } from "../../domain/picture.ts";
import type { FeatureState, State } from "../../fleet/protocol.ts";
import { pick } from "../../http/records.ts";
import type { Sql } from "../database/connect.ts";
import { type Origin, writeRows } from "./facts.ts";

type Picture = Extract<State, { readonly kind: "picture" }>;

/**
 * Stores pictures: of each server its head, the features that changed, and who holds their seats. Answers the servers whose
 * difference does not fit what is stored: these are wanted whole.
 */
export async function storePictures(
  tx: Sql,
  origin: Origin,
  pictures: readonly Picture[],
  now: number,
): Promise<string[]> {
  const wanted = new Set<string>();
  let rest = pictures;
  while (rest.length > 0) {
    // A server's parts follow one another, each upon the one before.
    const round = [...new Map(rest.toReversed().map((picture) => [picture.server, picture])).values()];
    for (const server of await storeRound(tx, origin, round, now)) wanted.add(server);
    rest = rest.filter((picture) => !round.includes(picture));
  }
  return [...wanted];
}

/** At most one picture of each server. */
async function storeRound(
  tx: Sql,
  origin: Origin,
  pictures: readonly Picture[],
  now: number,
): Promise<string[]> {
  const { site } = origin;
  const ids = pictures.map(({ server }) => server);
  const found: { server: string; picture: string | null }[] = await tx`
    SELECT server, picture FROM servers WHERE site = ${site} AND server IN ${tx(ids)}`;
  const stored = new Map(
    found.map(({ server, picture }) => [server, picture === null ? null : Number(picture)]),
  );
  const fits = pictures.filter(({ server, from }) => from === null || stored.get(server) === from);
  // The same part again, because its answer was lost.
  const isThere = ({ server, to }: Picture) => stored.get(server) === to;
  const wanted = pictures.filter((picture) => !fits.includes(picture) && !isThere(picture));
  if (fits.length === 0) return wanted.map(({ server }) => server);

  const whole = fits.filter(({ from }) => from === null).map(({ server }) => ({ server }));
  for (const table of ["current_rows", "current_features"]) await writeRows(tx, allOf(table), origin, whole);
  const gone = fits.flatMap(({ server, gone }) => gone.map(([daemon, name]) => ({ server, daemon, name })));
  const changed = fits.flatMap(({ server, features }) =>
    features.map(({ daemon, name }) => ({ server, daemon, name })),
  );
  await writeRows(tx, namedRows("current_rows", "feature"), origin, [...gone, ...changed]);
  await writeRows(tx, namedRows("current_features", "name"), origin, gone);
  const features = fits.flatMap(({ server, features }) =>
    features.map((feature) => featureRow(server, feature)),
  );
  await writeRows(tx, FEATURES, origin, features);
  await writeRows(
    tx,
    ROWS,
    origin,
    fits.flatMap(({ server, features }) => features.flatMap((one) => heldRows(server, one))),
  );
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
    collected_at = excluded.collected_at, changed_at = excluded.changed_at`;

const FEATURE_COLUMNS = [
  ...(["place integer", "total bigint", "used bigint", "available bigint", "reserved bigint"] as const),
  ...(["queued bigint", "checkouts integer", "unlimited boolean", "utilization double precision"] as const),
  ...(["shared boolean", "expires_on text", "expires_at bigint", "permanent boolean", "state text"] as const),
  ...(["error text", "collected_at bigint", "body text"] as const),
];
const names = FEATURE_COLUMNS.map((column) => column.slice(0, column.indexOf(" ")));
const FEATURES = `
  INSERT INTO current_features (site, server, daemon, name, ${names.join(", ")})
  SELECT $1, r.server, r.daemon, r.name, ${names.map((name) => `r.${name}`).join(", ")}
  FROM json_to_recordset($3::text::json) AS r(server text, daemon text, name text, ${FEATURE_COLUMNS.join(", ")})
  WHERE $2::int IS NOT NULL
  ON CONFLICT (site, server, daemon, name) DO UPDATE SET ${names
    .filter((name) => name !== "place")
    .map((name) => `${name} = excluded.${name}`)
    .join(", ")}`;

/** In `collected_at`, where null stands for the server's own time: a feature that was never read. */
export const NEVER = -1;
/** Behind all that have a place. */
const LAST = 2_147_483_647;

function featureRow(server: string, { checkouts, reservations: _, queue: __, ...feature }: FeatureState) {
  const { expiry, collectedAt } = feature;
  return {
    server,
    ...pick(feature, "daemon", "name", "total", "used", "available", "reserved", "queued", "unlimited"),
    ...pick(feature, "utilization", "shared", "state", "error"),
    place: LAST,
    checkouts: checkouts.length,
    expires_on: expiry.expiresOn,
    expires_at: expiry.expiresAt,
    permanent: expiry.permanent,
    collected_at: collectedAt === null ? NEVER : (collectedAt ?? null),
    body: JSON.stringify(feature),
  };
}

const ROW_COLUMNS = [
  ...([
    "kind text",
    "place integer",
    "session bigint",
    "user_name text",
    "host text",
    "version text",
  ] as const),
  ...(["count bigint", "handle text", "pid bigint", "started_at bigint", "first_seen_at bigint"] as const),
  ...(["began_at bigint", "linger_seconds bigint", "borrowed boolean", "body text"] as const),
];
const rowNames = ROW_COLUMNS.map((column) => column.slice(0, column.indexOf(" "))).join(", ");
const ROWS = `
  INSERT INTO current_rows (site, server, daemon, feature, ${rowNames})
  SELECT $1, r.server, r.daemon, r.feature, ${rowNames}
  FROM json_to_recordset($3::text::json) AS r(server text, daemon text, feature text, ${ROW_COLUMNS.join(", ")})
  WHERE $2::int IS NOT NULL`;

function heldRows(server: string, { daemon, name: feature, checkouts, reservations, queue }: FeatureState) {
  const of = { server, daemon, feature };
  const checkoutRows = checkouts.map((row, place) => ({
    ...of,
    kind: "checkout",
    place,
    session: row.session ?? null,
    ...personOf(row),
    pid: row.pid,
    started_at: row.startedAt,
    first_seen_at: row.firstSeenAt ?? null,
    began_at: row.beganAt ?? row.startedAt,
    linger_seconds: row.lingerSeconds,
    borrowed: row.borrowed,
  }));
  const reservationRows = reservations.map((row, place) => ({
    ...of,
    kind: "reservation",
    place,
    count: row.count,
    borrowed: false,
    body: JSON.stringify(row),
  }));
  const queueRows = queue.map((row, place) => ({
    ...of,
    kind: "queued",
    place,
    ...personOf(row),
    first_seen_at: row.firstSeenAt ?? null,
    began_at: row.firstSeenAt ?? null,
    borrowed: false,
  }));
  return [...checkoutRows, ...reservationRows, ...queueRows];
}

function personOf(row: CheckoutPicture | QueuePicture) {
  return {
    user_name: row.user,
    ...pick(row, "host", "version", "count", "handle"),
    body: JSON.stringify(row),
  };
}

const PLACES = `
  UPDATE current_features f SET place = r.place
  FROM json_to_recordset($3::text::json) AS r(server text, daemon text, name text, place integer)
  WHERE f.site = $1 AND $2::int IS NOT NULL AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.name
    AND f.place <> r.place`;
