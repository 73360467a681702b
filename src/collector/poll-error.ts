import { basename } from "node:path";
import type { PollErrorCode } from "../domain/errors.ts";
import { escapeControls } from "../domain/plain-text.ts";
import type { PollError } from "../domain/poll.ts";
import { isUnreadable } from "../domain/polls/server-status.ts";
import type { Reading, ToolError } from "../domain/reading.ts";
import type { Manager } from "../managers/manager.ts";
import { decodeOutput } from "../managers/read-output.ts";
import type { RequestRun } from "./request.ts";
import { type CommandResult, type CommandRun, DEFAULT_MAX_BYTES } from "./run-command.ts";
import { type StartFailure, WHY_NOT } from "./tool.ts";

/** What came of a step: of a command or of a request. */
export type StepResult = CommandResult | RequestRun;
type StepRun = Extract<StepResult, { readonly started: true }>;

interface PollEvidence {
  readonly result: StepResult;
  /** Null when the tool did not run, or its output is not worth parsing. */
  readonly reading: Reading | null;
  /** Null when no server was asked: the text came from elsewhere. */
  readonly address: string | null;
  /** The time that it had. */
  readonly timeoutMs: number;
  /** Of the server's manager. */
  readonly explain: Manager["explain"];
}

/** True when the reading holds something to believe in: a feature, or a member or daemon that is up. */
export function isUsable(reading: Reading): boolean {
  const { recognised, features, members, daemons } = reading;
  if (!recognised || isUnreadable(reading)) return false;
  return features.length > 0 || [...members, ...daemons].some(({ status }) => status === "up");
}

/**
 * Whether the output may lack its end: the tool was killed or died, the connection broke. `lmstat` has no end mark, so
 * a text that stops between two blocks looks whole. A bad exit code alone proves nothing: lmutil ends so with whole
 * outputs.
 */
export function mayBeCut(run: StepRun): boolean {
  if ("kind" in run) return run.timedOut || run.aborted || run.broken;
  return run.timedOut || run.aborted || run.signal !== null || run.abandoned;
}

/**
 * What a poll's failure is called; null when its reading is usable. The parse decides, the exit code is evidence:
 * some tools end with a bad code and whole output, others with 0 and nothing.
 */
export function pollErrorOf({
  result,
  reading,
  address,
  timeoutMs,
  explain,
}: PollEvidence): PollError | null {
  if (!result.started) return notStarted(result.failure);
  if (reading !== null && isUsable(reading)) return null;
  const said = quoteOutput(result.stdout, result.stderr);
  const error = (code: PollErrorCode, message: string, details = said) => ({ code, message, details });
  const killed = "kind" in result ? unanswered(result, timeoutMs) : killedError(result, timeoutMs);
  if (killed !== null) return error(...killed);

  const at = address === null ? "" : ` at ${address}`;
  const errors = reading?.recognised ? errorsOf(reading) : [];
  const words = errors.length === 0 ? said : quoteWords(errors.map(({ message }) => message).join("\n"));
  if (reading !== null && isUnreadable(reading)) {
    const daemons = reading.daemons.map(({ name, error }) => `${name}: ${error?.message}`).join("\n");
    return error("LICENSE_QUERY_FAILED", `No daemon could be read. ${quoteWords(daemons)}`, words);
  }
  if (reading?.problem !== undefined && errors.length === 0)
    return error("LICENSE_PARSE_ERROR", reading.problem);
  const explained = errors.map(explain).find((each) => each !== null);
  if (explained != null || errors.some(({ kind }) => kind === "query")) {
    const meaning = explained ?? "answered with an error.";
    return error("LICENSE_QUERY_FAILED", `The license server${at} ${meaning}`, words);
  }
  if (errors.length > 0 || reading?.members.some(({ status }) => status === "down")) {
    const fix = "Check that the license server runs and that no firewall stands between.";
    return error("LICENSE_SERVER_UNREACHABLE", `No license server answers${at}. ${fix}`, words);
  }
  return error(...("kind" in result ? strangeAnswer(result, said) : endedError(result, said)));
}

/** Of a request that got no answer worth reading. */
function unanswered(run: RequestRun, timeoutMs: number): readonly [PollErrorCode, string] | null {
  const host = hostOf(run);
  if (run.aborted)
    return ["LICENSE_QUERY_FAILED", `The request to ${host} was called off before it was answered.`];
  if (run.timedOut) {
    const fix = "Check that the server answers, or raise its `timeout`.";
    return ["TIMEOUT", `${host} did not answer within ${seconds(timeoutMs)} s. ${fix}`];
  }
  if (run.failure !== null) return [run.failure.code, run.failure.message];
  if (!run.truncated) return null;
  const size = `${DEFAULT_MAX_BYTES / 2 ** 20} MiB`;
  return [
    "LICENSE_QUERY_FAILED",
    `${host} answered with more than ${size}, and no license list is that long.`,
  ];
}

/** Of an answer that says nothing of use. */
function strangeAnswer(run: RequestRun, said: string | null): readonly [PollErrorCode, string] {
  const host = hostOf(run);
  if (run.broken)
    return ["LICENSE_QUERY_FAILED", `${host} ended the connection before its answer was whole.`];
  const fix = "Check the server's `manager` and `address`.";
  const strange = said === null ? "is empty." : `has no part that licmond knows. ${fix}`;
  return ["LICENSE_PARSE_ERROR", `The answer of ${host} ${strange}`];
}

function hostOf({ argv: [, url = ""] }: RequestRun): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** With a digit behind the point where a step had its share of the time alone. */
function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}

/** Of a tool that licmond ended. */
function killedError(run: CommandRun, timeoutMs: number): readonly [PollErrorCode, string] | null {
  const tool = toolOf(run);
  if (run.truncated) {
    const size = `${DEFAULT_MAX_BYTES / 2 ** 20} MiB`;
    const fix = "Run it by hand to see what it prints; no license list is that long.";
    const message = `${tool} printed more than ${size}, and licmond ended it for that. ${fix}`;
    return ["LICENSE_QUERY_FAILED", message];
  }
  if (run.timedOut) {
    const fix = "Check that the server answers, or raise its `timeout`.";
    return ["TIMEOUT", `${tool} did not finish within ${seconds(timeoutMs)} s and was killed. ${fix}`];
  }
  return run.aborted ? ["LICENSE_QUERY_FAILED", `${tool} was called off before it finished.`] : null;
}

/** Of a tool that ended by itself and whose output says nothing of use. */
function endedError(run: CommandRun, said: string | null): readonly [PollErrorCode, string] {
  const tool = toolOf(run);
  const { signal, exitCode } = run;
  if (signal !== null)
    return ["LICENSE_QUERY_FAILED", `${tool} died of ${signal} before it said anything of use.`];
  if (run.abandoned) return ["LICENSE_QUERY_FAILED", `${tool} hangs in the system and cannot be killed.`];
  if (exitCode !== 0) {
    const library = /error while loading shared libraries: ([^:\s]+)/.exec(said ?? "")?.[1];
    const why =
      library === undefined ? "and nothing that licmond knows" : `because its library ${library} is missing`;
    return ["LICENSE_QUERY_FAILED", `${tool} ended with exit code ${exitCode} ${why}.`];
  }
  const fix = "Check the server's `manager` and `tool`.";
  return [
    "LICENSE_PARSE_ERROR",
    said === null
      ? `${tool} ended well and said nothing.`
      : `The output of ${tool} has no part that licmond knows. ${fix}`,
  ];
}

function toolOf({ argv: [tool = ""] }: CommandRun): string {
  return basename(tool);
}

function notStarted({ reason, message, fix, path }: StartFailure): PollError {
  const code = "LICENSE_QUERY_FAILED";
  const whole = `${message}${fix === null ? "" : ` Fix: ${fix}.`}`;
  if (reason === "other" && path === null) return { code, message: whole, details: null };
  const advice = "`licmond check` says which file is meant, and the fix.";
  return { code, message: `The tool could not be started: ${WHY_NOT[reason]}. ${advice}`, details: whole };
}

/** Errors of the whole query; where there are none, those of the parts. */
export function errorsOf({ errors, members, daemons }: Reading): readonly ToolError[] {
  return errors.length > 0 ? errors : [...members, ...daemons].flatMap(({ error }) => error ?? []);
}

/** Longest `details` of a poll's error, in characters. */
export const MAX_DETAILS = 2000;

/**
 * A tool's own words, fit for a JSON answer, a log and a terminal: control characters escaped, cut at 2,000 characters.
 * Null when there is nothing but blanks.
 */
function quoteWords(text: string): string | null {
  // Cut first as well, so that the work does not grow with the output.
  const head = text.slice(0, MAX_DETAILS * 2);
  const plain = head.replaceAll("\r\n", "\n").trim();
  if (plain === "") return null;
  const escaped = plain.split("\n").map(escapeControls).join("\n");
  if (escaped.length <= MAX_DETAILS) return escaped.toWellFormed();
  return `${escaped.slice(0, MAX_DETAILS - 1)}…`.toWellFormed();
}

/** What a tool said on both streams, what it complained of first. */
export function quoteOutput(stdout: Uint8Array, stderr: Uint8Array): string | null {
  const head = (bytes: Uint8Array) => decodeOutput(bytes.subarray(0, MAX_DETAILS * 4)).trim();
  return quoteWords([head(stderr), head(stdout)].filter((words) => words !== "").join("\n"));
}
