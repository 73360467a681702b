import fc from "fast-check";
import type { Series, Step } from "../../../src/domain/history.ts";

const FEATURE = { server: "eda", daemon: "acmed", feature: "solver" };

export interface Poll {
  /** Time in seconds after the start. */
  readonly at: number;
  readonly used: number | null;
  readonly total: number | null;
  readonly unlimited: boolean;
}

/** Converts polls to steps: each poll holds until the next one, and equal neighbors are merged. */
export function seriesOf(polls: readonly Poll[], start: number, end: number): Series {
  const gap: Step = { at: start, total: null, used: null, reserved: null, queued: null, unlimited: false };
  const steps: Step[] = [];
  for (const poll of [{ at: 0, used: null, total: null, unlimited: false }, ...polls]) {
    const at = start + poll.at * 1000;
    if (at >= end) continue;
    const counts = poll.used === null ? { ...gap, at } : { ...gap, ...poll, at };
    if (steps.at(-1)?.at === at) steps.pop();
    const last = steps.at(-1);
    if (
      last !== undefined &&
      last.used === counts.used &&
      last.total === counts.total &&
      last.unlimited === counts.unlimited
    )
      continue;
    steps.push(counts);
  }
  return { feature: FEATURE, start, end, steps };
}

/** Returns for each second the last poll up to that second; null if that poll is a gap. */
export function seconds(polls: readonly Poll[], lengthSeconds: number): (Poll | null)[] {
  const held: (Poll | null)[] = [];
  const bySecond = new Map(polls.map((poll) => [poll.at, poll]));
  let current: Poll | null = null;
  for (let second = 0; second < lengthSeconds; second++) {
    current = bySecond.get(second) ?? current;
    held.push(current === null || current.used === null ? null : current);
  }
  return held;
}

/**
 * Generates polls at least `everySeconds` apart, with gaps, changing or unlimited totals, and seats over
 * the total.
 */
export function randomPolls(lengthSeconds: number, everySeconds: number): fc.Arbitrary<Poll[]> {
  const slots = Math.floor(lengthSeconds / everySeconds);
  return fc
    .uniqueArray(
      fc.record({
        slot: fc.nat(slots - 1),
        shift: fc.nat(everySeconds - 1),
        used: fc.option(fc.nat(12), { freq: 5 }),
        total: fc.option(fc.nat(10), { freq: 8 }),
        unlimited: fc.nat(9).map((roll) => roll === 0),
      }),
      { selector: ({ slot }) => slot, maxLength: 40 },
    )
    .map((rolled) =>
      rolled
        .map(({ slot, shift, used, total, unlimited }) => ({
          at: slot * everySeconds + shift,
          used,
          total: unlimited ? null : total,
          unlimited,
        }))
        .sort((a, b) => a.at - b.at),
    );
}

export const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
] as const;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Returns the wall clock by Intl, as an independent check. */
export function wallClock(zone: string, at: number): { day: string; weekday: number; hour: number } {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      hourCycle: "h23",
      weekday: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
    });
    clocks.set(zone, clock);
  }
  const part: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of clock.formatToParts(at)) part[type] = value;
  return {
    day: `${part.year}-${part.month}-${part.day}`,
    weekday: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].indexOf(part.weekday ?? "") + 1,
    hour: Number(part.hour),
  };
}
