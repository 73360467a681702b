import type { PollErrorCode } from "./errors.ts";
import type { Reading } from "./reading.ts";

/** What a poll that did not yield usable numbers says of itself. */
export interface PollError {
  readonly code: PollErrorCode;
  /** One sentence: what happened, and the fix where it is known. */
  readonly message: string;
  /** The tool's own words (cut at 2,000 characters); null when it said nothing. */
  readonly details: string | null;
}

/** The words of a poll as they came, secrets masked: for `…/raw` and for error details. */
export interface PollRaw {
  /** Of a request its method and its URL. */
  readonly argv: readonly string[];
  /** Null when a signal ended the tool, or when it could not be killed; of a request the status of its answer. */
  readonly exitCode: number | null;
  /** Name of the signal that ended the tool, e.g. `SIGKILL`; null when it exited. */
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** The output was longer than the cap: `stdout` is its first 1 MiB, or the cap if that is less. */
  readonly truncated: boolean;
}

/** Reachability of one member by TCP, measured beside the poll for `/api/network`. */
export interface MemberReachability {
  readonly host: string;
  readonly port: number | null;
  readonly addresses: readonly string[];
  readonly reachable: boolean | null;
  readonly connectMs: number | null;
  readonly error: string | null;
}

/** One poll of one server, whatever came of it. Times are epoch ms. */
export interface PollOutcome {
  readonly serverId: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly durationMs: number;
  /** Null when the tool could not be run or said nothing that the parser knows. */
  readonly reading: Reading | null;
  /** Null when the reading is usable. A reading with whole-query errors has both. */
  readonly error: PollError | null;
  readonly raw: PollRaw;
  readonly reachability: readonly MemberReachability[];
  /** Of the reading's members, those that must be up for the server to work. */
  readonly quorum: number;
}
