import type { DenialRecord } from "../../domain/denials.ts";

type Denied = Pick<DenialRecord, "timestamp" | "server" | "daemon" | "feature" | "count" | "outcome">;

/** Denials of a feature, or of a daemon whose manager only counts them. */
export interface DeniedOf extends Pick<DenialRecord, "server" | "daemon" | "feature"> {
  readonly count: number;
  /** When, epoch ms. */
  readonly times: readonly number[];
}

/** As statistics count them: requests that were denied, each by its first attempt. The most first. */
export function deniedOf(rows: readonly Denied[], from: number): DeniedOf[] {
  const today = rows.filter((row) => row.outcome === "denied" && Date.parse(row.timestamp) >= from);
  const keyOf = ({ server, daemon, feature }: Denied) => JSON.stringify([server, daemon, feature]);
  return [...Map.groupBy(today, keyOf).values()]
    .map((of) => {
      const [{ server, daemon, feature }] = of as [Denied, ...Denied[]];
      const count = of.reduce((sum, row) => sum + (row.feature === null ? row.count : 1), 0);
      return { server, daemon, feature, count, times: of.map(({ timestamp }) => Date.parse(timestamp)) };
    })
    .sort((a, b) => b.count - a.count);
}
