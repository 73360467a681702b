import { FEATURE_COLUMNS, type Patch, type PictureRow, ROW_COLUMNS } from "../domain/live-picture.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { iso } from "../domain/time/clock.ts";
import { featureRecord, serverRecord } from "./records.ts";
import { perPicture } from "./snapshot.ts";

/** Texts of JSON by name or key. */
type Parts = ReadonlyMap<string, string>;

/** A server's picture as JSON in parts: the fields of its record, its features, its rows. */
const partsOf = perPicture((picture) => {
  const record = new Map<string, string>();
  for (const [name, value] of Object.entries(serverRecord(picture))) record.set(name, JSON.stringify(value));
  const features = new Map<string, string>();
  const rows = new Map<string, string>();
  for (const feature of picture.features) {
    const key = keyOf(feature);
    features.set(key, featureJson(key, picture, feature));
    for (const [row, json] of checkoutRows(key, feature.checkouts)) rows.set(row, json);
    for (const [row, json] of otherRows(key, feature)) rows.set(row, json);
  }
  return { record, features, rows };
});

/** Names of daemons and features may hold anything: the first slash parts them. */
function keyOf({ daemon, name }: FeaturePicture): string {
  return `${daemon.replaceAll(/[%/]/g, encodeURIComponent)}/${name}`;
}

function featureJson(key: string, { server, collectedAt }: ServerPicture, feature: FeaturePicture): string {
  const fields = featureRecord(server.id, feature);
  // The time of the last good reading stands in the server: here it would change every feature at every poll.
  const own = feature.collectedAt === collectedAt ? { ...fields, collectedAt: null } : fields;
  return JSON.stringify([key, ...FEATURE_COLUMNS.map((name) => own[name])]);
}

type KeyedRows = readonly (readonly [key: string, json: string])[];
const keptRows = new WeakMap<readonly CheckoutPicture[], KeyedRows>();

/** Kept with the checkouts: of a feature that a poll found unchanged they are those of the picture before. */
function checkoutRows(feature: string, checkouts: readonly CheckoutPicture[]): KeyedRows {
  return keptRows.getOrInsertComputed(checkouts, () =>
    keyed(
      checkouts.map((checkout) => {
        const { session = null, startedAt, beganAt = startedAt } = checkout;
        const row = rowOf(feature, "checkout", { ...checkout, session, since: iso(beganAt) });
        return session === null ? row : { ...row, key: String(session) };
      }),
    ),
  );
}

function otherRows(feature: string, { reservations, queue }: FeaturePicture): KeyedRows {
  return keyed([
    ...reservations.map(({ type, name, count }) =>
      rowOf(feature, "reservation", { count, reservedFor: { type, name } }),
    ),
    ...queue.map((entry) => rowOf(feature, "queued", { ...entry, since: iso(entry.firstSeenAt ?? null) })),
  ]);
}

/** A row under a key made of what it says of whom; its count and its times may change. */
function rowOf(feature: string, kind: PictureRow["kind"], fields: Partial<PictureRow>): PictureRow {
  const { user = null, host = null, display = null, version = null, handle = null } = fields;
  const { count = 0, since = null, session = null, borrowed = false, reservedFor = null } = fields;
  const who = Bun.hash(JSON.stringify([user, host, display, version, handle, reservedFor])).toString(36);
  const person = { user, host, display, version, handle };
  return {
    key: `${feature}/${kind}-${who}`,
    feature,
    kind,
    count,
    since,
    session,
    borrowed,
    reservedFor,
    ...person,
  };
}

/** Equal rows differ by their ordinal. */
function keyed(rows: readonly PictureRow[]): KeyedRows {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const ordinal = (seen.get(row.key) ?? 0) + 1;
    seen.set(row.key, ordinal);
    const key = ordinal === 1 ? row.key : `${row.key}-${ordinal}`;
    return [key, JSON.stringify([key, ...ROW_COLUMNS.map((name) => row[name])])];
  });
}

/** A server of `GET /api/picture` as JSON. */
export function serverJson(picture: ServerPicture, snapshot: number): string {
  const { record, features, rows } = partsOf(picture);
  const head = [["snapshot", String(snapshot)], ...record].map(([name, json]) => `"${name}":${json}`);
  return `{${head},"features":[${[...features.values()]}],"rows":[${[...rows.values()]}]}`;
}

/** What makes one picture of a server the next, but for its `from` and `to`, as JSON without its braces. */
export function patchJson(before: ServerPicture | null, after: ServerPicture): string {
  const was = before === null ? null : partsOf(before);
  const now = partsOf(after);
  const changed = differing(was?.record, now.record).map(([name, json]) => `"${name}":${json}`);
  const gone: Patch["gone"] = {
    features: missing(was?.features, now.features),
    rows: missing(was?.rows, now.rows),
  };
  const features = differing(was?.features, now.features).map(([, json]) => json);
  const rows = differing(was?.rows, now.rows).map(([, json]) => json);
  return `"changed":{${changed}},"features":[${features}],"rows":[${rows}],"gone":${JSON.stringify(gone)}`;
}

function differing(before: Parts | undefined, after: Parts): (readonly [string, string])[] {
  return [...after].filter(([key, json]) => before?.get(key) !== json);
}

function missing(before: Parts | undefined, after: Parts): string[] {
  return [...(before?.keys() ?? [])].filter((key) => !after.has(key));
}
