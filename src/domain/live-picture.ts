import { type Static, Type } from "@sinclair/typebox";
import { FEATURE_COLUMNS, type FeatureValues, ROW_COLUMNS, type RowValues } from "./picture.ts";
import { nullable, record, ServerRecord } from "./records.ts";

/**
 * Content of `GET /api/picture`, and of the patches that update it (event `picture`). Features and rows are
 * arrays that begin with a key that is unique within the server.
 */

/** One value per column. OpenAPI 3.0 cannot express that, so the description lists the order. */
const columns = <T extends readonly unknown[]>(title: string, names: readonly string[], more: string) => {
  const order = `In this order: key, ${names.join(", ")}. ${more}`;
  const length = { minItems: names.length + 1, maxItems: names.length + 1 };
  return Type.Unsafe<T>(Type.Array(Type.Any(), { title, description: order, ...length }));
};
const Features = Type.Array(
  columns<FeatureValues>(
    "PictureFeature",
    FEATURE_COLUMNS,
    "As in the feature's record; `collectedAt` is null if it equals the server's, and if the feature was never read.",
  ),
);
const Rows = Type.Array(
  columns<RowValues>(
    "PictureRow",
    ROW_COLUMNS,
    "As in a row of users[]; `feature` is the key of its feature, `since` is the start of its duration, or null.",
  ),
);

const PictureNumber = Type.Integer({
  minimum: 0,
  description:
    "Number of the server's current picture. It changes with every change of the picture, and no number is reused, even after a restart",
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

export const PATCH_FIELDS = {
  server: Type.String(),
  from: nullable(PictureNumber),
  to: nullable(PictureNumber),
  status: ServerRecord.properties.status,
  changed: Type.Partial(ServerRecord, {
    title: "ServerChange",
    description: "Changed fields of the server",
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
