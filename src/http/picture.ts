import type { Patch } from "../domain/live-picture.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { FEATURE_COLUMNS } from "../domain/picture.ts";
import type { CheckoutReading } from "../domain/reading.ts";
import { iso } from "../domain/time/clock.ts";
import { featureRecord, serverRecord } from "./records.ts";
import { perPicture } from "./snapshot.ts";

/** JSON texts by name or key. */
type Texts = ReadonlyMap<string, string>;

/** JSON of a picture in parts: fields of the server's record, features, and rows. */
const partsOf = perPicture((picture): Record<"record" | "features" | "rows", Texts> => {
  const record = Object.entries(serverRecord(picture)).map(
    ([name, value]) => [name, JSON.stringify(value)] as const,
  );
  const features = new Map<string, string>();
  const rows = new Map<string, string>();
  for (const feature of picture.features) {
    const key = keyOf(feature);
    features.set(key, featureJson(key, feature, picture));
    for (const [row, json] of checkoutRows(key, feature)) rows.set(row, json);
    for (const [index, values] of otherRows(feature).entries()) {
      const row = `${key}/${values[0]}-${index}`;
      rows.set(row, JSON.stringify([row, key, ...values]));
    }
  }
  return { record: new Map(record), features, rows };
});

/** Names may contain any text, so only the first slash separates. */
function keyOf({ daemon, name }: FeaturePicture): string {
  return `${/[%/]/.test(daemon) ? daemon.replaceAll(/[%/]/g, encodeURIComponent) : daemon}/${name}`;
}

function featureJson(key: string, feature: FeaturePicture, { server, collectedAt: usual }: ServerPicture) {
  // Leave out the time if it is the server's own, because it would change every feature at every poll.
  const collectedAt = feature.collectedAt === usual ? null : feature.collectedAt;
  const fields = featureRecord(server, { ...feature, collectedAt, pools: [] });
  return JSON.stringify([key, ...FEATURE_COLUMNS.map((name) => fields[name])]);
}

/** Caches rows of checkouts, which are most of the text. Pictures share unchanged checkouts. */
const kept = new WeakMap<readonly CheckoutReading[], Texts>();

function checkoutRows(feature: string, { checkouts }: FeaturePicture): Texts {
  return kept.getOrInsertComputed(checkouts, () => {
    const rows = checkouts.map((checkout, index) => {
      const { user, host, count, startedAt, beganAt = startedAt, session = null } = checkout;
      const { display, version, handle, borrowed, siteSession = session } = checkout;
      const key = siteSession === null ? `${feature}/checkout-${index}` : String(siteSession);
      const who = [key, feature, "checkout", user, host, count, iso(beganAt), session] as const;
      return [key, JSON.stringify([...who, display, version, handle, borrowed, null])] as const;
    });
    return new Map(rows);
  });
}

function otherRows({
  reservations,
  queue,
  assigned = [],
}: FeaturePicture): readonly [kind: string, ...unknown[]][] {
  return [
    ...reservations.map(({ type, name, count }) => {
      return ["reservation", null, null, count, null, null, null, null, null, false, { type, name }] as const;
    }),
    ...queue.map(({ user, host, count, firstSeenAt = null, display, version, handle }) => {
      const who = ["queued", user, host, count, iso(firstSeenAt), null] as const;
      return [...who, display, version, handle, false, null] as const;
    }),
    ...assigned.map(({ user, host, since }) => {
      return ["assigned", user, host, 1, iso(since), null, null, null, null, false, null] as const;
    }),
  ].map((values) => [...values]);
}

/** Formats a server of `GET /api/picture` as JSON; without rows for callers that may not see people. */
export function serverJson(picture: ServerPicture, snapshot: number, hasRows = true): string {
  const { record, features, rows } = partsOf(picture);
  const head = [["snapshot", String(snapshot)], ...record].map(([name, json]) => `"${name}":${json}`);
  return `{${head},"features":[${[...features.values()]}],"rows":[${hasRows ? [...rows.values()] : ""}]}`;
}

/**
 * Formats the difference between two pictures of a server as JSON without braces. The caller adds `from`
 * and `to`.
 */
export function patchJson(before: ServerPicture | null, after: ServerPicture, hasRows = true): string {
  const was = before === null ? null : partsOf(before);
  const now = partsOf(after);
  const changed = [...now.record].flatMap(([name, json]) =>
    was?.record.get(name) === json ? [] : [`"${name}":${json}`],
  );
  const news = (part: "features" | "rows") =>
    [...now[part]].flatMap(([key, json]) => (was?.[part].get(key) === json ? [] : [json]));
  const gone = (part: "features" | "rows") =>
    [...(was?.[part].keys() ?? [])].filter((key) => !now[part].has(key));
  const keys: Patch["gone"] = { features: gone("features"), rows: hasRows ? gone("rows") : [] };
  const rows = hasRows ? news("rows") : [];
  return `"changed":{${changed}},"features":[${news("features")}],"rows":[${rows}],"gone":${JSON.stringify(keys)}`;
}
