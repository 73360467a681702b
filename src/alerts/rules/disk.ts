import type { Finding } from "./rule.ts";

/** Percent of the file system in use. The critical one is where health calls the disk degraded. */
const WARNING_PERCENT = 90;
const CRITICAL_PERCENT = 95;

/** 0 well, 1 warning, 2 critical. */
export function diskLevel(used: number): 0 | 1 | 2 {
  return used >= CRITICAL_PERCENT ? 2 : used >= WARNING_PERCENT ? 1 : 0;
}

export function diskFinding(used: number, level: number): Finding {
  const critical = level === 2;
  return {
    severity: critical ? "critical" : "warning",
    message: `${used} % of the file system that holds the database is in use`,
    value: used,
    threshold: critical ? CRITICAL_PERCENT : WARNING_PERCENT,
  };
}
