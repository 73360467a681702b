import { TICK_MS } from "./engine.ts";
import { subjectOf } from "./judge.ts";
import { createLooks, type Firing } from "./replay-looks.ts";
import { diskFinding, diskLevel } from "./rules/disk.ts";
import { THE_SERVER } from "./rules/rule.ts";
import type { SubjectSettings } from "./settings.ts";

/** Looks at the storage's file system that saw the same. Epoch ms. */
export interface FillRun {
  readonly from: number;
  /** The last look. */
  readonly seen: number;
  /** Percent in use. */
  readonly percent: number;
}

/** What a disk that fills up would have done. `runs` are ascending. */
export function replayDisk(runs: readonly FillRun[], settings: SubjectSettings): Firing[] {
  if (!settings.enabled) return [];
  const { failures, recoveries } = settings;
  const looks = createLooks({
    subject: subjectOf("disk", null, THE_SERVER),
    needs: { failures, recoveries, forMs: 0 },
    severityOf: (level) => diskFinding(0, level).severity,
    inMaintenance: () => false,
  });
  for (const { from, seen, percent } of runs) {
    for (let at = from; at <= seen; at += TICK_MS) if (looks.look(diskLevel(percent), at, false)) break;
  }
  return looks.firings();
}
