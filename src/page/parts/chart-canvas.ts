import type uPlot from "uplot";
import { number } from "../format.ts";
import { now } from "../live/live.ts";
import { DAY_MS } from "../range.ts";
import {
  type Bucket,
  type ChartProps,
  isAllFull,
  isAtTotal,
  isGap,
  peakOf,
  peakTime,
  stretches,
  wasFull,
} from "../series.ts";

/** Ratio of the reader's text size to the default. Charts scale with it. */
const TEXT = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
const HEIGHT = 200;
const LANE = 32;
const TOP = 24;
const FONT = 11;
const SHEET = 660;
/** Distances between ticks in whole seats, so that ticks never show half a seat. */
const WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat();

const formatOf = (parts: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", parts);
const HOUR = formatOf({ hour: "2-digit", minute: "2-digit" });
const WEEKDAY = formatOf({ weekday: "short", day: "numeric" });
const DAY = formatOf({ day: "numeric", month: "short" });
const MONTH = formatOf({ month: "short", year: "2-digit" });
const isMidnight = (at: number) => new Date(at).getHours() + new Date(at).getMinutes() === 0;

function timeInWords(at: number, apart: number): string {
  if (apart < DAY_MS) return (isMidnight(at) ? WEEKDAY : HOUR).format(at);
  return (apart < 28 * DAY_MS ? DAY : MONTH).format(at);
}

interface Handlers {
  point(index: number | null): void;
  zoom(start: number, end: number): void;
}

/** Draws a chart into a box and follows its width; `move` puts the cursor on a bucket. */
export function drawChart(Plot: typeof uPlot, box: HTMLElement, props: ChartProps, on: Handlers) {
  const { series, lanes = [] } = props;
  const { start, end, buckets } = series;
  const most = Math.max(1, ...buckets.map(({ peak, total }) => Math.max(peak ?? 0, total ?? 0)));
  const laneHeight = lanes.length * LANE;
  const paint = painter(box);
  const font = `${FONT * TEXT}px ${getComputedStyle(box).fontFamily}`;
  const stepped = Plot.paths.stepped as uPlot.Series.SteppedPathBuilderFactory;
  // A bucket lasts until the next bucket or gap; the last bucket lasts until the end.
  const steps = { paths: stepped({ align: 1, alignGaps: 1 }), points: { show: false }, fillTo: 0 };
  const column = (value: (bucket: Bucket) => number | null) =>
    [...buckets, ...buckets.slice(-1)].map((bucket) => value(bucket));
  const drawn: readonly [value: (bucket: Bucket) => number | null, look: uPlot.Series][] = [
    [(bucket) => (isAllFull(bucket) ? most : null), { width: 0, fill: () => paint("full-mark", 16) }],
    [(bucket) => (isAllFull(bucket) ? null : bucket.used), { width: 0, fill: () => paint("use", 16) }],
    [({ total }) => total, { width: 1, dash: [3, 3], stroke: () => paint("text-3") }],
    [({ peak }) => peak, { width: 1.5, stroke: () => paint("use") }],
    [
      (bucket) => (wasFull(series, bucket) ? bucket.peak : null),
      { width: 3, stroke: () => paint("full-mark") },
    ],
  ];
  const seatsOnly = (_: uPlot, splits: number[]) => splits.map((value) => (value < 0 ? null : value));

  const plot = new Plot(
    {
      width: box.clientWidth,
      height: TEXT * (TOP + HEIGHT + laneHeight + 24),
      ms: 1,
      padding: [TEXT * TOP, 1, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { range: [start, end] },
        // Lanes are drawn below 0.
        y: { range: [(-most * laneHeight) / HEIGHT, 1.02 * most] },
      },
      axes: [
        {
          size: TEXT * 24,
          gap: TEXT * 4,
          space: TEXT * 72,
          font,
          stroke: () => paint("text-3"),
          grid: {
            stroke: () => paint("edge"),
            dash: [1, 3],
            filter: (_, splits, __, ___, apart) =>
              splits.map((at) => (apart < DAY_MS && isMidnight(at) ? at : null)),
          },
          ticks: { stroke: () => paint("edge"), size: 4, width: 1 },
          values: (_, splits, __, ___, apart) => splits.map((at) => timeInWords(at, apart)),
        },
        {
          size: TEXT * Math.max(lanes.length > 0 ? 50 : 40, 14 + 7 * number(most).length),
          gap: TEXT * 8,
          space: TEXT * 32,
          font,
          incrs: WHOLE,
          filter: seatsOnly,
          stroke: () => paint("text-3"),
          grid: { stroke: () => paint("line"), width: 1, filter: seatsOnly },
          ticks: { show: false },
          values: (_, splits) => splits.map((value) => value && number(value)),
        },
      ],
      series: [{}, ...drawn.map(([, look]) => ({ ...steps, ...look }))],
      hooks: {
        draw: [annotate],
        setCursor: [
          ({ cursor: { idx } }) => on.point(idx == null ? null : Math.min(idx, buckets.length - 1)),
        ],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width < 4) return;
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            on.zoom(Math.round(plot.posToVal(left, "x")), Math.round(plot.posToVal(left + width, "x")));
          },
        ],
      },
    },
    [[...buckets.map(({ at }) => at), end], ...drawn.map(([value]) => column(value))] as uPlot.AlignedData,
    box,
  );

  /** Draws parts that uPlot does not: lanes, times without data, and texts. */
  function annotate({ ctx, bbox: { left, top, width, height: all }, valToPos }: uPlot): void {
    const scale = TEXT * devicePixelRatio;
    const right = left + width;
    const x = (at: number) => valToPos(Math.max(start, at), "x", true);
    const y = (value: number) => valToPos(value, "y", true);
    const segment = (x1: number, y1: number, x2: number, y2: number, colour: string, wide: number) => {
      ctx.beginPath();
      ctx.strokeStyle = paint(colour);
      ctx.lineWidth = wide * scale;
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
      ctx.stroke();
    };
    /** Text with a background outline, readable over lines. */
    const write = (text: string, at: number, middle: number, align: CanvasTextAlign, isStrong = false) => {
      ctx.font = font.replace(
        /^[\d.]+/,
        (size) => `${isStrong ? 500 : 400} ${Number(size) * devicePixelRatio}`,
      );
      ctx.textAlign = align;
      ctx.lineWidth = 4 * scale;
      ctx.strokeStyle = paint("bg");
      ctx.fillStyle = paint(isStrong ? "text" : "text-3");
      const half = align === "center" ? ctx.measureText(text).width / 2 : 0;
      const within = half === 0 ? at : Math.min(right - half, Math.max(left + half, at));
      ctx.strokeText(text, within, middle);
      ctx.fillText(text, within, middle);
    };
    ctx.save();
    ctx.textBaseline = "middle";
    ctx.lineJoin = "round";

    const floors = lanes.map((lane, index) => ({ lane, floor: y(0) + (index + 1) * LANE * scale }));
    const gaps = stretches(series, isGap).map(([from, until]) => [x(from), x(until) - x(from)] as const);
    ctx.save();
    ctx.beginPath();
    for (const [from, wide] of gaps) ctx.rect(from, top, wide, all);
    for (const { lane, floor } of floors)
      if (lane.marks !== null) ctx.rect(left, floor - 14 * scale, x(lane.since ?? 0) - left, 14 * scale);
    ctx.clip();
    for (let at = left - all; at < right; at += 6 * scale) segment(at, top + all, at + all, top, "edge", 1);
    ctx.restore();
    for (const [from, wide] of gaps)
      if (wide > 90 * scale) write("no data", from + wide / 2, y(most / 2), "center");

    segment(left, y(0), right, y(0), "edge", 1);
    for (const { lane, floor } of floors) {
      segment(left, floor, right, floor, "edge", 1);
      write(lane.label, left - 8 * scale, floor - 8 * scale, "right");
      if (lane.marks === null) write("not known", left + 8 * scale, floor - 10 * scale, "left");
      for (const at of lane.marks ?? [])
        if (at >= start && at < end)
          segment(x(at), floor - 14 * scale, x(at), floor - 2 * scale, lane.colour, 2);
      if (lane.note !== undefined) write(lane.note, right, floor - 22 * scale, "right", true);
    }

    write(props.unit ?? "seats", left - 8 * scale, top - 16 * scale, "right");
    const total = buckets.at(-1)?.total ?? null;
    const peak = peakOf(series);
    const named = peak !== null && peak.peak !== null && !isAtTotal(peak) ? peak : null;
    const isClose = named !== null && y(named.peak ?? 0) - y(total ?? 0) < 24 * scale;
    if (total !== null && !(isClose && x(named.at) > right - 200 * scale))
      write(`total ${number(total)}`, right, y(total) - 9 * scale, "right");
    if (named !== null) {
      const text = `peak ${number(named.peak ?? 0)} ${peakTime(series, named, now.peek())}`;
      write(text, x(named.at), y(named.peak ?? 0) - 10 * scale, "center", true);
    }
    ctx.restore();
  }

  const media = ["print", "(prefers-color-scheme: dark)"].map((query) => matchMedia(query));
  const redraw = () => {
    const most = media[0]?.matches === true ? SHEET : box.clientWidth;
    plot.setSize({ width: Math.min(most, box.clientWidth), height: plot.height });
    plot.redraw(false, false);
  };
  const resized = new ResizeObserver(redraw);
  resized.observe(box);
  const themed = new MutationObserver(redraw);
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  for (const each of media) each.addEventListener("change", redraw);
  return {
    move(index: number): void {
      const bucket = buckets[index];
      if (bucket !== undefined)
        plot.setCursor({ left: plot.valToPos(Math.max(start, bucket.at), "x"), top: 0 });
    },
    end(): void {
      resized.disconnect();
      themed.disconnect();
      for (const each of media) each.removeEventListener("change", redraw);
      plot.destroy();
    },
  };
}

/** Returns a function that turns a custom property of the page into a color for a canvas. `percent` is the opacity. */
function painter(box: HTMLElement) {
  const probe = document.createElement("i");
  probe.hidden = true;
  box.append(probe);
  return (name: string, percent = 100): string => {
    probe.style.color = `color-mix(in srgb, var(--${name}) ${percent}%, transparent)`;
    return getComputedStyle(probe).color;
  };
}
