import type { DaemonReading, ToolError } from "../../domain/reading.ts";
import type { PartStatus } from "../../domain/words.ts";
import { trimBlanks } from "./scan.ts";
import { endsInErrorCode, parseToolError } from "./tool-error.ts";

/** `name: UP v11.16.2`, `name: DOWN`, `name: The desired vendor daemon is down. (-97,121)`. */
export interface DaemonLine {
  readonly name: string;
  readonly status: PartStatus;
  readonly version: string | null;
  readonly error: ToolError | null;
}

const STATE = /^(UP|DOWN)(?:\s+(v[\w.]+))?[ \t]*$/i;

/** A vendor daemon's line; null when the line is none. The caller knows whether one can stand here. */
export function parseDaemon(trimmed: string): DaemonLine | null {
  const split = splitOwner(trimmed);
  if (split === null) return null;
  const found = STATE.exec(split.rest);
  if (found !== null) {
    const up = found[1]?.toUpperCase() === "UP";
    return { name: split.owner, status: up ? "up" : "down", version: found[2] ?? null, error: null };
  }
  const error = parseOwnedError(trimmed);
  if (error === null) return null;
  return { name: error.owner, status: error.status, version: null, error: error.error };
}

/** `host: message (-15,570:115 "…")`: an error of one member or daemon. */
export function parseOwnedError(
  trimmed: string,
): { owner: string; status: PartStatus; error: ToolError } | null {
  const split = splitOwner(trimmed);
  if (split === null || !endsInErrorCode(split.rest)) return null;
  const error = parseToolError(split.rest);
  // Somebody who answers with an error is not shown to be down.
  return { owner: split.owner, status: error.kind === "unreachable" ? "down" : "unknown", error };
}

function splitOwner(trimmed: string): { owner: string; rest: string } | null {
  const colon = trimmed.indexOf(": ");
  if (colon < 1) return null;
  const owner = trimmed.slice(0, colon);
  return /[ \t]/.test(owner) ? null : { owner, rest: trimBlanks(trimmed.slice(colon + 1)) };
}

const RANK: Readonly<Record<PartStatus, number>> = { unknown: 0, down: 1, up: 2 };

/**
 * Lays a daemon's line over what earlier lines said of it: the best status wins. In the part of another license server
 * a daemon of the same name is another one.
 */
export function addDaemon(daemons: Map<string, DaemonReading>, line: DaemonLine, part: number): void {
  const key = `${part} ${line.name}`;
  const known = daemons.get(key);
  if (known !== undefined && RANK[known.status] >= RANK[line.status]) return;
  daemons.set(key, { ...line, totals: null });
}
