import type { ToolError } from "../../domain/reading.ts";
import { trimBlanks } from "./scan.ts";
import { endsInErrorCode, parseToolError } from "./tool-error.ts";

/** The first line of a feature's block. */
export interface FeatureHeader {
  readonly name: string;
  readonly total: number | null;
  readonly used: number | null;
  readonly unlimited: boolean;
  readonly error: ToolError | null;
}

const PREFIX = "Users of ";
const CANNOT = ": Cannot get users of ";
const COUNTS =
  /^\(Total of (\d{1,15}) licen[sc]es? issued;\s+Total of (\d{1,15}) licen[sc]es? in use\)[ \t]*$/i;
const ODD = /^Users of (.+?):(?:[ \t](.*))?$/s;
const ISSUED = /\bTotal of (\d{1,15}) licen[sc]es? issued\b/i;
const IN_USE = /\bTotal of (\d{1,15}) licen[sc]es? in use\b/i;
const UNCOUNTED = /^\(Uncounted\b.*\)[ \t]*$/is;
const ERROR = /^\((Error: .*)\)[ \t]*$/is;

/** True for a line that opens a block, even a broken one. */
export function startsHeader(trimmed: string): boolean {
  return trimmed.startsWith(PREFIX);
}

/**
 * `Users of NAME:  (Total of N license[s] issued;  Total of M license[s] in use)`, `(Uncounted, node-locked)`,
 * `(Error: N licenses, unsupported by licensed server)` or `Users of NAME: Cannot get users of NAME: … (-5,222)`.
 * The name ends at the last colon before what the tool says of it: names may hold colons and brackets.
 */
export function parseHeader(trimmed: string): FeatureHeader | null {
  if (!startsHeader(trimmed)) return null;
  const counts = bracket(trimmed, "(Total of ", COUNTS, PREFIX.length);
  if (counts !== null) {
    const [name, found] = counts;
    return { name, total: Number(found[1]), used: Number(found[2]), unlimited: false, error: null };
  }
  const cannot = trimmed.indexOf(CANNOT, PREFIX.length);
  if (cannot > PREFIX.length) {
    return failed(trimmed.slice(PREFIX.length, cannot), trimmed.slice(cannot + 2));
  }
  const uncounted = bracket(trimmed, "(Uncounted", UNCOUNTED, PREFIX.length);
  if (uncounted !== null) {
    return { name: uncounted[0], total: null, used: null, unlimited: true, error: null };
  }
  const error = bracket(trimmed, "(Error: ", ERROR, PREFIX.length);
  if (error !== null) return failed(error[0], error[1][1] ?? "");
  if (!endsInErrorCode(trimmed)) return null;
  const colon = trimmed.indexOf(": ", PREFIX.length);
  return colon > PREFIX.length
    ? failed(trimmed.slice(PREFIX.length, colon), trimBlanks(trimmed.slice(colon + 1)))
    : null;
}

/** A header whose words are not all known: what they tell, else counts of null. Null when it has no name. */
export function parseOddHeader(trimmed: string): FeatureHeader | null {
  const [, name, rest = ""] = ODD.exec(trimmed) ?? [];
  if (name === undefined) return null;
  const count = (pattern: RegExp) => {
    const found = pattern.exec(rest);
    return found === null ? null : Number(found[1]);
  };
  return {
    name,
    total: count(ISSUED),
    used: trimBlanks(rest) === "None" ? 0 : count(IN_USE),
    unlimited: false,
    error: null,
  };
}

/** `NAME:  (…)` with the bracket that begins at the last `mark` and fits the pattern. */
function bracket(
  text: string,
  mark: string,
  pattern: RegExp,
  from: number,
): [string, RegExpExecArray] | null {
  const open = text.lastIndexOf(mark);
  if (open <= from) return null;
  const found = pattern.exec(text.slice(open));
  if (found === null) return null;
  const before = text.slice(from, open);
  const colon = before.lastIndexOf(":");
  return colon > 0 && trimBlanks(before.slice(colon + 1)) === "" ? [before.slice(0, colon), found] : null;
}

function failed(name: string, message: string): FeatureHeader {
  return { name, total: null, used: null, unlimited: false, error: parseToolError(message) };
}
