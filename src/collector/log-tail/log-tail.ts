import type { Attempt } from "../../domain/denial-episodes.ts";
import type { DebugLogEvent } from "../../managers/flexnet/debug-log/event.ts";
import { createLineCutter, natureOf } from "../../managers/flexnet/debug-log/lines.ts";
import { createDebugLogReader, type ReaderState } from "../../managers/flexnet/debug-log/reader.ts";
import { createFileFollower, type FilePlace } from "./follow-file.ts";

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
const PIECE_BYTES = 128 * 1024;

export function createLogTail(
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
  const reader = createDebugLogReader({
    zone: timezone,
    start: known?.reader ?? { day: 0, second: -1, daemons: [] },
    hold: false,
    onEvent: (event) => {
      const attempt = attemptOf(id, event);
      if (attempt !== null) attempts.push(attempt);
    },
  });

  return {
    async step(now) {
      const { bytes, atEnd, lost } = await follower.next(PIECE_BYTES).catch((error: unknown) => {
        throw new Error(whyUnreadable(logFile, error));
      });
      if (!sniffed && bytes.length > 0) {
        const nature = natureOf(bytes);
        if (nature === "binary") {
          throw new Error(
            `${logFile} is no text: it may be an encrypted report log, which only the vendor's tools can read. Set log_file to the debug log`,
          );
        }
        if (nature === "utf-16") throw new Error(`${logFile} is UTF-16 text; the daemons write single bytes`);
        sniffed = true;
      }
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
        ...{ attempts: told, atEnd, lost, lastAt: reader.lastAt },
        cursor: place === null ? null : { kind: "log", path: logFile, place, reader: reader.state() },
      };
    },
  };
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
  return `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}
