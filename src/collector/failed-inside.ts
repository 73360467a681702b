import type { PollOutcome } from "../domain/poll.ts";

/** The outcome of a poll that ended in a fault of our own: the server's numbers go stale, and the schedule goes on. */
export function failedInside(serverId: string, startedAt: number, finishedAt: number): PollOutcome {
  return {
    serverId,
    startedAt,
    finishedAt,
    durationMs: finishedAt - startedAt,
    reading: null,
    error: {
      code: "LICENSE_QUERY_FAILED",
      message: "The poll failed inside licmond; its log says more.",
      details: null,
    },
    raw: {
      argv: [],
      exitCode: null,
      signal: null,
      stdout: new Uint8Array(0),
      stderr: new Uint8Array(0),
      truncated: false,
    },
    reachability: [],
  };
}
