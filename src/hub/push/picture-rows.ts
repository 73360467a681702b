import type { CheckoutPicture, FeaturePicture, QueuePicture } from "../../domain/picture.ts";
import type { Holder } from "../../domain/session.ts";
import type { FeatureState } from "../../fleet/protocol.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import { pick } from "../../http/records.ts";

/** Value of `collected_at` for a feature that was never read. Null means that the server's time applies. */
export const NEVER = -1;
/** Place of a row whose place is not known yet. Sorts after all known places. */
const LAST = 2_147_483_647;

function insertInto(table: string, columns: readonly string[], feature = "feature"): string {
  const names = columns.map(nameOf);
  return `
    INSERT INTO ${table} (site, server, daemon, ${feature}, ${names.join(", ")})
    SELECT $1, r.server, r.daemon, r.feature, ${names.map((name) => `r.${name}`).join(", ")}
    FROM json_to_recordset($2::text::json) AS r(server text, daemon text, feature text, ${columns.join(", ")})`;
}

const nameOf = (column: string) => column.slice(0, column.indexOf(" "));

const FEATURE_COLUMNS =
  `lower_name text, place integer, total bigint, used bigint, available bigint, reserved bigint,
  queued bigint, checkouts integer, unlimited boolean, utilization double precision, shared boolean, expires_on text,
  expires_at bigint, permanent boolean, state text, error text, collected_at bigint, unit text, seat_group text,
  assigned integer, listed integer, body text`.split(/,\s+/);

export const FEATURES = `${insertInto("current_features", FEATURE_COLUMNS, "name")}
  ON CONFLICT (site, server, daemon, name) DO UPDATE SET ${FEATURE_COLUMNS.map(nameOf)
    .filter((name) => name !== "place")
    .map((name) => `${name} = excluded.${name}`)
    .join(", ")}`;

export function featureRow(
  server: string,
  { checkouts, reservations, queue, assigned, ...feature }: FeatureState,
) {
  const { daemon, name, expiry } = feature;
  return {
    server,
    daemon,
    feature: name,
    ...pick(feature, "total", "used", "available", "reserved", "queued", "unlimited"),
    ...pick(feature, "utilization", "shared", "state", "error"),
    lower_name: name.toLowerCase(),
    place: LAST,
    checkouts: checkouts.length,
    expires_on: expiry.expiresOn,
    expires_at: expiry.expiresAt,
    permanent: expiry.permanent,
    collected_at: collectedAt(feature),
    ...countedAs(feature),
    assigned: assigned?.length ?? null,
    listed: checkouts.length + reservations.length + queue.length + (assigned?.length ?? 0),
    body: JSON.stringify(feature),
  };
}

const collectedAt = ({ collectedAt: at }: Pick<FeatureState, "collectedAt">) =>
  at === null ? NEVER : (at ?? null);

const countedAs = ({ unit = "seats", seatGroup }: Pick<FeaturePicture, "unit" | "seatGroup">) => ({
  unit,
  seat_group: seatGroup ?? null,
});

const POOL_COLUMNS =
  "pool text, total bigint, expires_on text, expires_at bigint, permanent boolean, unit text, seat_group text".split(
    /,\s+/,
  );
export const POOLS = insertInto("current_pools", POOL_COLUMNS);

export function poolRows(server: string, { daemon, name: feature, pools, ...counted }: FeatureState) {
  return pools.map(({ id: pool, total, expiry }) => ({
    server,
    daemon,
    feature,
    pool,
    total,
    expires_on: expiry.expiresOn,
    expires_at: expiry.expiresAt,
    permanent: expiry.permanent,
    ...countedAs(counted),
  }));
}

const ROW_COLUMNS =
  `kind text, place integer, session bigint, user_name text, user_alias text, host text, lower_host text,
  host_alias text, version text, count bigint, handle text, pid bigint, started_at bigint, first_seen_at bigint,
  began_at bigint, linger_seconds bigint, borrowed boolean,
  state text, collected_at bigint, body text`.split(/,\s+/);
export const ROWS = insertInto("current_rows", ROW_COLUMNS);

export function heldRows(server: string, picture: FeatureState, pseudonyms: Pseudonyms) {
  const { daemon, name, state, checkouts, reservations, queue, alsoHeldBy = [], assigned = [] } = picture;
  const of = { server, daemon, feature: name, state, collected_at: collectedAt(picture), borrowed: false };
  const row = (kind: string, place: number, count: number, body: object) => {
    return { ...of, kind, place, count, body: JSON.stringify(body) };
  };
  const person = ({ user, host }: Holder) => ({
    user_name: user,
    user_alias: user === null ? null : pseudonyms.user(user),
    host,
    lower_host: host?.toLowerCase() ?? null,
    host_alias: host === null ? null : pseudonyms.host(host),
  });
  const seat = (one: CheckoutPicture | QueuePicture) => ({
    ...person(one),
    ...pick(one, "version", "handle"),
    first_seen_at: one.firstSeenAt ?? null,
  });
  return [
    ...checkouts.map((one, place) => ({
      ...row("checkout", place, one.count, one),
      ...seat(one),
      ...pick(one, "pid", "borrowed"),
      session: one.session ?? null,
      started_at: one.startedAt,
      began_at: one.beganAt ?? one.startedAt,
      linger_seconds: one.lingerSeconds,
    })),
    ...reservations.map((one, place) => row("reservation", place, one.count, one)),
    ...queue.map((one, place) => ({
      ...row("queued", place, one.count, one),
      ...seat(one),
      began_at: one.firstSeenAt ?? null,
    })),
    ...assigned.map((one, place) => ({
      ...row("assigned", place, 1, one),
      ...person(one),
      started_at: one.since,
    })),
    ...alsoHeldBy.map((one, place) => ({ ...row("held", place, 0, one), ...person(one) })),
  ];
}
