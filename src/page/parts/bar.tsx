import type { PictureFeature } from "../../domain/polls/kept-picture.ts";
import { groupLimit } from "../../domain/polls/seat-groups.ts";
import { duration, number } from "../format.ts";
import { now } from "../live/live.ts";
import { daysLeft, type FeatureRow } from "../model.ts";
import type { Range } from "../range.ts";
import { ALL, type Part, partsOf, WIDTH } from "../seats.ts";
import { reservedWords, seatsInWords, waitingWords } from "../words.ts";

const HEIGHT = 12;
const OUTLINED = new Set<Part["kind"]>(["r", "e", "s", "es", "w"]);
const round = (value: number) => Math.round(value * 10) / 10;

/**
 * Returns a rounded rectangle as part of a path. All parts of the same kind share an element, because a
 * list has many bars.
 */
function outline({ kind, x, width }: Part): string {
  const line = OUTLINED.has(kind) ? 0.5 : 0;
  const [w, h] = [round(Math.max(2, width - 2 * line) - 2), HEIGHT - 2 * line - 2];
  return `M${round(x + line + 1)} ${line}h${w}q1 0 1 1v${h}q0 1-1 1h${-w}q-1 0-1-1v${-h}q0-1 1-1z`;
}

type Counts = "total" | "used" | "available" | "reserved" | "queued" | "unlimited" | "state";

export function SeatBar({ feature }: Readonly<{ feature: Pick<PictureFeature, Counts> }>) {
  const isOpen = feature.unlimited || feature.total === null;
  const kinds = Map.groupBy(partsOf(feature), ({ kind }) => kind);
  return (
    <svg
      class="seats"
      role="img"
      aria-label={seatsInWords(feature)}
      width={`${ALL / 16}rem`}
      height={`${HEIGHT / 16}rem`}
      viewBox={`0 0 ${ALL} ${HEIGHT}`}
      preserveAspectRatio="xMinYMid"
    >
      {isOpen && <path class="inf" d={`M.5 6H${WIDTH - 0.5}`} />}
      {isOpen && (feature.used ?? 0) > 0 && <rect class="u" x="0" y="0" width="93" height={HEIGHT} rx="1" />}
      {[...kinds].map(([kind, parts]) => (
        <path key={kind} class={kind === "es" ? "e es" : kind} d={parts.map(outline).join("")} />
      ))}
    </svg>
  );
}

/** Shows the most important remark next to the bar. */
export function Note({ row }: Readonly<{ row: FeatureRow }>) {
  const { feature, server } = row;
  const over = -(feature.available ?? 0);
  if ((feature.queued ?? 0) > 0) return <span class="n-full">{waitingWords(feature.queued ?? 0)}</span>;
  if (feature.state === "failed") return <span class="n-crit">failed</span>;
  if ((daysLeft(row, now.peek()) ?? 0) < 0) return <span class="n-crit">expired</span>;
  const readAt = feature.collectedAt ?? server.collectedAt;
  if (feature.state === "stale" && readAt !== null)
    return <>{`${duration(now.value - Date.parse(readAt))} old`}</>;
  if (over > 0) return <span class="n-full">{`${number(over)} over`}</span>;
  if ((feature.reserved ?? 0) > 0) return <span class="q">{reservedWords(feature.reserved ?? 0)}</span>;
  if (groupLimit(feature) > 0)
    return (
      <span class="q" title="Its seat group has no further free seats">
        group limit
      </span>
    );
  return feature.shared ? <span class="q">shared seats</span> : null;
}

export interface Stretch {
  readonly from: number;
  readonly until: number;
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

const TIMELINE_WIDTH = 1000;

/**
 * Periods on the time axis of a range. Hidden from screen readers, because the text next to it has the same
 * data.
 */
export function Timeline({ range, of }: Readonly<{ range: Range; of: readonly Stretch[] }>) {
  const { start, end } = range;
  const x = (at: number) =>
    Math.round((TIMELINE_WIDTH * (Math.min(end, Math.max(start, at)) - start)) / (end - start));
  return (
    <svg class="timeline" viewBox={`0 0 ${TIMELINE_WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
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
