import type { PictureFeature } from "../domain/polls/kept-picture.ts";

/** Width of the seats in pixels. `ALL` is the width including waiting requests. */
export const WIDTH = 160;
export const ALL = 184;
/** Maximum number of seats drawn as cells. Each cell is at least five pixels wide. */
const MOST_CELLS = WIDTH / 5;
const MOST_TICKS = 4;

/** Kinds in this order: in use, full, reserved, empty, stale, stale and empty, waiting. */
export type Part = {
  readonly kind: "u" | "f" | "r" | "e" | "s" | "es" | "w";
  readonly x: number;
  readonly width: number;
};

/**
 * Splits a feature's seats into parts from left to right: a cell per seat, or a single length for many
 * seats. `reserved` seats are not available, however the manager counts them.
 */
export function partsOf(
  feature: Pick<PictureFeature, "total" | "available" | "reserved" | "queued" | "state">,
): Part[] {
  const total = feature.total ?? 0;
  if (total <= 0) return [];
  const isStale = feature.state === "stale";
  const taken = Math.min(total, total - (feature.available ?? total));
  const reserved = Math.min(feature.reserved ?? 0, taken);
  const used = taken - reserved;
  const ends = [used, taken, total] as const;
  const kinds = isStale
    ? (["s", "s", total > MOST_CELLS ? "es" : "e"] as const)
    : ([taken >= total ? "f" : "u", "r", "e"] as const);
  const waiting = Math.min(feature.queued ?? 0, MOST_TICKS);
  const ticks = Array.from(
    { length: waiting },
    (_, at): Part => ({ kind: "w", x: WIDTH + 5.5 + 5 * at, width: 2.5 }),
  );
  return [...(total > MOST_CELLS ? lengths(ends, kinds) : cells(ends, kinds)), ...ticks];
}

type Ends = readonly [used: number, taken: number, total: number];
type Kinds = readonly [Part["kind"], Part["kind"], Part["kind"]];

function cells([used, taken, total]: Ends, kinds: Kinds): Part[] {
  const gap = total > 12 ? 1.5 : 2;
  const width = (WIDTH - gap * (total - 1)) / total;
  return Array.from({ length: total }, (_, seat) => {
    const kind = kinds[seat < used ? 0 : seat < taken ? 1 : 2];
    return { kind, x: seat * (width + gap), width };
  });
}

function lengths([used, taken, total]: Ends, kinds: Kinds): Part[] {
  const scale = WIDTH / total;
  const parts: Part[] = [{ kind: kinds[2], x: 0, width: WIDTH }];
  if (used > 0) parts.push({ kind: kinds[0], x: 0, width: used * scale });
  if (taken > used) {
    const width = Math.max(1, (taken - used) * scale - 1);
    parts.push({ kind: kinds[1], x: Math.max(0, taken * scale - width), width });
  }
  return parts;
}
