import type { Range } from "../range.ts";

/** A period in epoch ms; a moment if start and end are equal. */
export interface Stretch {
  readonly from: number;
  readonly until: number;
  /** A color token, or the pattern for time without data. */
  readonly colour:
    | "bg"
    | "use"
    | "heat-1"
    | "full-mark"
    | "warn-mark"
    | "crit-mark"
    | "unknown-mark"
    | "unread";
}

/** Returns a period from the ISO times of an answer. */
export const stretch = (colour: Stretch["colour"], start: string, end: string): Stretch => ({
  colour,
  from: Date.parse(start),
  until: Date.parse(end),
});

const WIDTH = 1000;

/** Periods on the time axis of a range; the text next to it describes them. */
export function Timeline({ range, of }: { readonly range: Range; readonly of: readonly Stretch[] }) {
  const { start, end } = range;
  const x = (at: number) =>
    Math.round((WIDTH * (Math.min(end, Math.max(start, at)) - start)) / (end - start));
  return (
    <svg class="timeline" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
      {[...Map.groupBy(of, ({ colour }) => colour)].map(([colour, stretches]) => (
        <path
          key={colour}
          class={colour}
          style={{ color: `var(--${colour})` }}
          d={stretches.map(({ from, until }) => `M${x(from)} 0H${x(until)}V12H${x(from)}z`).join("")}
        />
      ))}
    </svg>
  );
}
