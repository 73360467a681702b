import { type Static, Type } from "@sinclair/typebox";
import { type FeatureRecord, nullable, record, ServerRecord, type UserRecord } from "./records.ts";

/**
 * What `GET /api/picture` holds: every server with its features and rows, slim, and how a patch (the event `picture`)
 * changes it. Features and rows are arrays; each begins with a key that is unique within its server.
 */

/** What a feature's array holds behind its key: fields of the feature's record. */
export const FEATURE_COLUMNS = [
  ...(["daemon", "name", "total", "used", "available", "reserved", "queued", "unlimited"] as const),
  ...(["utilization", "shared", "expiresOn", "expiresAt", "permanent"] as const),
  ...(["state", "error", "collectedAt"] as const),
] as const satisfies readonly (keyof FeatureRecord)[];

/** A checkout, reservation or queue entry: fields of a row of `users[]`, the key of its feature, and `since`. */
interface SlimRow
  extends Pick<UserRecord, "feature" | "kind" | "user" | "host" | "count" | "session" | "display">,
    Pick<UserRecord, "version" | "handle" | "borrowed" | "reservedFor"> {
  /** From when its duration counts; null when that is not known. */
  readonly since: string | null;
}

/** What a row's array holds behind its key. */
export const ROW_COLUMNS = [
  ...(["feature", "kind", "user", "host", "count", "since", "session"] as const),
  ...(["display", "version", "handle", "borrowed", "reservedFor"] as const),
] as const satisfies readonly (keyof SlimRow)[];

type Values<R, C extends readonly (keyof R)[]> = { readonly [I in keyof C]: R[C[I]] };
export type FeatureValues = readonly [key: string, ...Values<FeatureRecord, typeof FEATURE_COLUMNS>];
export type RowValues = readonly [key: string, ...Values<SlimRow, typeof ROW_COLUMNS>];

/** An array of one value a column. OpenAPI 3.0 has no word for that: the order stands in the description. */
const columns = <T extends readonly unknown[]>(title: string, names: readonly string[], more: string) => {
  const order = `In this order: key, ${names.join(", ")}. ${more}`;
  const length = { minItems: names.length + 1, maxItems: names.length + 1 };
  return Type.Unsafe<T>(Type.Array(Type.Any(), { title, description: order, ...length }));
};
const Features = Type.Array(
  columns<FeatureValues>(
    "PictureFeature",
    FEATURE_COLUMNS,
    "As in the feature's record; `collectedAt` is null where it is the server's, and where the feature was never read.",
  ),
);
const Rows = Type.Array(
  columns<RowValues>(
    "PictureRow",
    ROW_COLUMNS,
    "As in a row of users[]; `feature` is the key of its feature, `since` is from when its duration counts, or null.",
  ),
);

const PictureNumber = Type.Integer({
  minimum: 0,
  description: "Number of the server's picture: another picture has another number, also after a restart",
});

export const PictureServer = record("PictureServer", {
  snapshot: PictureNumber,
  ...ServerRecord.properties,
  features: Features,
  rows: Rows,
});
export type PictureServer = Static<typeof PictureServer>;

export const Picture = record("Picture", { servers: Type.Array(PictureServer) });
export type Picture = Static<typeof Picture>;

/** Fields of the event `picture` beside those of every event. */
export const PATCH_FIELDS = {
  server: Type.String(),
  from: nullable(PictureNumber),
  to: nullable(PictureNumber),
  status: ServerRecord.properties.status,
  changed: Type.Partial(ServerRecord, {
    title: "ServerChange",
    description: "Fields of the server that are others now",
  }),
  features: Features,
  rows: Rows,
  gone: Type.Object(
    { features: Type.Array(Type.String()), rows: Type.Array(Type.String()) },
    { description: "Keys" },
  ),
};
const Patch = Type.Object(PATCH_FIELDS);
export type Patch = Static<typeof Patch>;

/** A feature's array with its names. */
export type PictureFeature = Pick<FeatureRecord, (typeof FEATURE_COLUMNS)[number]>;

/** A server's picture as its reader keeps it, features and rows by their keys. */
export interface KeptServer extends Omit<PictureServer, "features" | "rows"> {
  readonly features: Map<string, PictureFeature>;
  readonly rows: Map<string, RowValues>;
}

export function keptServer(server: PictureServer): KeptServer {
  return put({ ...server, features: new Map(), rows: new Map() }, server);
}

function put(kept: KeptServer, { features, rows }: Pick<PictureServer, "features" | "rows">): KeptServer {
  for (const [key, ...values] of features) {
    const named = FEATURE_COLUMNS.map((name, index) => [name, values[index]]);
    kept.features.set(key, Object.fromEntries(named) as PictureFeature);
  }
  for (const values of rows) kept.rows.set(values[0], values);
  return kept;
}

/**
 * The picture after a patch; the maps are changed in place. Null when the server is no longer configured; `refetch` when
 * a patch was missed: then `GET /api/picture?server=` has the whole. A patch of before the picture changes nothing.
 */
export function applyPatch(kept: KeptServer | null, patch: Patch): KeptServer | null | "refetch" {
  const { to, changed, gone } = patch;
  if (to === null) return null;
  if (kept !== null && to <= kept.snapshot) return kept;
  if (kept === null || patch.from !== kept.snapshot) return "refetch";
  for (const key of gone.features) kept.features.delete(key);
  for (const key of gone.rows) kept.rows.delete(key);
  return { ...put(kept, patch), ...changed, snapshot: to };
}
