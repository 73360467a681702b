import type { ToolError } from "../../domain/reading.ts";

const SUFFIX = /^\((-?\d{1,6}),(-?\d{1,9})(?::(-?\d{1,9})(?:\s+".*")?)?\)\.?[ \t]*$/s;
/** Majors with which nobody answered: cannot connect, server machine down, vendor daemon down. */
const UNREACHABLE = new Set([-15, -96, -97]);
const UNREACHABLE_WORDS = /cannot connect|down or not responding|lmgrd is not running|daemon is down/i;

/**
 * A message with FlexNet's `(major,minor[:system "text"])` at its end taken apart
 * (codes: lm_errno in the FlexNet Publisher administration guide).
 */
export function parseToolError(message: string): ToolError {
  const found = errorSuffix(message);
  const major = number(found?.[1]);
  const unreachable = (major !== null && UNREACHABLE.has(major)) || UNREACHABLE_WORDS.test(message);
  return {
    message,
    major,
    minor: number(found?.[2]),
    system: number(found?.[3]),
    kind: unreachable ? "unreachable" : "query",
  };
}

/** True when the text ends in an error code as FlexNet prints it. */
export function endsInErrorCode(text: string): boolean {
  return errorSuffix(text) !== null;
}

function errorSuffix(text: string): RegExpExecArray | null {
  let open = text.lastIndexOf("(-");
  // The system's text may hold brackets of its own, though not many.
  for (let tries = 0; open !== -1 && tries < 4; tries++) {
    const found = SUFFIX.exec(text.slice(open));
    if (found !== null) return found;
    open = open === 0 ? -1 : text.lastIndexOf("(-", open - 1);
  }
  return null;
}

function number(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}
