import { FEATURE_COLUMNS, type Patch, type PictureRow, ROW_COLUMNS } from "../domain/live-picture.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { iso } from "../domain/time/clock.ts";
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
  return keyed(
    checkouts.map((checkout) => {
      const { user, host, count, startedAt, beganAt = startedAt, session = null } = checkout;
      const { display, version, handle, borrowed } = checkout;
      const who = { user, host, display, version, handle, borrowed, reservedFor: null };
      const key = session === null ? keyOfRow(feature, "checkout", who) : String(session);
      return { key, feature, kind: "checkout", count, since: iso(beganAt), session, ...who };
    }),
  );
}

function otherRows(feature: string, { reservations, queue }: FeaturePicture): Texts {
  const nobody = { user: null, host: null, display: null, version: null, handle: null, borrowed: false };
  const rows = [
    ...reservations.map(({ type, name, count }) => {
      const who = { ...nobody, reservedFor: { type, name } };
      return { kind: "reservation" as const, count, since: null, who };
    }),
    ...queue.map(({ user, host, display, version, handle, count, firstSeenAt = null }) => {
      const who = { user, host, display, version, handle, borrowed: false, reservedFor: null };
      return { kind: "queued" as const, count, since: iso(firstSeenAt), who };
    }),
  ];
  return keyed(
    rows.map(({ kind, count, since, who }) => {
      return { key: keyOfRow(feature, kind, who), feature, kind, count, since, session: null, ...who };
    }),
  );
}

/** Of a row without a session: made of whom it names, because its count may change. */
function keyOfRow(feature: string, kind: PictureRow["kind"], who: object): string {
  return `${feature}/${kind}-${Bun.hash(JSON.stringify(who)).toString(36)}`;
}

/** Equal rows differ by their ordinal. */
function keyed(rows: readonly PictureRow[]): Texts {
  const texts = new Map<string, string>();
  for (const row of rows) {
    let key = row.key;
    for (let ordinal = 2; texts.has(key); ordinal++) key = `${row.key}-${ordinal}`;
    texts.set(key, JSON.stringify([key, ...ROW_COLUMNS.map((name) => row[name])]));
  }
  return texts;
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
