import type { ToolError } from "../../domain/reading.ts";

/** The tool found no one to talk to: RLM's own name for the manager itself is `rlm`, an ISV server has its own name. */
const CONNECT = /^\s*Error connecting to "([^"]*)" server\s*$/;
const ATTEMPT = /^\s*Connection attempted to host: "(.*)" on port (\d{1,9})\s*$/s;
const CODED = /^\s*\S.*\((?:-\d{1,6}|comm: -?\d{1,6}|errno: -?\d{1,6})\)\s*$/s;
const ADVICE = /^\s*This error usually means\b/;

/** RLM status -17: communications error with the license server. */
const COMM_ERROR = -17;

/** Lines of one error, gathered until something else begins. */
export interface ErrorBlock {
  /** `rlm`, or the name of the ISV server that did not answer; null when the tool names none. */
  readonly server: string | null;
  host: string | null;
  port: number | null;
  readonly lines: string[];
}

export function beginErrorBlock(line: string): ErrorBlock | null {
  if (!line.includes("Error connecting") && !line.trimEnd().endsWith(")")) return null;
  const connect = CONNECT.exec(line);
  if (connect !== null) return { server: connect[1] ?? "", host: null, port: null, lines: [line.trim()] };
  if (CODED.test(line)) return { server: null, host: null, port: null, lines: [line.trim()] };
  return null;
}

/**
 * Takes a further line into the block: the address that was tried, the reasons (known by their codes), or one
 * line of words where the tool has no code (`No error`). False when the line belongs to something else.
 */
export function extendErrorBlock(block: ErrorBlock, line: string): boolean {
  if (block.server === null) {
    if (!CODED.test(line)) return false;
    block.lines.push(line.trim());
    return true;
  }
  const attempt = ATTEMPT.exec(line);
  if (attempt !== null && block.lines.length === 1) {
    block.host = attempt[1] === "" ? null : (attempt[1] ?? null);
    block.port = Number(attempt[2]);
  } else if (!CODED.test(line) && (block.lines.length !== 2 || line.length > 200)) {
    return false;
  }
  block.lines.push(line.trim());
  return true;
}

/** From here to the next section the tool gives advice: known words without facts. */
export function beginsAdvice(line: string): boolean {
  return ADVICE.test(line);
}

/** A numbered point of the advice, ` (1) The hostname …`. */
export function isAdvice(line: string): boolean {
  return /^\s*\(\d{1,2}\)\s/.test(line);
}

/**
 * The block as an error in the tool's own words, lines joined by line ends. `major` is the RLM status `(-131)`,
 * `minor` the communication status `(comm: -18)`, `system` the errno.
 */
export function toToolError(block: Pick<ErrorBlock, "server" | "lines">): ToolError {
  const message = block.lines.join("\n");
  const major = numberIn(/\((-\d{1,6})\)/, message);
  const minor = numberIn(/\(comm: (-?\d{1,6})\)/, message);
  const unreachable = block.server !== null || minor !== null || major === COMM_ERROR;
  return {
    message,
    major,
    minor,
    system: numberIn(/\(errno: (-?\d{1,6})\)/, message),
    kind: unreachable ? "unreachable" : "query",
  };
}

function numberIn(pattern: RegExp, text: string): number | null {
  const found = pattern.exec(text);
  return found === null ? null : Number(found[1]);
}
