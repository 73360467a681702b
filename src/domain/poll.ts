import type { PollErrorCode } from "./errors.ts";
import type { Reading } from "./reading.ts";

/** Describes why a poll yielded no usable numbers. */
export interface PollError {
  readonly code: PollErrorCode;
  /** One sentence: what happened, and the fix if it is known. */
  readonly message: string;
  /** The tool's own output (cut at 2,000 characters); null if there was none. */
  readonly details: string | null;
}

/** Raw output of a poll with secrets masked, for `…/raw` and for error details. */
export interface PollRaw {
  /** For a request: its method and URL. */
  readonly argv: readonly string[];
  /**
   * Null if the tool was ended by a signal or could not be killed; for a request, the status of the response.
   */
  readonly exitCode: number | null;
  /** Name of the signal that ended the tool, e.g. `SIGKILL`; null if it exited. */
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** The output exceeded the limit: `stdout` is its first 1 MiB, or less if the limit is lower. */
  readonly truncated: boolean;
}

/** TCP reachability of one member, measured alongside the poll for `/api/network`. */
export interface MemberReachability {
  readonly host: string;
  readonly port: number | null;
  readonly addresses: readonly string[];
  readonly reachable: boolean | null;
  readonly connectMs: number | null;
  readonly error: string | null;
}

/** Result of one poll of one server. Times are epoch ms. */
export interface PollOutcome {
  readonly serverId: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly durationMs: number;
  /** Null if the tool could not be run or printed nothing that the parser recognizes. */
  readonly reading: Reading | null;
  /** Null if the reading is usable. A reading with errors of the whole query has both. */
  readonly error: PollError | null;
  readonly raw: PollRaw;
  readonly reachability: readonly MemberReachability[];
  /** How many of the members must be up for the server to work. */
  readonly quorum: number;
}
