import type { PollErrorCode } from "./errors.ts";
import type { Reading } from "./reading.ts";

export interface PollError {
  readonly code: PollErrorCode;
  /** Describes the error, and the fix if known. */
  readonly message: string;
  /** The tool's output, cut at 2,000 characters. */
  readonly details: string | null;
}

/** Output of a poll with secrets masked. */
export interface PollRaw {
  /** Command and arguments of the tool; for a request, method and URL. */
  readonly argv: readonly string[];
  /**
   * Exit code of the tool, or HTTP status of a request. Null if a signal ended the tool, or if killing it
   * failed.
   */
  readonly exitCode: number | null;
  /** Signal that ended the tool, e.g. `SIGKILL`. */
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Whether the output exceeded the limit; `stdout` then has at most the first 1 MiB. */
  readonly truncated: boolean;
}

/** TCP reachability of one member, for `/api/network`. */
export interface MemberReachability {
  readonly host: string;
  readonly port: number | null;
  readonly addresses: readonly string[];
  readonly reachable: boolean | null;
  readonly connectMs: number | null;
  readonly error: string | null;
}

/** Times are epoch ms. */
export interface PollOutcome {
  readonly serverId: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly durationMs: number;
  /** Result of the poll; null if nothing was run or recognized. */
  readonly reading: Reading | null;
  /**
   * Error of the poll; null if the reading is usable. If the query as a whole failed, both `error` and
   * `reading` may be set.
   */
  readonly error: PollError | null;
  readonly raw: PollRaw;
  readonly reachability: readonly MemberReachability[];
  /** Number of members that must be up for the server to work. */
  readonly quorum: number;
}
