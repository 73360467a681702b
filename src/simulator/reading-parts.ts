import type { MemberReading, Reading, ToolError } from "../domain/reading.ts";
import type { ServerState } from "./state.ts";

/** A reading without faults of its own: no unparsed lines, nothing cut. */
export function wholeReading(
  parts: Pick<Reading, "manager" | "reportTime" | "toolVersion" | "members" | "daemons" | "features"> & {
    readonly errors?: readonly ToolError[];
  },
): Reading {
  return { errors: [], ...parts, unparsedLines: 0, unparsed: [], cut: false, recognised: true };
}

/** The members of a server that answers. */
export function membersOf({ members, spec }: ServerState, downError: ToolError): MemberReading[] {
  return members.map(({ host, port, master, down }) => ({
    host,
    port,
    status: down ? "down" : "up",
    master: master && !down,
    version: down ? null : spec.version,
    error: down ? downError : null,
  }));
}
