import { replayDisk } from "../alerts/replay-disk.ts";
import type { Firing } from "../alerts/replay-looks.ts";
import { replayUnparsed } from "../alerts/replay-unparsed.ts";
import type { SettingsOf } from "../alerts/settings.ts";
import type { AlertRule } from "../domain/alerts.ts";
import { iso } from "../domain/clock.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { diskRuns } from "../store/history/disk-fill.ts";
import type { Reader } from "../store/history/reader.ts";
import { unparsedSteps } from "../store/history/unparsed.ts";

/** What a rule would have done, as far as what it goes by was kept. */
export interface Kept {
  readonly rule: AlertRule;
  readonly firings: readonly Firing[];
  /** From when on it can be told, epoch ms; null = nothing of it is kept yet. */
  readonly since: number | null;
}

export interface KeptReplay {
  readonly settingsOf: SettingsOf;
  readonly inMaintenance: (server: string, at: number) => boolean;
  readonly start: number;
  readonly end: number;
}

/**
 * The rules whose history is younger than the rest. What they compare with comes from all that is kept, so they are
 * replayed from its begin and then cut to the range.
 */
export function replayKept(
  read: Pick<Reader, "all" | "coverage">,
  servers: readonly MonitoredServer[],
  replay: KeptReplay,
): readonly [unparsed: Kept, disk: Kept] {
  return [unparsed(read, servers, replay), disk(read, replay)];
}

function unparsed(
  read: Pick<Reader, "all" | "coverage">,
  servers: readonly MonitoredServer[],
  { settingsOf, inMaintenance, start, end }: KeptReplay,
): Kept {
  const begins: number[] = [];
  const firings = servers.flatMap(({ id, intervalMs }) => {
    const steps = unparsedSteps(read, id, end);
    const [first] = steps;
    if (first === undefined) return [];
    // Of a server that nobody read before, nothing is missing.
    begins.push(wasReadBefore(read, id, first.at) ? first.at : Number.NEGATIVE_INFINITY);
    return replayUnparsed(id, steps, end, {
      ...{ intervalMs, settings: settingsOf(id, null, null) },
      inMaintenance: (at) => inMaintenance(id, at),
    });
  });
  const since = begins.length === 0 ? null : Math.max(...begins);
  return { rule: "unparsed", firings: within(firings, start), since };
}

function wasReadBefore(read: Pick<Reader, "all">, serverId: string, at: number): boolean {
  const sql = "SELECT 1 FROM coverage WHERE server_id = ? AND from_at < ? LIMIT 1";
  return read.all(sql, serverId, at).length > 0;
}

function disk(read: Pick<Reader, "all">, { settingsOf, start, end }: KeptReplay): Kept {
  const runs = diskRuns(read, end);
  const firings = replayDisk(runs, settingsOf(null, null, null));
  return { rule: "disk", firings: within(firings, start), since: runs[0]?.from ?? null };
}

/** What fired after `start`, or still did. */
function within(firings: readonly Firing[], start: number): Firing[] {
  return firings.flatMap((firing) =>
    firing.until !== null && firing.until <= start ? [] : [{ ...firing, from: Math.max(firing.from, start) }],
  );
}

/** Says from when on the rules can be told, where that is later than the range; empty when all of it can. */
export function sayKept(kept: readonly Kept[], start: number): string {
  const missing = kept.filter(({ since }) => since === null).map(({ rule }) => rule);
  const late = kept.flatMap(({ rule, since }) =>
    since === null || since <= start ? [] : [`${rule}: from ${iso(since)} on`],
  );
  const lines = [
    ...(missing.length === 0
      ? []
      : [
          `Not told: ${missing.join(", ")}. Nothing of it is kept yet: it is from the daemon's next looks on.`,
        ]),
    ...(late.length === 0
      ? []
      : [`Told in part: ${late.join(", ")}. Before that history kept nothing to go by.`]),
  ];
  return lines.length === 0 ? "" : `\n${lines.join("\n")}\n`;
}
