import type { Attempt } from "../../domain/denial-episodes.ts";
import { messageOf } from "../../domain/error-code.ts";
import type { DebugLog, DebugLogEvent, ReaderState } from "../../managers/debug-log/debug-log.ts";
import { createLineCutter, natureOf } from "../../managers/debug-log/lines.ts";
import { createFileFollower, type FilePlace, type Piece } from "./follow-file.ts";

/** Where the tail of one log stands, as the store keeps it. */
export interface TailCursor {
  readonly kind: "log";
  readonly path: string;
  readonly place: FilePlace;
  readonly reader: ReaderState;
}

export interface TailStep {
  readonly attempts: readonly Attempt[];
  /** Where to go on once the attempts are stored; null before the first. */
  readonly cursor: TailCursor | null;
  readonly atEnd: boolean;
  readonly lost: boolean;
  /** Time of the last line, epoch ms; null before the first. */
  readonly lastAt: number | null;
}

/** The debug log of one server, followed as it grows. */
export interface LogTail {
  /** Reads at most one piece. Rejects when the log cannot be read, with words for an administrator. */
  step(now: number): Promise<TailStep>;
}

/** Read at a time: a millisecond or two of parsing. */
export const PIECE_BYTES = 128 * 1024;
const SNIFFED_BYTES = 4096;

export function createLogTail(
  debugLog: DebugLog,
  { id, timezone, logFile }: { readonly id: string; readonly timezone: string; readonly logFile: string },
  cursor: TailCursor | null,
): LogTail {
  const known = cursor !== null && cursor.path === logFile ? cursor : null;
  const follower = createFileFollower(logFile, known?.place ?? null);
  const cutter = createLineCutter();
  let attempts: Attempt[] = [];
  /** Lines come as they are written: they are of now. */
  let caughtUp = known === null;
  let sniffed = false;
  const reader = debugLog.createReader({
    zone: timezone,
    start: known?.reader ?? { day: 0, second: -1, daemons: [] },
    hold: false,
    onEvent: (event) => {
      const attempt = attemptOf(id, event);
      if (attempt !== null) attempts.push(attempt);
    },
  });

  /** Nothing is taken of a file that is no debug log: should it become one, nothing is missing. */
  async function look(now: number): Promise<Piece> {
    if (!sniffed) {
      const head = await follower.head(SNIFFED_BYTES).catch(() => null);
      if (head !== null && head.length > 0) {
        const problem = problemOf(head, logFile);
        if (problem !== null) throw new UnreadableLog(problem);
        sniffed = true;
      }
    }
    const before = follower.place?.offset ?? 0;
    const piece = await follower.next(PIECE_BYTES, now);
    // Another file may be of another kind.
    if (piece.lost || (follower.place?.offset ?? 0) < before) sniffed = false;
    return piece;
  }

  return {
    async step(now) {
      const { bytes, atEnd, lost } = await look(now).catch((error: unknown) => {
        throw error instanceof UnreadableLog ? error : new UnreadableLog(whyUnreadable(logFile, error));
      });
      reader.near(caughtUp || reader.state().day === 0 ? now : null);
      cutter.feed(bytes, reader.line);
      if (atEnd) {
        cutter.finish(reader.line);
        reader.flush();
        caughtUp = true;
      }
      const told = attempts;
      attempts = [];
      const { place } = follower;
      return {
        attempts: told,
        atEnd,
        lost,
        lastAt: reader.lastAt,
        cursor: place === null ? null : { kind: "log", path: logFile, place, reader: reader.state() },
      };
    },
  };
}

class UnreadableLog extends Error {}

function problemOf(head: Uint8Array, path: string): string | null {
  switch (natureOf(head)) {
    case "binary":
      return `${path} is no text: it may be an encrypted report log, which only the vendor's tools can read. Set log_file to the debug log`;
    case "utf-16":
      return `${path} is UTF-16 text; the daemons write single bytes`;
    case "text":
      return null;
  }
}

/** What a line means for denials; null = nothing. A feature that the server never had is asked for by probing clients. */
export function attemptOf(server: string, event: DebugLogEvent): Attempt | null {
  const kind = KINDS[event.kind];
  if (kind === undefined || !("feature" in event)) return null;
  const { at, daemon, feature, user, host, count, reason, code } = event;
  return { kind, at, server, daemon, feature, user, host, count, reason, code };
}

const KINDS: Readonly<Partial<Record<DebugLogEvent["kind"], Attempt["kind"]>>> = {
  OUT: "granted",
  DENIED: "denied",
  QUEUED: "queued",
};

function whyUnreadable(path: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === "ENOENT") return `${path} does not exist`;
  if (code === "EACCES" || code === "EPERM") return `${path} may not be read by this user`;
  if (code === "EISDIR") return `${path} is a folder`;
  return `${path} cannot be read: ${messageOf(error)}`;
}
