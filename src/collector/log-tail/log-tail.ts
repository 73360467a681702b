import type { Attempt } from "../../domain/denials.ts";
import { codeOf, messageOf } from "../../domain/error-code.ts";
import type {
  DaemonNotice,
  DebugLog,
  DebugLogEvent,
  ReaderState,
} from "../../managers/debug-log/debug-log.ts";
import { createLineCutter, natureOf } from "../../managers/debug-log/lines.ts";
import type { CommandPlace } from "./follow-command.ts";
import type { FilePlace, Follower } from "./follow-file.ts";

export interface TailCursor {
  readonly kind: "log";
  /** Path of the log, or a hash of the command that follows it. */
  readonly path: string;
  readonly place: FilePlace | CommandPlace;
  readonly reader: ReaderState;
}

export type LogTail = ReturnType<typeof createLogTail>;
export type TailStep = Awaited<ReturnType<LogTail["next"]>>;

/** Maximum size of the piece of a log that is read at once. Parsing a piece takes one or two milliseconds. */
export const PIECE_BYTES = 128 * 1024;
const SNIFFED_BYTES = 4096;

/**
 * Follows the debug log of one server as it grows. Starts at the end of the log, or at the position in
 * `cursor`, at which `follower` must start too.
 */
export function createLogTail(
  debugLog: DebugLog,
  server: { readonly id: string; readonly timezone: string },
  path: string,
  cursor: TailCursor | null,
  follower: Follower<FilePlace | CommandPlace>,
) {
  const { name } = follower;
  const cutter = createLineCutter();
  let attempts: Attempt[] = [];
  let notices: DaemonNotice[] = [];
  /**
   * True once the end was reached. From then on, lines are read soon after they are written, so their time
   * is about now.
   */
  let caughtUp = cursor === null;
  let sniffed = false;
  const reader = debugLog.createReader({
    zone: server.timezone,
    start: cursor?.reader ?? { day: 0, second: -1, daemons: [] },
    hold: false,
    onEvent: (event) => {
      const attempt = attemptOf(server.id, event);
      if (attempt !== null) attempts.push(attempt);
    },
    onNotice: (notice) => void notices.push(notice),
  });

  /** Rejects a file that is not a debug log. Keeps the position, because the file may become a debug log. */
  async function refuseOtherFiles(): Promise<void> {
    if (sniffed) return;
    const head = await follower.head(SNIFFED_BYTES).catch(() => null);
    if (head === null || head.length === 0) return;
    const problem = PROBLEMS[natureOf(head)];
    if (problem !== null) throw new Error(`${name} ${problem}`);
    sniffed = true;
  }

  async function next(now: number) {
    await refuseOtherFiles();
    const before = follower.place?.offset ?? 0;
    const piece = await follower.next(PIECE_BYTES, now).catch((error: unknown) => {
      if (codeOf(error) === "unknown") throw error;
      throw new Error(`${name} ${UNREADABLE[codeOf(error)] ?? `cannot be read: ${messageOf(error)}`}`);
    });
    if (piece === null) return null;
    const { bytes, atEnd, lost, resumed = false } = piece;
    if (resumed) caughtUp = false;
    const { place } = follower;
    if (lost || (place?.offset ?? 0) < before) sniffed = false;
    reader.near(caughtUp || reader.state().day === 0 ? now : null);
    cutter.feed(bytes, reader.line);
    if (atEnd) {
      cutter.finish(reader.line);
      reader.flush();
      caughtUp = true;
    }
    const read = { attempts, notices };
    attempts = [];
    notices = [];
    const reached: TailCursor | null = place && { kind: "log", path, place, reader: reader.state() };
    return { ...read, atEnd, lost, lastAt: reader.lastAt, cursor: reached };
  }

  return {
    /**
     * Reads at most one piece of the log; null if the log is not available yet. Rejects with a message for
     * the administrator if the log is unreadable.
     */
    next,
    seenAt: follower.seenAt,
    close: follower.close,
  };
}

const PROBLEMS = {
  binary:
    "is not text; it may be an encrypted report log, which only the vendor's tools can read. Set the debug log instead",
  "utf-16": "is UTF-16 text, which license daemons do not write",
  text: null,
} as const;

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EACCES: "is not readable for this user",
  EPERM: "is not readable for this user",
  EISDIR: "is a directory",
};

/**
 * Returns the attempt to check out that an event reports; null for other events. Ignores UNSUPPORTED,
 * because clients probe for features.
 */
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
  DEQUEUED: "dequeued",
};
