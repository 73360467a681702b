import { useEffect, useRef, useState } from "preact/hooks";
import { capital } from "../format.ts";
import { now } from "../live/live.ts";
import { beginInWords, bucketInWords, type ChartProps, isGap, sentenceOf, wasFull } from "../series.ts";
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
        aria-label={sentenceOf("Seats in use", series, fullSeconds, now.peek())}
        aria-description="Arrow keys step through its points."
        style={{ minHeight: `${(248 + 32 * lanes.length) / 16}rem` }}
        onKeyDown={step}
        onPointerMove={() => setKeyed(false)}
      >
        {isFailed && <p class="q">The chart could not be loaded. The table below has its data.</p>}
      </div>
      <Key {...props} />
      <details class="as-table" onToggle={({ currentTarget }) => setTable(currentTarget.open)}>
        <summary class="link">As table</summary>
        {isTable && (
          <Rows
            label="Seats in use"
            rows={buckets}
            columns={[
              { head: "From", by: ({ at }) => at, cell: ({ at }) => beginInWords(series, at, now.peek()) },
              { head: "Peak", value: ({ peak }) => peak },
              { head: "Average", value: ({ used }) => used && Math.round(100 * used) / 100 },
              { head: capital(unit), value: ({ total }) => total },
            ]}
          />
        )}
      </details>
    </div>
  );
}

function Key({ series, isSum = false }: ChartProps) {
  const marks: readonly (readonly [style: string, word: string, isDrawn: boolean])[] = [
    ["k-peak", isSum ? "sum of means" : "peak", true],
    ["k-mean", "mean", !isSum],
    ["k-full", "no seat free", series.buckets.some((bucket) => wasFull(series, bucket))],
    ["gap", "no data", series.buckets.some(isGap)],
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
