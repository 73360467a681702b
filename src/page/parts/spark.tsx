import { type Sample, stepsOf } from "../daily/series.ts";

const DAY_MS = 86_400_000;
/** Narrower ones are seen as breaks of the line. */
const LEAST_GAP = 4;

/** Seats in use over 24 hours as a step line, from 0 to the total, so that two can be compared; hatched where nobody looked. */
export function Spark(props: {
  readonly samples: readonly Sample[];
  /** Epoch ms at the right edge. */
  readonly until: number;
  readonly total: number | null;
  /** In use at the right edge. */
  readonly used: number | null;
  readonly label: string;
  readonly isStale?: boolean;
  readonly width?: number;
  readonly height?: number;
}) {
  const { samples, until, total, used, width = 192, height = 32 } = props;
  const top = Math.max(total ?? 0, ...samples.map((sample) => Math.max(sample.used ?? 0, sample.total ?? 0)));
  const frame = { from: until - DAY_MS, until, top, width, height };
  const { line, area, gaps } = stepsOf(samples, frame);
  const level = used === null ? null : height - Math.min(1, used / Math.max(1, top)) * height;
  return (
    <svg
      class={`spark ${props.isStale === true ? "stale" : ""}`}
      role="img"
      aria-label={props.label}
      viewBox={`0 -3 ${width + 4} ${height + 4}`}
    >
      <path class="cap" d={`M0 .5H${width}`} />
      <path class="base" d={`M0 ${height}H${width}`} />
      <path class="area" d={area} />
      {gaps
        .filter(([, wide]) => wide >= LEAST_GAP)
        .map(([left, wide]) => (
          <rect key={left} class="unread" x={left} y="1" width={wide} height={height - 1} />
        ))}
      <path class="ln" d={line} />
      {level !== null && props.isStale !== true && <circle class="now" cx={width} cy={level} r="2" />}
    </svg>
  );
}
