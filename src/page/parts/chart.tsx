import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../live/live.ts";
import { beginInWords, bucketInWords, type ChartProps, isGap, sentenceOf, wasFull } from "../series.ts";
import { words } from "../words-pages.ts";
import { past } from "../words-past.ts";
import { drawChart } from "./chart-canvas.ts";
import { Rows } from "./rows.tsx";

type Drawn = ReturnType<typeof drawChart>;

/**
 * Seats in use over time. Arrow keys step through points, dragging selects a range. The chart library loads
 * when a chart is shown; the sentence and the table work without it.
 */
export function Chart(props: ChartProps) {
  const { series, unit = "seats", lanes = [], fullSeconds = null } = props;
  const { buckets } = series;
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | null>(null);
  const [index, setIndex] = useState<number | null>(null);
  const [isKeyed, setKeyed] = useState(false);
  const [isFailed, setFailed] = useState(false);
  const [isTable, setTable] = useState(false);

  useEffect(() => {
    let isOver = false;
    import("../later/uplot.ts").then(
      ({ uPlot }) => {
        if (isOver || box.current === null) return;
        const zoom = (start: number, end: number) => props.onZoom?.(start, end);
        drawn.current = drawChart(uPlot, box.current, props, { point: setIndex, zoom });
      },
      () => setFailed(true),
    );
    return () => {
      isOver = true;
      drawn.current?.end();
      drawn.current = null;
    };
  }, [series, JSON.stringify(lanes)]);

  const step = (event: KeyboardEvent) => {
    const last = buckets.length - 1;
    const steps = { ArrowLeft: (index ?? last + 1) - 1, ArrowRight: (index ?? -1) + 1, Home: 0, End: last };
    const to = (steps as Partial<Record<string, number>>)[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    setKeyed(true);
    const next = Math.max(0, Math.min(last, to));
    drawn.current?.move(next);
    setIndex(next);
  };
  const bucket = index === null ? undefined : buckets[index];
  return (
    <div class="chart">
      <p class="read q" role="status" aria-live={isKeyed ? "polite" : "off"}>
        {bucket && bucketInWords(series, bucket, now.peek())}
      </p>
      <div
        ref={box}
        class="plot"
        role="img"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys step through its points
        tabIndex={0}
        aria-label={sentenceOf(past.seatsInUse, series, fullSeconds, now.peek())}
        aria-description={past.chartKeys}
        style={{ minHeight: `${(248 + 32 * lanes.length) / 16}rem` }}
        onKeyDown={step}
        onPointerMove={() => setKeyed(false)}
      >
        {isFailed && <p class="q">{past.chartFailed}</p>}
      </div>
      <Key {...props} />
      <details class="as-table" onToggle={({ currentTarget }) => setTable(currentTarget.open)}>
        <summary class="link">{past.asTable}</summary>
        {isTable && (
          <Rows
            label={past.seatsInUse}
            rows={buckets}
            columns={[
              { head: past.from, by: ({ at }) => at, cell: ({ at }) => beginInWords(series, at, now.peek()) },
              { head: past.peak, value: ({ peak }) => peak },
              { head: past.onAverage, value: ({ used }) => used && Math.round(100 * used) / 100 },
              { head: words.units[unit], value: ({ total }) => total },
            ]}
          />
        )}
      </details>
    </div>
  );
}

/** Legend of line, area and colors. */
function Key({ series, isSum = false }: ChartProps) {
  const { key } = past;
  const marks: readonly (readonly [style: string, word: string, isDrawn: boolean])[] = [
    ["k-peak", isSum ? key.sum : key.peak, true],
    ["k-mean", key.mean, !isSum],
    ["k-full", key.full, series.buckets.some((bucket) => wasFull(series, bucket))],
    ["gap", past.nobodyLooked, series.buckets.some(isGap)],
  ];
  return (
    <p class="key q">
      {marks.map(
        ([style, word, isDrawn]) =>
          isDrawn && (
            <span key={style}>
              <i class={style} /> {word}
            </span>
          ),
      )}
    </p>
  );
}
