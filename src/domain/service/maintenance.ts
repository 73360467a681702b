import { type Static, Type } from "@sinclair/typebox";
import { nullable, record, Timestamp, timeOrNull, words } from "../records.ts";

const Span = Type.Object({
  start: Timestamp,
  end: timeOrNull("Null if a window lasts until its next occurrence"),
});
const Window = record("MaintenanceWindow", {
  patterns: Type.Array(Type.String({ description: "Ids of servers with * and ?, as in the config" })),
  servers: Type.Array(Type.String(), {
    description: "Ids of the requested servers to which the window currently applies",
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
