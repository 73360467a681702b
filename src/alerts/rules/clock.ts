import { clockMessage } from "../../domain/clock.ts";
import type { Finding } from "./rule.ts";

const DAY_MS = 86_400_000;

/** A clock that is far ahead of the time that is stored; negative = behind. */
export function clockFinding(offsetMs: number): Finding {
  return {
    severity: "warning",
    message: clockMessage(offsetMs),
    value: Math.trunc(offsetMs / DAY_MS),
    threshold: 1,
  };
}
