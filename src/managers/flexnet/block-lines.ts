import { parseExpiry } from "../../domain/expiry.ts";
import type { CheckoutReading, QueueReading, ReservationReading } from "../../domain/reading.ts";
import { RESERVATION_TYPES, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import type { PoolKind } from "../../domain/words.ts";
import { endOfText, isDigit, trimBlanks } from "../blanks-and-digits.ts";
import type { KnownHosts } from "../manager.ts";
import { type Block, hold, openPool, poolOf, setKind } from "./block.ts";
import { readIdentity } from "./identity.ts";
import { createSeatReader, type LineEnd } from "./seat-line.ts";
import type { StartTimes } from "./start-time.ts";

const VENDOR = ", vendor: ";
const EXPIRY = ", expiry: ";
const QUOTE = 0x22;
const KIND = /^(uncounted )?(floating|node-?locked) license\b/i;

/**
 * Parses `"NAME" vVERSION, vendor: DAEMON[, expiry: DATE]` from the right, because the name may contain
 * anything. `understood` is false if a part of the expiry is unknown.
 */
export function parsePool(trimmed: string, zone: string) {
  const vendorAt = trimmed.lastIndexOf(VENDOR);
  if (vendorAt === -1) return null;
  const quote = trimmed.lastIndexOf('"', vendorAt);
  if (quote < 1) return null;
  const version = trimBlanks(trimmed.slice(quote + 1, vendorAt));
  if (version.includes(" ")) return null;
  const rest = trimmed.slice(vendorAt + VENDOR.length);
  const expiryAt = rest.indexOf(EXPIRY);
  const vendor = trimBlanks(expiryAt === -1 ? rest : rest.slice(0, expiryAt));
  const parsed = expiryAt === -1 ? null : parseExpiry(rest.slice(expiryAt + EXPIRY.length), zone);
  return {
    version: version === "" ? null : version,
    vendor,
    expiry: parsed?.expiry ?? UNKNOWN_EXPIRY,
    understood: expiryAt === -1 || parsed?.rest === "",
  };
}

/** Parses `floating license`, `nodelocked license, locked to …` or `uncounted nodelocked license …`. */
export function parseKind(trimmed: string): PoolKind | null {
  const [, uncounted, kind] = KIND.exec(trimmed) ?? [];
  if (kind === undefined) return null;
  if (uncounted !== undefined) return "uncounted";
  return kind.toLowerCase() === "floating" ? "floating" : "nodelocked";
}

const VENDOR_STRING = "vendor_string:";
const RESERVATION = /^(\d{1,9}) RESERVATIONs? for (.+)$/is;
const OWNER = /^([A-Z_]+) (.+)$/is;

/**
 * Parses `N RESERVATION[s] for (USER|HOST|HOST_GROUP|…) NAME… (srv/port)`. An unknown type is kept as part
 * of the name.
 */
export function parseReservation(trimmed: string, pool: number | null): ReservationReading | null {
  const found = RESERVATION.exec(trimmed);
  const count = Number(found?.[1] ?? 0);
  if (found === null || count < 1) return null;
  const owner = withoutServer(found[2] ?? "");
  const [, word = "", name = ""] = OWNER.exec(owner) ?? [];
  const type = RESERVATION_TYPES.find((known) => known === word.toLowerCase());
  return type === undefined ? { type: "other", name: owner, count, pool } : { type, name, count, pool };
}

/** Removes the server, which is the last bracket with a slash. Names may contain blanks and brackets too. */
function withoutServer(text: string): string {
  const open = text.lastIndexOf(" (");
  return open > 0 && text.endsWith(")") && text.indexOf("/", open) !== -1 ? text.slice(0, open) : text;
}

/** Maximum number of lines whose identity is split again at the end, to limit the time. */
const MAX_SECOND_LOOKS = 5_000;

/** `kept`: the line was used, but a part was not understood, so the line counts as unparsed. */
export type LineOutcome = "known" | "kept" | "unknown";

const BORROWABLE = /^\d{1,9} borrowable licen[sc]es?\b/i;

export function createBlockReader(zone: string, times: StartTimes, knownHosts: KnownHosts) {
  const seats = createSeatReader(times, knownHosts);
  const secondLooks: (() => void)[] = [];

  function add<T extends CheckoutReading | QueueReading>(list: T[], reading: T, text: string): void {
    const index = list.push(reading) - 1;
    const guessed = seats.guessedAt();
    if (guessed === null || secondLooks.length >= MAX_SECOND_LOOKS) return;
    secondLooks.push(() => {
      const { user, host, display, qualifier } = readIdentity(text, guessed.from, guessed.to, knownHosts);
      list[index] = { ...reading, user: guessed.activated ? null : user, host, display, qualifier };
    });
  }

  function readSeat(block: Block, text: string, from: number, end: LineEnd): boolean {
    const pool = poolOf(block);
    const checkout = seats.checkout(text, from, pool, end);
    const queued = checkout === null ? seats.queued(text, from, pool, end) : null;
    if (checkout !== null) {
      add(block.checkouts, checkout, text);
      hold(block, checkout.count);
    } else if (queued !== null) add(block.queue, queued, text);
    else return false;
    block.server ??= seats.server();
    block.describing = false;
    return true;
  }

  function readReservation(block: Block, trimmed: string, cut: boolean): LineOutcome {
    const reservation = parseReservation(trimmed, poolOf(block));
    if (reservation === null || (cut && reservation.type === "other")) return "unknown";
    block.reservations.push(reservation);
    hold(block, reservation.count);
    block.describing = false;
    return reservation.type === "other" ? "kept" : "known";
  }

  function readPool(block: Block, trimmed: string, cut: boolean): LineOutcome {
    const pool = parsePool(trimmed, zone);
    if (pool === null) return "unknown";
    // In a partial output, only the pool line may name the daemon.
    if (block.daemon === "" && block.pools.length === 0) block.daemon = pool.vendor;
    block.vendor ??= pool.vendor;
    block.pools.push(openPool(pool.version, cut ? UNKNOWN_EXPIRY : pool.expiry));
    block.describing = true;
    if (cut) return "unknown";
    return pool.understood ? "known" : "kept";
  }

  function readKind(block: Block, trimmed: string): LineOutcome {
    const pool = block.pools.at(-1);
    const kind = pool === undefined ? null : parseKind(trimmed);
    if (pool === undefined || kind === null) return "unknown";
    if (pool.kind === "unknown") setKind(pool, kind);
    block.describing = false;
    return "known";
  }

  return {
    /** Returns `unknown` if the line does not belong to a block or is cut. */
    read(block: Block, text: string, from: number, cut: boolean): LineOutcome {
      // Directly below the pool's line any text is the vendor string, even if it looks like a checkout.
      const above = block.describing && !cut ? block.pools.at(-1) : undefined;
      if (above?.vendorString === null && text.startsWith(VENDOR_STRING, from)) {
        above.vendorString = text.slice(from + VENDOR_STRING.length).replace(/^ /, "");
        return "known";
      }
      if (readSeat(block, text, from, "known")) return "known";
      const trimmed = text.slice(from, endOfText(text, from, text.length));
      const first = trimmed.charCodeAt(0);
      if (first === QUOTE) return readPool(block, trimmed, cut);
      return isDigit(first) ? readReservation(block, trimmed, cut) : readKind(block, trimmed);
    },
    keep(block: Block, text: string, from: number): boolean {
      // Try this last, because names may look like the middle of a checkout.
      if (readSeat(block, text, from, "any")) return true;
      if (!BORROWABLE.test(text.slice(from))) return false;
      block.describing = false;
      return true;
    },
    /** Splits ambiguous identities again, now that all hosts of the output are known. */
    close(): void {
      for (const look of secondLooks) look();
    },
  };
}
