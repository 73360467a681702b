import { type Static, Type } from "@sinclair/typebox";
import { FEATURE_COLUMNS, type FeatureValues, ROW_COLUMNS, type RowValues } from "./picture.ts";
import { nullable, record, ServerRecord } from "./records.ts";

/**
 * What `GET /api/picture` holds: every server with its features and rows, slim, and how a patch (the event `picture`)
 * changes it (`polls/kept-picture.ts`). Features and rows are arrays; each begins with a key that is unique within its server.
 */

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
