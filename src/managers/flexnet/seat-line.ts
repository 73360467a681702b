import type { CheckoutReading, QueueReading } from "../../domain/reading.ts";
import { createDigits, endOfText, execAt, isBlank, skipBlanks } from "../blanks-and-digits.ts";
import type { KnownHosts } from "../manager.ts";
import { type Identity, readIdentity } from "./identity.ts";
import type { StartTimes } from "./start-time.ts";

/** `any` accepts unknown text after the server's bracket. */
export type LineEnd = "known" | "any";

const START_MARK = "), start ";
const QUEUE_MARK = ") queued for ";
const QUEUED = { known: /(\d{1,9}) licen[sc]es?[ \t]*$/iy, any: /(\d{1,9}) licen[sc]es?\b/iy };
const PID = ", PID: ";
const LICENSE = " license";
const LINGER = /,? ?\(linger: (\d{1,12})(?: \/ \d{1,12})?\)/iy;
const VERSION = /^[\w.]+$/;
/** Printed instead of a user for seats that are activated or borrowed. */
export const ACTIVATED = "ACTIVATED LICENSE(S)";
const NEXT_PART = /[,(]|$/g;

const OPEN = 0x28;
const CLOSE = 0x29;

/**
 * Reads `USER HOST [DISPLAY [QUALIFIER…]] [(vVER)] (SRV/PORT [HANDLE]), start DOW M/D H:MM[tail]` and `…
 * queued for N license[s]` from the right: users and encrypted displays contain blanks, brackets and commas,
 * while the text after them has a fixed form.
 */
export function createSeatReader(times: StartTimes, hosts: KnownHosts) {
  const digits = createDigits();
  let guessed = false;
  let activated = false;
  let version: string | null = null;
  let lastVersion = "";
  let handle: string | null = null;
  let line = "";
  let open = 0;
  let serverEnd = 0;
  let from = 0;
  let to = 0;
  /** Number of seats; 0 if no number is printed, which means one seat. */
  let count = 0;
  let pid: number | null = null;
  /** Linger time in seconds; null = not printed, 0 = the seat can linger but does not at present. */
  let lingerSeconds: number | null = null;

  /** Parses `IDENTITY [(vVER)] (SRV/PORT [HANDLE])`; the last bracket closes at `close`. */
  function holder(text: string, start: number, close: number): Identity | null {
    open = text.lastIndexOf("(", close - 1);
    const slash = open < 1 ? -1 : text.indexOf("/", open);
    if (slash === -1 || slash > close) return null;
    const blank = text.lastIndexOf(" ", close - 1);
    handle = blank > open && blank + 1 < close ? text.slice(blank + 1, close) : null;
    line = text;
    serverEnd = blank > open ? blank : close;

    activated = text.startsWith(`${ACTIVATED} `, start);
    // Skip the first word of the marker, so that its second word becomes the user.
    from = activated ? start + ACTIVATED.indexOf(" ") + 1 : start;
    to = endOfText(text, from, open);
    version = null;
    if (to > from && text.charCodeAt(to - 1) === CLOSE) versionBefore(text);
    if (to <= from) return null;
    const identity = readIdentity(text, from, to, hosts);
    guessed = identity.guessed;
    return identity;
  }

  /** Reads the version from a bracket at the end of the identity, unless the bracket is the whole identity. */
  function versionBefore(text: string): void {
    // Try the previous line's version first: most lines of a pool have the same version.
    const same = to - lastVersion.length - 2;
    const isSame = text.startsWith(lastVersion, same + 1) && text.charCodeAt(same) === OPEN;
    const bracket = isSame ? same : text.lastIndexOf("(", to - 2);
    if (bracket <= from || to - bracket === 2 || !isBlank(text.charCodeAt(bracket - 1))) return;
    if (!isSame) {
      const named = text.slice(bracket + 1, to - 1);
      if (!VERSION.test(named)) return;
      lastVersion = named;
    }
    version = lastVersion;
    to = endOfText(text, from, bracket);
  }

  /** Parses the parts after the start time, each at most once. Returns false if there is other text. */
  function readTail(text: string, start: number): boolean {
    let known = true;
    count = 0;
    pid = null;
    lingerSeconds = null;
    for (let at = skipBlanks(text, start); at < text.length; at = skipBlanks(text, at)) {
      const end = tailPart(text, at);
      known &&= end !== -1;
      at = end === -1 ? (execAt(NEXT_PART, text, at + 1)?.index ?? text.length) : end;
    }
    return known;
  }

  function tailPart(text: string, at: number): number {
    if (pid === null && text.startsWith(PID, at)) {
      const number = digits.read(text, at + PID.length, 12);
      if (number !== -1) {
        pid = number;
        return digits.end;
      }
    } else if (count === 0 && text.startsWith(", ", at)) {
      const number = digits.read(text, at + 2, 12);
      if (number > 0 && text.startsWith(LICENSE, digits.end)) {
        count = number;
        const end = digits.end + LICENSE.length;
        return text.startsWith("s", end) ? end + 1 : end;
      }
    }
    const linger = lingerSeconds === null ? execAt(LINGER, text, at) : null;
    if (linger === null) return -1;
    lingerSeconds = Number(linger[1]);
    return LINGER.lastIndex;
  }

  return {
    /**
     * Parses a checkout whose first word begins at `start`, in the pool with this index; null for other lines.
     */
    checkout(text: string, start: number, pool: number | null, end: LineEnd): CheckoutReading | null {
      const close = text.lastIndexOf(START_MARK);
      if (close === -1) return null;
      const time = close + START_MARK.length;
      const startedAt = times.read(text, time);
      const known = readTail(text, startedAt === undefined ? time : times.end) && startedAt !== undefined;
      const identity = known || end === "any" ? holder(text, start, close) : null;
      if (identity === null) return null;
      return {
        user: activated ? null : identity.user,
        host: identity.host,
        display: identity.display,
        qualifier: identity.qualifier,
        version,
        count: count === 0 ? 1 : count,
        handle,
        pid,
        startedAt: startedAt ?? null,
        lingerSeconds,
        borrowed: activated || (lingerSeconds !== null && lingerSeconds > 0),
        pool,
      };
    },
    queued(text: string, start: number, pool: number | null, end: LineEnd): QueueReading | null {
      const mark = text.lastIndexOf(QUEUE_MARK);
      if (mark === -1) return null;
      const found = execAt(QUEUED[end], text, mark + QUEUE_MARK.length);
      const seats = found === null ? 0 : Number(found[1]);
      const identity = seats < 1 ? null : holder(text, start, mark);
      if (identity === null) return null;
      const { host, display, qualifier } = identity;
      const user = activated ? null : identity.user;
      return { user, host, display, qualifier, version, count: seats, handle, pool };
    },
    server: () => line.slice(open + 1, serverEnd),
    /** Returns the position of the last line's identity if its host was guessed, else null. */
    guessedAt: () => (guessed ? { from, to, activated } : null),
  };
}
