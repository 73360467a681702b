import { type Static, Type } from "@sinclair/typebox";
import { nullable, record, Timestamp, words } from "../records.ts";

const Span = Type.Object({
  start: Timestamp,
  end: nullable({
    ...Timestamp,
    description: "Null where a window is as long as the time after which it comes again",
  } as typeof Timestamp),
});
const Window = record("MaintenanceWindow", {
  patterns: Type.Array(Type.String({ description: "Ids of servers with * and ?, as the config has them" })),
  servers: Type.Array(Type.String(), { description: "Ids of the servers asked for that it is for now" }),
  every: nullable(words(["day", "week"], "Null: once")),
  durationSeconds: Type.Integer({ minimum: 60 }),
  running: nullable(Span),
  next: nullable(Span),
});
/** The maintenance windows of the config, as seen at one moment. */
export const Maintenance = record("Maintenance", {
  windows: Type.Array(Window, { description: "In the order of the config, those that are over included" }),
  timezone: Type.String({ description: "IANA zone of the clock by which windows come again" }),
});
export type Maintenance = Static<typeof Maintenance>;
