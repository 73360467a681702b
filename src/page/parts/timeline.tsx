import type { Range } from "../range.ts";

/** A stretch of time, epoch ms; a moment where both are one. */
export interface Stretch {
  readonly from: number;
  readonly until: number;
  /** One of the tokens, or the pattern of what nobody looked at. */
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

/** Of an answer, which has times as texts. */
export const stretch = (colour: Stretch["colour"], start: string, end: string): Stretch => ({
  colour,
  from: Date.parse(start),
  until: Date.parse(end),
});

const WIDTH = 1000;

/** Stretches on the time of a range; what stands beside it says them in words. */
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
