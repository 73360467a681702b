import type { CheckoutReading } from "../../domain/reading.ts";
import type { KnownHosts } from "../manager.ts";

/** A checkout line as it was read. */
export interface SeenSeat {
  readonly line: string;
  readonly checkout: CheckoutReading;
  /** The license server that gave the seat, `host/port` as printed. */
  readonly server: string;
}

/** So many lines that are gone are passed over to find one that is still there. */
const LOOK_AHEAD = 100;

/** By what lives as long as licmond watches a server: the seats of its last output, in their order. */
const outputs = new WeakMap<KnownHosts, readonly SeenSeat[]>();

/**
 * Checkout lines of a server's last output: most stand in the next one too, in the same order, and are not read again.
 * Seats that go on are then the very same objects, so that nothing behind the parser makes new ones of them either:
 * together more than half of what a poll of 50 KB cost.
 */
export function createSeatMemory(hosts: KnownHosts) {
  const last = outputs.get(hosts) ?? [];
  const seats: SeenSeat[] = [];
  /** Where the next line is looked for. */
  let next = 0;
  return {
    /** What the last output's same line was read as. */
    recall(line: string): SeenSeat | null {
      const end = Math.min(next + LOOK_AHEAD, last.length);
      for (let index = next; index < end; index++) {
        const seen = last[index];
        if (seen?.line !== line) continue;
        next = index + 1;
        return seen;
      }
      return null;
    },
    keep: (seen: SeenSeat): void => void seats.push(seen),
    /** Keeps what was read now, if its line always reads the same. */
    learn(seen: SeenSeat): void {
      if (isPlain(seen.checkout)) seats.push(seen);
    },
    /** The output is over: its lines are the ones to know. */
    close: (): void => void outputs.set(hosts, seats),
  };
}

/** Hosts that are learnt later split its names no differently, and its start is known. */
function isPlain({ user, display, qualifier, startedAt }: CheckoutReading): boolean {
  return startedAt !== null && qualifier === null && !user.includes(" ") && display?.includes(" ") !== true;
}
