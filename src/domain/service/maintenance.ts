import { type Static, Type } from "@sinclair/typebox";
import { nullable, record, Timestamp, words } from "../records.ts";

const Span = Type.Object({
  start: Timestamp,
  end: nullable({
    ...Timestamp,
    description: "Null if a window lasts until its next occurrence",
  } as typeof Timestamp),
});
const Window = record("MaintenanceWindow", {
  patterns: Type.Array(Type.String({ description: "Ids of servers with * and ?, as the config has them" })),
  servers: Type.Array(Type.String(), {
    description: "Ids of the requested servers that it currently applies to",
  }),
  every: nullable(words(["day", "week"], "Null: once")),
  durationSeconds: Type.Integer({ minimum: 60 }),
  running: nullable(Span),
  next: nullable(Span),
});
export const Maintenance = record("Maintenance", {
  windows: Type.Array(Window, { description: "In the order of the config, past ones included" }),
  timezone: Type.String({ description: "IANA zone in which windows repeat" }),
});
export type Maintenance = Static<typeof Maintenance>;
