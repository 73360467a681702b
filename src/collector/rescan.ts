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
  const { promise: late, resolve: ring } = Promise.withResolvers<null>();
  const cancel = timers.after(timeoutMs, () => ring(null));
  const rows = polls.map(async ({ server, done }): Promise<RescanRow> => {
    const failed = (durationMs: number, code: ErrorCode, message: string, details: string | null = null) => {
      return { server, status: "failed", durationMs, error: { code, message, details } } as const;
    };
    try {
      const polled = await Promise.race([done, late]);
      if (polled === null) {
        const message = `The poll was not done within ${timeoutMs / 1000} s; it goes on.`;
        return failed(timeoutMs, "TIMEOUT", message);
      }
      const { error, durationMs } = polled.outcome;
      const status = error !== null ? "failed" : polled.picture.state === "ok" ? "ok" : "partial";
      return { server, status, durationMs, error };
    } catch (error) {
      // A poll that was called off says why itself; anything else came from keeping its reading.
      if (error instanceof ApiError) return failed(0, error.code, error.message, error.details ?? null);
      return failed(0, "DATABASE_ERROR", "The server was polled, but its reading could not be kept.");
    }
  });
  return Promise.all(rows).finally(cancel);
}
