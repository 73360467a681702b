import type { CheckoutReading, QueueReading } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";
import { createIdentityReader, type Identity } from "./identity.ts";
import { endOfText, execAt, isBlank, isDigit } from "./scan.ts";
import { createSeatTail } from "./seat-tail.ts";
import { createSeenHosts } from "./seen-hosts.ts";
import type { StartTimes } from "./start-time.ts";

/**
 * `USER HOST [DISPLAY [QUALIFIER…]] [(vVER)] (SRV/PORT [HANDLE]), start DOW M/D H:MM[tail]` and
 * `USER HOST DISPLAY [VER] (vVER) (SRV/PORT HANDLE) queued for N license[s]`.
 * Both are read from the right: users and encrypted displays hold blanks, brackets, quotes and commas,
 * while everything behind them is the tool's own. Characters are looked at by hand: these lines are nearly all of
 * a large output.
 */
export interface SeatReader {
  /** A checkout whose first word begins at `start`, under the pool with this index; null when the line is none. */
  checkout(text: string, start: number, pool: number | null, end?: LineEnd): CheckoutReading | null;
  /** A queue entry, likewise. */
  queued(text: string, start: number, pool: number | null, end?: LineEnd): QueueReading | null;
  /** Of the line read last: the license server that gave the seat, `host/port` as printed. */
  server(): string;
  /** Of the line read last: the place of an identity that was split without evidence, else null. */
  guessedAt(): { readonly from: number; readonly to: number } | null;
  /** Splits an identity again, with the hosts known by now. */
  identity(text: string, from: number, to: number): Readonly<Identity>;
}

const START_MARK = "), start ";
const QUEUE_MARK = ") queued for ";
const QUEUED = { known: /(\d{1,9}) licen[sc]es?[ \t]*$/iy, any: /(\d{1,9}) licen[sc]es?\b/iy };

/** `any`: what stands behind the bracket of the server need not be wholly known. */
export type LineEnd = "known" | "any";

const OPEN = 0x28;
const CLOSE = 0x29;

export function createSeatReader(times: StartTimes, hosts: KnownHosts): SeatReader {
  const identities = createIdentityReader(createSeenHosts(hosts));
  const tail = createSeatTail();
  let identity: Identity = { user: "", host: null, display: null, qualifier: null, guessed: false };
  let version: string | null = null;
  let lastVersion = "";
  let handle: string | null = null;
  let line = "";
  let serverFrom = 0;
  let serverTo = 0;
  let from = 0;
  let to = 0;

  /** `IDENTITY [(vVER)] (SRV/PORT [HANDLE])`, the last bracket closing at `close`. */
  function holder(text: string, start: number, close: number): boolean {
    const open = text.lastIndexOf("(", close);
    if (open < 1) return false;
    const slash = text.indexOf("/", open);
    if (slash === -1 || slash > close) return false;
    const blank = text.lastIndexOf(" ", close);
    handle = blank > open && blank + 1 < close ? text.slice(blank + 1, close) : null;
    line = text;
    serverFrom = open + 1;
    serverTo = blank > open ? blank : close;

    from = start;
    to = endOfText(text, from, open);
    version = null;
    if (to > from && text.charCodeAt(to - 1) === CLOSE) versionBefore(text, to - 1);
    if (to <= from) return false;
    identity = identities.read(text, from, to);
    return true;
  }

  /** Takes `([\w.]+)` that closes at `close` as the version, when something stands before it. */
  function versionBefore(text: string, close: number): void {
    let open = close - 1;
    while (open > from && isVersionSign(text.charCodeAt(open))) open--;
    if (open === close - 1 || open <= from || text.charCodeAt(open) !== OPEN) return;
    if (!isBlank(text.charCodeAt(open - 1))) return;
    // Mostly that of the line before: what is not made anew is not collected either.
    const same = lastVersion.length === close - open - 1 && text.startsWith(lastVersion, open + 1);
    version = same ? lastVersion : text.slice(open + 1, close);
    lastVersion = version;
    to = endOfText(text, from, open);
  }

  return {
    checkout(text, start, pool, end = "known") {
      const close = text.lastIndexOf(START_MARK);
      if (close === -1) return null;
      const time = close + START_MARK.length;
      const startedAt = times.read(text, time);
      const known = tail.read(text, startedAt === undefined ? time : times.end) && startedAt !== undefined;
      if ((!known && end === "known") || !holder(text, start, close)) return null;
      const { count, pid, lingerSeconds } = tail;
      return {
        user: identity.user,
        host: identity.host,
        display: identity.display,
        qualifier: identity.qualifier,
        version,
        count: count ?? 1,
        handle,
        pid,
        startedAt: startedAt ?? null,
        lingerSeconds,
        borrowed: lingerSeconds !== null && lingerSeconds > 0,
        pool,
      };
    },
    queued(text, start, pool, end = "known") {
      const mark = text.lastIndexOf(QUEUE_MARK);
      if (mark === -1) return null;
      const found = execAt(QUEUED[end], text, mark + QUEUE_MARK.length);
      const count = found === null ? 0 : Number(found[1]);
      if (count < 1 || !holder(text, start, mark)) return null;
      const { user, host, display, qualifier } = identity;
      return { user, host, display, qualifier, version, count, handle, pool };
    },
    server: () => line.slice(serverFrom, serverTo),
    guessedAt: () => (identity.guessed ? { from, to } : null),
    identity: (text, first, last) => identities.read(text, first, last),
  };
}

function isVersionSign(code: number): boolean {
  return (
    isDigit(code) ||
    code === 0x2e ||
    code === 0x5f ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a)
  );
}
