import { type Static, Type } from "@sinclair/typebox";
import { Count, nullable, record, words } from "../records.ts";

export const CommandResult = record("CommandResult", {
  command: Type.String(),
  argv: Type.Array(Type.String(), { description: "Program and arguments, with masked secrets" }),
  dryRun: Type.Optional(Type.Boolean({ description: "Dry runs only" })),
  exitCode: Type.Optional(Type.Integer()),
  stdout: Type.Optional(Type.String()),
  stderr: Type.Optional(Type.String()),
  truncated: Type.Optional(Type.Boolean({ description: "stdout or stderr was cut at 1 MiB" })),
  durationMs: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type CommandResult = Static<typeof CommandResult>;

/** Result of a command that a hub ran through a site; its output stays at the site. */
export const CommandResultAtHub = record("CommandResultAtHub", {
  site: Type.String(),
  server: Type.String(),
  command: Type.String(),
  exitCode: nullable(Type.Integer()),
  durationMs: Count,
});
export type CommandResultAtHub = Static<typeof CommandResultAtHub>;

export const Command = record("Command", {
  command: Type.String(),
  role: words(["operator", "admin"], "Lowest role that may run it"),
  allowed: Type.Boolean({ description: "Whether the caller may run it" }),
  needsServer: Type.Boolean(),
  timeoutMs: Type.Integer({ minimum: 1000, description: "Default timeout" }),
  args: Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema of `args`" }),
});
export type Command = Static<typeof Command>;

export const CommandList = record("CommandList", {
  commands: Type.Array(Command, {
    description: "Commands of the license managers, then commands of the config",
  }),
});
export type CommandList = Static<typeof CommandList>;
