import { type CheckoutReading, type QueueReading, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";
import { type Block, hold, openPool, poolOf, setKind } from "./block.ts";
import { parseKind, parsePool, parseVendorString } from "./pool-line.ts";
import { parseReservation } from "./reservation-line.ts";
import { endOfText } from "./scan.ts";
import { createSeatReader } from "./seat-line.ts";
import type { StartTimes } from "./start-time.ts";

/** Lines whose identity is looked at again with all hosts known: a bound on the time at the end of an output. */
const MAX_SECOND_LOOKS = 5_000;

/** Reads the lines that stand in a feature's block below its header. */
export interface BlockReader {
  /** Takes a line whose text begins at `from`; false when it is none of a block's, or only part of one. */
  read(block: Block, text: string, from: number, cut: boolean): boolean;
  /** Splits again, with all hosts of the output known, the identities that were split without evidence. */
  lookAgain(): void;
}

export function createBlockReader(zone: string, times: StartTimes, knownHosts: KnownHosts): BlockReader {
  const seats = createSeatReader(times, knownHosts);
  const secondLooks: (() => void)[] = [];

  function keep<T extends CheckoutReading | QueueReading>(list: T[], reading: T, text: string): void {
    const index = list.push(reading) - 1;
    const guessed = seats.guessedAt();
    if (guessed === null || secondLooks.length >= MAX_SECOND_LOOKS) return;
    secondLooks.push(() => {
      const { user, host, display, qualifier } = seats.identity(text, guessed.from, guessed.to);
      list[index] = { ...reading, user, host, display, qualifier };
    });
  }

  function readSeat(block: Block, text: string, from: number, pool: number | null): boolean {
    const checkout = seats.checkout(text, from, pool);
    if (checkout !== null) {
      keep(block.checkouts, checkout, text);
      hold(block, checkout.count);
      return true;
    }
    const queued = seats.queued(text, from, pool);
    if (queued !== null) keep(block.queue, queued, text);
    return queued !== null;
  }

  function readReservation(block: Block, trimmed: string, pool: number | null): boolean {
    const reservation = parseReservation(trimmed, pool);
    if (reservation === null) return false;
    block.reservations.push(reservation);
    hold(block, reservation.count);
    return true;
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

  function readPool(block: Block, trimmed: string, cut: boolean): boolean {
    const pool = parsePool(trimmed, zone);
    if (pool === null) return false;
    // Where a part of an output was kept, the daemon's name stands in the pool line alone.
    if (block.daemon === "" && block.pools.length === 0) block.daemon = pool.vendor;
    openPool(block, pool.version, cut ? UNKNOWN_EXPIRY : pool.expiry);
    return pool.understood && !cut;
  }

  return {
    read(block, text, from, cut) {
      // Right below the pool's line, where it says anything, even what looks like a checkout.
      if (block.describing && readVendorString(block, text.slice(from), cut)) return true;
      const pool = poolOf(block);
      if (!readSeat(block, text, from, pool)) {
        const trimmed = text.slice(from, endOfText(text, from, text.length));
        if (!readReservation(block, trimmed, pool) && !readKind(block, trimmed)) {
          return readPool(block, trimmed, cut);
        }
      }
      block.describing = false;
      return true;
    },
    lookAgain() {
      for (const look of secondLooks) look();
    },
  };
}
