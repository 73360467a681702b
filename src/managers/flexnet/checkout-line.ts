import type { CheckoutReading, QueueReading } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";
import { parseTail } from "./checkout-tail.ts";
import { type Identity, splitIdentity } from "./identity.ts";
import { endOfText, execAt, isBlank, skipBlanks } from "./scan.ts";
import type { StartTimes } from "./start-time.ts";

/**
 * `USER HOST [DISPLAY [QUALIFIER…]] [(vVER)] (SRV/PORT [HANDLE]), start DOW M/D H:MM[tail]` and
 * `USER HOST DISPLAY [VER] (vVER) (SRV/PORT HANDLE) queued for N license[s]`.
 * Both are read from the right: users and encrypted displays hold blanks, brackets, quotes and commas,
 * while everything behind them is the tool's own.
 */

const START_MARK = "), start ";
const QUEUE_MARK = ") queued for ";

const QUEUED = /(\d{1,9}) licen[sc]es?[ \t]*$/iy;

/** A line of a checkout or of the queue, with where its identity stands, for a second look. */
export interface Held<T> {
  readonly reading: T;
  readonly guessed: boolean;
  readonly from: number;
  readonly to: number;
}

/** A checkout under the pool with this index, or null when the line is none. */
export function parseCheckout(
  text: string,
  pool: number | null,
  times: StartTimes,
  hosts: KnownHosts,
): Held<CheckoutReading> | null {
  const mark = text.lastIndexOf(START_MARK);
  if (mark === -1) return null;
  const dateFrom = mark + START_MARK.length;
  const colon = text.indexOf(":", dateFrom);
  if (colon === -1) return null;
  const dateTo = colon + 3;
  const startedAt = times.resolve(text.slice(dateFrom, dateTo));
  if (startedAt === undefined) return null;

  const tail = parseTail(text, dateTo);
  if (tail === null) return null;
  const holder = parseHolder(text, mark, hosts);
  if (holder === null) return null;
  const { identity, version, handle, from, to } = holder;
  const { user, host, display, qualifier, guessed } = identity;
  const { count, pid, lingerSeconds } = tail;
  const borrowed = lingerSeconds !== null && lingerSeconds > 0;
  return {
    reading: {
      user,
      host,
      display,
      qualifier,
      version,
      count,
      handle,
      pid,
      startedAt,
      lingerSeconds,
      borrowed,
      pool,
    },
    guessed,
    from,
    to,
  };
}

/** A queue entry under the pool with this index, or null when the line is none. */
export function parseQueued(text: string, pool: number | null, hosts: KnownHosts): Held<QueueReading> | null {
  const mark = text.lastIndexOf(QUEUE_MARK);
  if (mark === -1) return null;
  const found = execAt(QUEUED, text, mark + QUEUE_MARK.length);
  const count = found === null ? 0 : Number(found[1]);
  if (count < 1) return null;
  const holder = parseHolder(text, mark, hosts);
  if (holder === null) return null;
  const { identity, version, handle, from, to } = holder;
  const { user, host, display, qualifier, guessed } = identity;
  return {
    reading: { user, host, display, qualifier, version, count, handle, pool },
    guessed,
    from,
    to,
  };
}

interface Holder {
  readonly identity: Identity;
  readonly version: string | null;
  readonly handle: string | null;
  readonly from: number;
  readonly to: number;
}

/** `IDENTITY [(vVER)] (SRV/PORT [HANDLE])`, the last bracket closing at `close`. */
function parseHolder(text: string, close: number, hosts: KnownHosts): Holder | null {
  const open = text.lastIndexOf("(", close);
  if (open < 1) return null;
  const slash = text.indexOf("/", open);
  if (slash === -1 || slash > close) return null;
  const blank = text.lastIndexOf(" ", close);
  const handle = blank > open && blank + 1 < close ? text.slice(blank + 1, close) : null;

  const from = skipBlanks(text, 0);
  let to = endOfText(text, from, open);
  let version: string | null = null;
  if (text.charCodeAt(to - 1) === CLOSE) {
    const versionOpen = versionStart(text, to - 1);
    if (versionOpen > from && isBlank(text.charCodeAt(versionOpen - 1))) {
      version = text.slice(versionOpen + 1, to - 1);
      to = endOfText(text, from, versionOpen);
    }
  }
  if (to <= from) return null;
  return { identity: splitIdentity(text, from, to, hosts), version, handle, from, to };
}

const OPEN = 0x28;
const CLOSE = 0x29;

/** Index of the bracket that opens `([\w.]+)` closing at `close`; -1 when something else stands in it. */
function versionStart(text: string, close: number): number {
  let at = close - 1;
  while (at >= 0 && isVersionSign(text.charCodeAt(at))) at--;
  return at >= 0 && at < close - 1 && text.charCodeAt(at) === OPEN ? at : -1;
}

function isVersionSign(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    code === 0x2e ||
    code === 0x5f ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a)
  );
}
