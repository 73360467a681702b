import { subjectOf } from "./judge.ts";
import type { ReplayOptions } from "./replay.ts";
import { createLooks, type Firing } from "./replay-looks.ts";
import { THE_SERVER } from "./rules/rule.ts";
import { compareUnparsed, unparsedFinding, unparsedUsualAt } from "./rules/unparsed.ts";

/** Unknown lines of a server's readings; null while nobody read it. */
export interface LinesStep {
  readonly at: number;
  readonly lines: number | null;
}

/**
 * What a growing number of unknown lines would have done. What is usual comes from all that was read before: `steps`
 * are ascending, and begin where the lines began to be kept.
 */
export function replayUnparsed(
  server: string,
  steps: readonly LinesStep[],
  end: number,
  { intervalMs, settings, inMaintenance }: Omit<ReplayOptions, "timeoutMs">,
): Firing[] {
  if (!settings.enabled) return [];
  const { failures, recoveries } = settings;
  const looks = createLooks({
    subject: subjectOf("unparsed", server, THE_SERVER),
    needs: { failures, recoveries, forMs: 0 },
    severityOf: () => unparsedFinding(server, 0, 0).severity,
    inMaintenance,
  });
  let usual: number | null = null;
  steps.forEach(({ at: from, lines }, index) => {
    if (lines === null) return;
    const until = steps[index + 1]?.at ?? end;
    let isSettled = false;
    for (let at = from; at < until && !isSettled; at += intervalMs) {
      const seen = compareUnparsed(lines, usual);
      usual = seen.usual;
      isSettled = looks.look(seen.level, at, false);
      const since = looks.firingSince();
      const nextLook = isSettled ? until : Math.min(at + intervalMs, until);
      const over = since === null ? Number.POSITIVE_INFINITY : Math.max(unparsedUsualAt(since), at);
      if (over >= nextLook) continue;
      usual = lines;
      looks.end(over);
    }
  });
  return looks.firings();
}
