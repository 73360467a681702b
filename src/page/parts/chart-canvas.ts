import uPlot from "uplot";
import { moment, number } from "../format.ts";
import {
  type ChartProps,
  isAllFull,
  isAtTotal,
  isGap,
  peakOf,
  stretches,
  timeTicks,
  valueTicks,
} from "../series.ts";
import { past } from "../words-past.ts";

const LANE = 32;
const FONT = 11;
const TOP = 24;
const TICK_WIDTH = 72;

interface Handlers {
  /** The index of the bucket at the cursor. */
  point(index: number | null): void;
  zoom(start: number, end: number): void;
}

/** Draws a chart into a box and keeps its width; `move` puts the cursor on a bucket. */
export function drawChart(box: HTMLElement, props: ChartProps, on: Handlers) {
  const { series, unit, lanes = [], height = 200, now } = props;
  const { start, end, buckets } = series;
  const most = Math.max(1, ...buckets.map(({ peak, total }) => Math.max(peak ?? 0, total ?? 0)));
  const values = valueTicks(most);
  const top = Math.max(most, values.at(-1) ?? 1);
  const laneHeight = lanes.length * LANE;
  const last = buckets.at(-1);
  const paint = painter(box);
  const ticks = (plot: uPlot) =>
    timeTicks(start, end, Math.max(2, Math.floor(plot.bbox.width / devicePixelRatio / TICK_WIDTH)));
  const isAtEdge = (plot: uPlot, at: number) =>
    Math.min(plot.valToPos(at, "x"), plot.valToPos(end, "x") - plot.valToPos(at, "x")) < 16;
  const column = (value: (bucket: (typeof buckets)[number]) => number | null) => [
    ...buckets.map(value),
    last === undefined ? null : value(last),
  ];
  // A step lasts until the next one: the last one until the end.
  const data = [
    [...buckets.map(({ at }) => at), end],
    column((bucket) => (isAllFull(bucket) ? null : bucket.used)),
    column(({ peak }) => peak),
  ];
  const stepped = uPlot.paths.stepped as uPlot.Series.SteppedPathBuilderFactory;
  // A bucket lasts to the gap behind it.
  const line = {
    paths: stepped({ align: 1, alignGaps: 1 }),
    points: { show: false },
    spanGaps: false,
    fillTo: 0,
  } as const;

  const plot = new uPlot(
    {
      width: box.clientWidth,
      height: TOP + height + laneHeight + 24,
      ms: 1,
      padding: [TOP, 1, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      scales: {
        x: { time: false, range: [start, end] },
        // The lanes are below 0.
        y: { range: [(-top * laneHeight) / height, top] },
      },
      axes: [
        {
          size: 24,
          gap: 4,
          grid: { show: false },
          ticks: { stroke: () => paint("edge"), size: 4, width: 1 },
          stroke: () => paint("text-3"),
          font: `${FONT}px ${getComputedStyle(box).fontFamily}`,
          splits: (plot) => ticks(plot).map(({ at }) => at),
          values: (plot) =>
            ticks(plot).map(({ at, label, isNamed }) => (isNamed || isAtEdge(plot, at) ? "" : label)),
        },
        {
          size: Math.max(lanes.length > 0 ? 50 : 40, 14 + 7 * number(top).length),
          gap: 8,
          grid: { stroke: () => paint("line"), width: 1 },
          ticks: { show: false },
          stroke: () => paint("text-3"),
          font: `${FONT}px ${getComputedStyle(box).fontFamily}`,
          splits: () => values,
          values: (_, splits) => splits.map((value) => number(value)),
        },
      ],
      series: [
        {},
        { ...line, width: 0, fill: () => paint("use", 16) },
        { ...line, width: 1.5, stroke: () => paint("use") },
      ],
      hooks: {
        drawClear: [(plot) => under(plot)],
        draw: [(plot) => over(plot)],
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
    data as uPlot.AlignedData,
    box,
  );

  function tools(plot: uPlot) {
    const { ctx } = plot;
    const scale = devicePixelRatio;
    const x = (at: number) => plot.valToPos(at, "x", true);
    const y = (value: number) => plot.valToPos(value, "y", true);
    const segment = (
      x1: number,
      y1: number,
      x2: number,
      y2: number,
      colour: string,
      width: number,
      dash: number[] = [],
    ) => {
      ctx.beginPath();
      ctx.setLineDash(dash.map((each) => each * scale));
      ctx.strokeStyle = colour;
      ctx.lineWidth = width * scale;
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
      ctx.stroke();
    };
    /** With a rim of the ground, so that it can be read over lines. */
    const write = (
      text: string,
      left: number,
      middle: number,
      align: CanvasTextAlign,
      colour = "text-3",
      weight = 400,
    ) => {
      ctx.font = `${weight} ${FONT * scale}px ${getComputedStyle(box).fontFamily}`;
      ctx.textAlign = align;
      ctx.textBaseline = "middle";
      ctx.setLineDash([]);
      ctx.lineJoin = "round";
      ctx.lineWidth = 4 * scale;
      ctx.strokeStyle = paint("bg");
      ctx.strokeText(text, left, middle);
      ctx.fillStyle = paint(colour);
      ctx.fillText(text, left, middle);
    };
    return { ctx, scale, x, y, segment, write, ...plot.bbox };
  }

  /** Beneath the lines: stretches without a free seat, midnights. */
  function under(plot: uPlot): void {
    const { ctx, x, y, top: above, height: all, segment } = tools(plot);
    ctx.save();
    ctx.fillStyle = paint("warn-mark", 16);
    for (const [from, until] of stretches(series, isAllFull))
      ctx.fillRect(x(from), y(most), x(until) - x(from), y(0) - y(most));
    for (const { at, isNamed } of ticks(plot))
      if (isNamed) segment(x(at), above, x(at), above + all, paint("edge"), 1, [1, 3]);
    ctx.restore();
  }

  function over(plot: uPlot): void {
    const { ctx, scale, x, y, segment, write, left, top: above, width, height: all } = tools(plot);
    const right = left + width;
    ctx.save();
    segment(left, y(0), right, y(0), paint("edge"), 1);
    for (const total of new Set(buckets.map((bucket) => bucket.total)))
      for (const [from, until] of total === null ? [] : stretches(series, (bucket) => bucket.total === total))
        segment(x(from), y(total ?? 0), x(until), y(total ?? 0), paint("text-3"), 1, [3, 3]);
    for (const [index, bucket] of buckets.entries()) {
      const { at, peak } = bucket;
      const [from, until] = [x(Math.max(start, at)), x(buckets[index + 1]?.at ?? end)];
      if (peak !== null && isAtTotal(bucket)) segment(from, y(peak), until, y(peak), paint("warn-mark"), 3);
    }
    for (const [index, lane] of lanes.entries()) {
      const floor = y(0) + (index + 1) * LANE * scale;
      segment(left, floor, right, floor, paint("edge"), 1);
      write(lane.label, left - 8 * scale, floor - 8 * scale, "right");
      const from = x(Math.max(start, lane.since ?? start));
      if (lane.marks === null || lane.since === null)
        write(past.notKnown, left + 8 * scale, floor - 10 * scale, "left");
      else if (from > left) hatch(left, floor - 14 * scale, from - left, 14 * scale);
      for (const at of lane.marks ?? [])
        if (at >= start && at < end)
          segment(x(at), floor - 14 * scale, x(at), floor - 2 * scale, paint(lane.colour), 2);
      if (lane.note !== undefined) write(lane.note, right, floor - 22 * scale, "right", "text", 500);
    }
    for (const [from, until] of stretches(series, isGap)) {
      const space = x(until) - x(from);
      hatch(x(from), above, space, all);
      if (space > 52 * scale) {
        ctx.fillStyle = paint("bg");
        ctx.fillRect(x(from) + space / 2 - 24 * scale, y(top / 2) - 16 * scale, 48 * scale, 32 * scale);
        for (const [row, word] of past.nobodyLooked.split(" ").entries())
          write(word, x(from) + space / 2, y(top / 2) + (row * 14 - 7) * scale, "center");
      }
    }
    write(unit, left - 8 * scale, above - 16 * scale, "right");
    for (const { at, label, isNamed } of ticks(plot))
      if (isNamed) write(label, x(at), above + all + 14 * scale, "center", "text", 600);
    if (last?.total != null) write(past.total(last.total), right, y(last.total) - 9 * scale, "right");
    const peak = peakOf(series);
    if (peak?.peak && !isAtTotal(peak)) {
      const text = past.peakAt(peak.peak, moment(Math.max(start, peak.at), now));
      const half = (text.length * FONT * scale) / 4;
      const middle = Math.min(right - half, Math.max(left + half, x(peak.at)));
      write(text, middle, y(peak.peak) - 10 * scale, "center", "text", 500);
    }
    ctx.restore();

    function hatch(x1: number, y1: number, wide: number, high: number): void {
      ctx.save();
      ctx.beginPath();
      ctx.rect(x1, y1, wide, high);
      ctx.clip();
      for (let at = -high; at < wide; at += 6 * scale)
        segment(x1 + at, y1 + high, x1 + at + high, y1, paint("edge"), 1);
      ctx.restore();
    }
  }

  const resized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: plot.height }));
  resized.observe(box);
  const redraw = () => plot.redraw(false, false);
  const themed = new MutationObserver(redraw);
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const media = ["print", "(prefers-color-scheme: dark)"].map((query) => matchMedia(query));
  for (const each of media) each.addEventListener("change", redraw);
  return {
    move(index: number): void {
      const bucket = buckets[index];
      if (bucket === undefined) return;
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

/** Colours of the page's custom properties, as a canvas takes them; `percent`: how opaque. */
function painter(box: HTMLElement) {
  const probe = document.createElement("i");
  box.append(probe);
  return (name: string, percent = 100): string => {
    probe.style.color =
      percent === 100 ? `var(--${name})` : `color-mix(in srgb, var(--${name}) ${percent}%, transparent)`;
    return getComputedStyle(probe).color;
  };
}
