import { useEffect, useRef, useState } from "preact/hooks";
import { moment } from "../format.ts";
import { bucketInWords, type ChartProps, sentenceOf } from "../series.ts";
import { past } from "../words-past.ts";
import { Rows } from "./figure.tsx";

type Drawn = ReturnType<typeof import("./chart-canvas.ts")["drawChart"]>;

/**
 * Seats in use over time. Arrow keys step through its points, dragging chooses a stretch. What draws it is loaded when a
 * chart is shown; the sentence and the table are there without it.
 */
export function Chart(props: ChartProps) {
  const { label, series, now, fullSeconds = null, height = 200 } = props;
  const { buckets } = series;
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | null>(null);
  const [index, setIndex] = useState<number | null>(null);
  const [isKeyed, setKeyed] = useState(false);
  const [isFailed, setFailed] = useState(false);
  const [isTable, setTable] = useState(false);
  const lanes = JSON.stringify(props.lanes);

  useEffect(() => {
    let isOver = false;
    import("./chart-canvas.ts").then(
      ({ drawChart }) => {
        if (isOver || box.current === null) return;
        const zoom = (start: number, end: number) => props.onZoom?.(start, end);
        drawn.current = drawChart(box.current, props, { point: setIndex, zoom });
      },
      () => setFailed(true),
    );
    return () => {
      isOver = true;
      drawn.current?.end();
      drawn.current = null;
    };
  }, [series, lanes]);

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
        {bucket && bucketInWords(bucket, now)}
      </p>
      <div
        ref={box}
        class="plot"
        role="img"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys step through its points
        tabIndex={0}
        aria-label={sentenceOf(label, series, fullSeconds, now)}
        aria-description={past.chartKeys}
        style={{ minHeight: `${height + 32 * (props.lanes?.length ?? 0) + 48}px` }}
        onKeyDown={step}
        onPointerMove={() => setKeyed(false)}
      >
        {isFailed && <p class="q">{past.chartFailed}</p>}
      </div>
      <details class="as-table" onToggle={({ currentTarget }) => setTable(currentTarget.open)}>
        <summary class="link">{past.asTable}</summary>
        {isTable && (
          <Rows
            label={label}
            rows={buckets}
            columns={[
              { head: past.from, cell: ({ at }) => moment(at, now) },
              { head: past.peak, value: ({ peak }) => peak },
              { head: past.onAverage, value: ({ used }) => used && Math.round(100 * used) / 100 },
              { head: past.seats, value: ({ total }) => total },
            ]}
          />
        )}
      </details>
    </div>
  );
}
