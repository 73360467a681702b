import type { StatsRecord } from "../../domain/history-records.ts";
import type { Bucket } from "../series.ts";

/** Seats at a time (epoch ms); null where nobody looked. The peak is that of the means: peaks of features cannot be added up. */
export type Sample = Bucket;

export interface Day {
  /** By server. */
  readonly servers: ReadonlyMap<string, readonly Sample[]>;
  /** All servers: one that was not read at a time counts as it was read last. */
  readonly site: readonly Sample[];
  /** When it was read, epoch ms. */
  readonly until: number;
  /** Share of the readings that the site's samples are made of, 0–1. */
  readonly coverage: number;
}

/** The seats of features together, by server. Those without a limit are no part of a total. */
export function dayOf(
  features: readonly Pick<StatsRecord, "server" | "series" | "total">[],
  until: number,
): Day {
  const servers = new Map<string, Sample[]>();
  for (const { server, series = [], total } of features) {
    if (total === null) continue;
    const sums = servers.getOrInsertComputed(server, () =>
      series.map(({ timestamp }) => ({ at: Date.parse(timestamp), used: null, peak: null, total: null })),
    );
    series.forEach((point, place) => {
      const sum = sums[place];
      if (sum === undefined || point.used === null) return;
      sums[place] = sampleOf(sum.at, (sum.used ?? 0) + point.used, (sum.total ?? 0) + (point.total ?? 0));
    });
  }
  return { servers, until, ...together([...servers.values()]) };
}

const sampleOf = (at: number, used: number, total: number): Sample => ({
  at,
  used,
  peak: Math.round(used),
  total,
});

function together(servers: readonly (readonly Sample[])[]): Pick<Day, "site" | "coverage"> {
  const last: (Sample | null)[] = servers.map(() => null);
  let seen = 0;
  const times = servers[0] ?? [];
  const site = times.map(({ at }, place): Sample => {
    const now = servers
      .map((samples) => samples[place])
      .map((sample) => (sample?.used == null ? null : sample));
    seen += now.filter((sample) => sample !== null).length;
    now.forEach((sample, server) => {
      if (sample !== null) last[server] = sample;
    });
    if (now.every((sample) => sample === null)) return { at, used: null, peak: null, total: null };
    const sum = (what: "used" | "total") => last.reduce((all, sample) => all + (sample?.[what] ?? 0), 0);
    return sampleOf(at, sum("used"), sum("total"));
  });
  return { site, coverage: times.length === 0 ? 0 : seen / (times.length * servers.length) };
}

/** Where a line is drawn: `width` × `height` for `from`…`until` × 0…`top`. */
export interface Frame {
  readonly from: number;
  readonly until: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const round = (value: number) => Math.round(value * 10) / 10;

/** A step line and the area below it as paths, and where nobody looked as [left, width]. */
export function stepsOf(samples: readonly Sample[], { from, until, top, width, height }: Frame) {
  const x = (at: number) => round((Math.min(Math.max(at, from), until) - from) * (width / (until - from)));
  const y = (used: number) => round(height - Math.min(1, used / Math.max(1, top)) * height);
  let line = "";
  let area = "";
  let isOpen = false;
  const gaps: [left: number, width: number][] = [];
  samples.forEach(({ at, used }, place) => {
    const [left, right] = [x(at), x(samples[place + 1]?.at ?? until)];
    if (used === null) {
      const before = gaps.at(-1);
      if (before !== undefined && before[0] + before[1] === left) before[1] = round(right - before[0]);
      else gaps.push([left, round(right - left)]);
      if (isOpen) area += `V${height}Z`;
    } else {
      line += `${isOpen ? "" : `M${left} ${y(used)}`}V${y(used)}H${right}`;
      area += `${isOpen ? "" : `M${left} ${height}`}V${y(used)}H${right}`;
    }
    isOpen = used !== null;
  });
  if (isOpen) area += `V${height}Z`;
  return { line, area, gaps: gaps.filter(([, wide]) => wide > 0) };
}
