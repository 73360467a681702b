import type { CheckoutPicture, FeaturePicture, Holder, ServerPicture } from "../domain/picture.ts";
import { FEATURE_COLUMNS, type Patch, type RowValues } from "../domain/polls/live-picture.ts";
import type { QueueReading } from "../domain/reading.ts";
import { iso } from "../domain/time/clock.ts";
import type { UserKind } from "../domain/words.ts";
import { featureRecord, serverRecord } from "./records.ts";

/** A server's picture as JSON in parts. */
interface Parts {
  /** Fields of the server's record. */
  readonly record: Texts;
  readonly features: ReadonlyMap<string, FeatureParts>;
}

/** Texts of JSON by name or key. */
type Texts = ReadonlyMap<string, string>;

interface FeatureParts {
  readonly of: FeaturePicture;
  /**
   * Of the feature's numbers, where it is not the server's, which stands there: it would change every feature at every
   * poll.
   */
  readonly collectedAt: number | null;
  readonly json: string;
  readonly checkouts: Texts;
  readonly others: Texts;
}

/** What was made of a picture lives as long as it. */
const kept = new WeakMap<ServerPicture, Parts>();

/** Of a feature that is what it was before, the parts are those of before: most polls change few. */
function partsOf(picture: ServerPicture, before: Parts | null): Parts {
  return kept.getOrInsertComputed(picture, () => {
    const record = Object.entries(serverRecord(picture)).map(
      ([name, value]) => [name, JSON.stringify(value)] as const,
    );
    const features = new Map<string, FeatureParts>();
    for (const feature of picture.features) {
      const key = keyOf(feature);
      features.set(key, featureParts(key, feature, picture, before?.features.get(key)));
    }
    return { record: new Map(record), features };
  });
}

/** Names of daemons and features may hold anything: the first slash parts them. */
function keyOf({ daemon, name }: FeaturePicture): string {
  return `${/[%/]/.test(daemon) ? daemon.replaceAll(/[%/]/g, encodeURIComponent) : daemon}/${name}`;
}

const NO_ROWS: Texts = new Map();

function featureParts(
  key: string,
  of: FeaturePicture,
  { server, collectedAt: usual }: ServerPicture,
  before: FeatureParts | undefined,
): FeatureParts {
  const collectedAt = of.collectedAt === usual ? null : of.collectedAt;
  const isKept = before !== undefined && before.collectedAt === collectedAt && isSame(before.of, of);
  return {
    of,
    collectedAt,
    json: isKept ? before.json : featureJson(key, { ...of, collectedAt, pools: [] }, server.id),
    // Checkouts that a poll found unchanged are those of the picture before.
    checkouts: before?.of.checkouts === of.checkouts ? before.checkouts : checkoutRows(key, of.checkouts),
    others: of.reservations.length + of.queue.length > 0 ? otherRows(key, of) : NO_ROWS,
  };
}

/** What a feature's array holds besides names, times and expiry. */
const COMPARED = [
  ...(["total", "used", "available", "reserved", "queued"] as const),
  ...(["unlimited", "utilization", "shared", "state", "error"] as const),
];
const EXPIRY = ["expiresOn", "expiresAt", "permanent"] as const;

/** Whether two readings of a feature say the same, but for when that was. */
function isSame(a: FeaturePicture, b: FeaturePicture): boolean {
  const isSameExpiry = EXPIRY.every((name) => a.expiry[name] === b.expiry[name]);
  return isSameExpiry && COMPARED.every((name) => a[name] === b[name]);
}

function featureJson(key: string, feature: FeaturePicture, server: string): string {
  const fields = featureRecord(server, feature);
  return JSON.stringify([key, ...FEATURE_COLUMNS.map((name) => fields[name])]);
}

function checkoutRows(feature: string, checkouts: readonly CheckoutPicture[]): Texts {
  const rows = new Map<string, string>();
  for (const checkout of checkouts) {
    const { user, host, count, startedAt, beganAt = startedAt, session = null } = checkout;
    const { display, version, handle, borrowed } = checkout;
    const [kind, since] = ["checkout", iso(beganAt)] as const;
    const key = session === null ? freeKey(rows, feature, kind, checkout) : String(session);
    addRow(rows, [
      key,
      feature,
      kind,
      user,
      host,
      count,
      since,
      session,
      display,
      version,
      handle,
      borrowed,
      null,
    ]);
  }
  return rows;
}

function otherRows(feature: string, { reservations, queue }: FeaturePicture): Texts {
  const rows = new Map<string, string>();
  for (const { type, name, count } of reservations) {
    const key = freeKey(rows, feature, "reservation", { user: type, host: name });
    const none = [null, null, null, null, null, false] as const;
    addRow(rows, [key, feature, "reservation", null, null, count, ...none, { type, name }]);
  }
  for (const entry of queue) {
    const { user, host, count, firstSeenAt = null, display, version, handle } = entry;
    const [kind, since] = ["queued", iso(firstSeenAt)] as const;
    const key = freeKey(rows, feature, kind, entry);
    addRow(rows, [key, feature, kind, user, host, count, since, null, display, version, handle, false, null]);
  }
  return rows;
}

function addRow(rows: Map<string, string>, values: RowValues): void {
  rows.set(values[0], JSON.stringify(values));
}

/** For a row without a session: made of whom it names, because its count may change; equal rows differ by their ordinal. */
function freeKey(rows: Texts, feature: string, kind: UserKind, row: Holder & Partial<QueueReading>): string {
  const { user, host, display, version, handle } = row;
  const who = JSON.stringify([user, host, display, version, handle]);
  const key = `${feature}/${kind}-${Bun.hash(who).toString(36)}`;
  let free = key;
  for (let ordinal = 2; rows.has(free); ordinal++) free = `${key}-${ordinal}`;
  return free;
}

/** A server of `GET /api/picture` as JSON. */
export function serverJson(picture: ServerPicture, snapshot: number): string {
  const { record, features } = partsOf(picture, null);
  const head = [["snapshot", String(snapshot)], ...record].map(([name, json]) => `"${name}":${json}`);
  const all = [...features.values()];
  const rows = all.flatMap(({ checkouts, others }) => [...checkouts.values(), ...others.values()]);
  return `{${head},"features":[${all.map(({ json }) => json)}],"rows":[${rows}]}`;
}

/** What makes one picture of a server the next, but for its `from` and `to`, as JSON without its braces. */
export function patchJson(before: ServerPicture | null, after: ServerPicture): string {
  const was = before === null ? null : partsOf(before, null);
  const now = partsOf(after, was);
  const changed = [...now.record].flatMap(([name, json]) =>
    was?.record.get(name) === json ? [] : [`"${name}":${json}`],
  );
  const features: string[] = [];
  const rows: string[] = [];
  const gone: Patch["gone"] = { features: [], rows: [] };
  const compare = (old: Texts, texts: Texts) => {
    if (old === texts) return;
    for (const [key, json] of texts) if (old.get(key) !== json) rows.push(json);
    for (const key of old.keys()) if (!texts.has(key)) gone.rows.push(key);
  };
  for (const [key, { json, checkouts, others }] of now.features) {
    const old = was?.features.get(key);
    if (old?.json !== json) features.push(json);
    compare(old?.checkouts ?? NO_ROWS, checkouts);
    compare(old?.others ?? NO_ROWS, others);
  }
  for (const [key, old] of was?.features ?? []) {
    if (now.features.has(key)) continue;
    gone.features.push(key);
    gone.rows.push(...old.checkouts.keys(), ...old.others.keys());
  }
  return `"changed":{${changed}},"features":[${features}],"rows":[${rows}],"gone":${JSON.stringify(gone)}`;
}
