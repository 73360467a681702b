import { ApiError, type ErrorCode } from "../domain/errors.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { Timers } from "../domain/time/timers.ts";

/** One server of a rescan; the API's record plus the error's details. */
export interface RescanRow {
  readonly server: string;
  readonly status: "ok" | "partial" | "failed";
  readonly durationMs: number;
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details: string | null;
  } | null;
}

/** A poll that was waited for, with what its server looks like now. */
export interface PolledServer {
  readonly outcome: PollOutcome;
  readonly picture: ServerPicture;
}

/**
 * Waits for the polls of several servers, at most `timeoutMs` for all together. Those not done by then stand with
 * TIMEOUT, and their polls go on. One row a poll, in the given order. Never rejects.
 */
export async function awaitRescan(
  polls: readonly { readonly server: string; readonly done: Promise<PolledServer> }[],
  timeoutMs: number,
  timers: Timers,
): Promise<RescanRow[]> {
  const { promise: late, resolve: ringLate } = Promise.withResolvers<null>();
  const callOff = timers.after(timeoutMs, () => ringLate(null));
  const rows = polls.map(async ({ server, done }): Promise<RescanRow> => {
    try {
      const polled = await Promise.race([done, late]);
      return polled === null ? lateRow(server, timeoutMs) : polledRow(server, polled);
    } catch (error) {
      return { server, status: "failed", durationMs: 0, error: wordsOf(error) };
    }
  });
  try {
    return await Promise.all(rows);
  } finally {
    callOff();
  }
}

function polledRow(server: string, { outcome, picture }: PolledServer): RescanRow {
  const { error, durationMs } = outcome;
  const status = error !== null ? "failed" : picture.state === "ok" ? "ok" : "partial";
  return { server, status, durationMs, error };
}

function lateRow(server: string, timeoutMs: number): RescanRow {
  const message = `The poll was not done within ${timeoutMs / 1000} s; it goes on.`;
  return {
    server,
    status: "failed",
    durationMs: timeoutMs,
    error: { code: "TIMEOUT", message, details: null },
  };
}

/** A poll that was called off says why itself; anything else came from keeping its reading. */
function wordsOf(error: unknown): RescanRow["error"] {
  if (error instanceof ApiError) {
    return { code: error.code, message: error.message, details: error.details ?? null };
  }
  return {
    code: "DATABASE_ERROR",
    message: "The server was polled, but its reading could not be kept.",
    details: null,
  };
}
