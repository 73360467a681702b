import { type CheckoutReading, type QueueReading, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";
import { type Block, hold, openPool, poolOf, setKind } from "./block.ts";
import { parseKind, parsePool, parseVendorString } from "./pool-line.ts";
import { parseReservation } from "./reservation-line.ts";
import { endOfText } from "./scan.ts";
import { createSeatReader, type LineEnd } from "./seat-line.ts";
import type { StartTimes } from "./start-time.ts";

/** Lines whose identity is looked at again with all hosts known: a bound on the time at the end of an output. */
const MAX_SECOND_LOOKS = 5_000;

/** What a line came to: `kept` is a row of which a part was not understood, which is counted as an unknown line. */
export type LineOutcome = "known" | "kept" | "unknown";

/** Of seats that nobody holds: it takes nothing from what is known of the block. */
const BORROWABLE = /^\d{1,9} borrowable licen[sc]es?\b/i;

/** Reads the lines that stand in a feature's block below its header. */
export interface BlockReader {
  /** Takes a line whose text begins at `from`; `unknown` when it is none of a block's, or cut. */
  read(block: Block, text: string, from: number, cut: boolean): LineOutcome;
  /** Takes a line that no rule knew when it begins as one of a block's. */
  keep(block: Block, text: string, from: number): boolean;
  /** Splits again, with all hosts of the output known, the identities that were split without evidence. */
  lookAgain(): void;
}

export function createBlockReader(zone: string, times: StartTimes, knownHosts: KnownHosts): BlockReader {
  const seats = createSeatReader(times, knownHosts);
  const secondLooks: (() => void)[] = [];

  function add<T extends CheckoutReading | QueueReading>(list: T[], reading: T, text: string): void {
    const index = list.push(reading) - 1;
    const guessed = seats.guessedAt();
    if (guessed === null || secondLooks.length >= MAX_SECOND_LOOKS) return;
    secondLooks.push(() => {
      const { user, host, display, qualifier } = seats.identity(text, guessed.from, guessed.to);
      list[index] = { ...reading, user, host, display, qualifier };
    });
  }

  function readSeat(block: Block, text: string, from: number, end: LineEnd): boolean {
    const pool = poolOf(block);
    const checkout = seats.checkout(text, from, pool, end);
    if (checkout !== null) {
      add(block.checkouts, checkout, text);
      hold(block, checkout.count);
    } else {
      const queued = seats.queued(text, from, pool, end);
      if (queued === null) return false;
      add(block.queue, queued, text);
    }
    block.server ??= seats.server();
    return true;
  }

  function readReservation(block: Block, trimmed: string, cut: boolean): LineOutcome {
    const reservation = parseReservation(trimmed, poolOf(block));
    if (reservation === null || (cut && reservation.type === "other")) return "unknown";
    block.reservations.push(reservation);
    hold(block, reservation.count);
    return reservation.type === "other" ? "kept" : "known";
  }

  function readKind(block: Block, trimmed: string): boolean {
    const pool = block.pools.at(-1);
    const kind = pool === undefined ? null : parseKind(trimmed);
    if (pool === undefined || kind === null) return false;
    if (pool.kind === "unknown") setKind(pool, kind);
    return true;
  }

  function readVendorString(block: Block, text: string, cut: boolean): boolean {
    const pool = block.pools.at(-1);
    if (pool === undefined || pool.vendorString !== null) return false;
    const vendorString = parseVendorString(text);
    if (vendorString === null || cut) return false;
    pool.vendorString = vendorString;
    return true;
  }

  function readPool(block: Block, trimmed: string, cut: boolean): LineOutcome {
    const pool = parsePool(trimmed, zone);
    if (pool === null) return "unknown";
    // Where a part of an output was kept, the daemon's name stands in the pool line alone.
    if (block.daemon === "" && block.pools.length === 0) block.daemon = pool.vendor;
    block.vendor ??= pool.vendor;
    openPool(block, pool.version, cut ? UNKNOWN_EXPIRY : pool.expiry);
    if (cut) return "unknown";
    return pool.understood ? "known" : "kept";
  }

  return {
    read(block, text, from, cut) {
      // Right below the pool's line, where it says anything, even what looks like a checkout.
      if (block.describing && readVendorString(block, text.slice(from), cut)) return "known";
      if (!readSeat(block, text, from, "known")) {
        const trimmed = text.slice(from, endOfText(text, from, text.length));
        const reserved = readReservation(block, trimmed, cut);
        if (reserved === "unknown" && !readKind(block, trimmed)) return readPool(block, trimmed, cut);
        block.describing = false;
        return reserved === "kept" ? "kept" : "known";
      }
      block.describing = false;
      return "known";
    },
    keep(block, text, from) {
      // Behind all other rules: names may hold what the middle of a checkout looks like.
      if (!readSeat(block, text, from, "any") && !BORROWABLE.test(text.slice(from))) return false;
      block.describing = false;
      return true;
    },
    lookAgain() {
      for (const look of secondLooks) look();
    },
  };
}
