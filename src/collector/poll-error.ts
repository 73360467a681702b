import { basename } from "node:path";
import type { PollErrorCode } from "../domain/errors.ts";
import { escapeControls } from "../domain/plain-text.ts";
import type { PollError } from "../domain/poll.ts";
import { isUnreadable } from "../domain/polls/server-status.ts";
import type { Reading, ToolError } from "../domain/reading.ts";
import type { Manager } from "../managers/manager.ts";
import { decodeOutput } from "../managers/read-output.ts";
import type { RequestRun } from "./request.ts";
import { type CommandResult, DEFAULT_MAX_BYTES } from "./run-command.ts";
import { type StartFailure, WHY_NOT } from "./tool.ts";

export type StepResult = CommandResult | RequestRun;
type StepRun = Extract<StepResult, { readonly started: true }>;

interface PollEvidence {
  readonly result: StepResult;
  /** The parsed output; null if the tool did not run, or its output is not worth parsing. */
  readonly reading: Reading | null;
  /** Address of the queried server; null if no server was asked. */
  readonly address: string | null;
  readonly timeoutMs: number;
  readonly explain: Manager["explain"];
}

/** Reports whether the reading has a feature, or a member or daemon that is up. */
export function isUsable(reading: Reading): boolean {
  const { recognised, features, members, daemons } = reading;
  if (!recognised || isUnreadable(reading)) return false;
  return features.length > 0 || [...members, ...daemons].some(({ status }) => status === "up");
}

/**
 * Reports whether the end of the output may be missing, because the tool was killed or the connection
 * broke. lmstat prints no end mark, so a text that ends between two blocks looks complete. A bad exit code
 * proves nothing, because lmutil returns one with complete output.
 */
export function mayBeCut(run: StepRun): boolean {
  if ("kind" in run) return run.timedOut || run.aborted || run.broken;
  return run.timedOut || run.aborted || run.signal !== null || run.abandoned;
}

/**
 * Returns the error of a poll; null if its reading is usable. The reading decides, not the exit code,
 * because some tools fail with complete output, and others exit with 0 and print nothing.
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
  const broken = brokenOff(result, timeoutMs);
  if (broken !== null) return error(...broken);

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
    const fix = "Check that the license server is running and that no firewall blocks the connection.";
    return error("LICENSE_SERVER_UNREACHABLE", `No license server answers${at}. ${fix}`, words);
  }
  return error(...useless(result, said));
}

/** Returns the error of a run that did not end by itself, or whose answer cannot be used. */
function brokenOff(run: StepRun, timeoutMs: number): readonly [PollErrorCode, string] | null {
  const name = nameOf(run);
  const isRequest = "kind" in run;
  const wasKilled = isRequest ? "" : " and was killed";
  if (run.aborted)
    return ["LICENSE_QUERY_FAILED", `${isRequest ? `The request to ${name}` : name} was cancelled.`];
  if (run.timedOut) {
    // Steps share the timeout, so it may be a fraction of seconds.
    const within = `within ${Math.round(timeoutMs / 100) / 10} s${wasKilled}`;
    const fix = "Check that the server answers, or raise its `timeout`.";
    return ["TIMEOUT", `${name} did not ${isRequest ? "answer" : "finish"} ${within}. ${fix}`];
  }
  if (isRequest && run.failure !== null) return [run.failure.code, run.failure.message];
  if (!run.truncated) return null;
  const size = `${DEFAULT_MAX_BYTES / 2 ** 20} MiB`;
  const message = `${name} ${isRequest ? "answered with" : "printed"} more than ${size}${wasKilled}`;
  return ["LICENSE_QUERY_FAILED", `${message}; license lists are far shorter.`];
}

/** Returns the error of a run without useful content. */
function useless(run: StepRun, said: string | null): readonly [PollErrorCode, string] {
  const name = nameOf(run);
  const isRequest = "kind" in run;
  const failed = (how: string) => ["LICENSE_QUERY_FAILED", `${name} ${how}.`] as const;
  if (isRequest && run.broken) return failed("closed the connection before the answer was complete");
  if (!isRequest) {
    const { signal, exitCode } = run;
    if (signal !== null) return failed(`was killed by ${signal} before it printed usable output`);
    if (run.abandoned) return failed("hangs and cannot be killed");
    const library = /error while loading shared libraries: ([^:\s]+)/.exec(said ?? "")?.[1];
    if (exitCode !== 0 && library !== undefined)
      return failed(`exited with code ${exitCode} because its library ${library} is missing`);
    if (exitCode !== 0) return failed(`exited with code ${exitCode} and unrecognized output`);
  }
  const empty = isRequest ? "returned an empty answer." : "exited with code 0 and no output.";
  const fix = `Check the server's \`manager\` and \`${isRequest ? "address" : "tool"}\`.`;
  return ["LICENSE_PARSE_ERROR", `${name} ${said === null ? empty : `returned unrecognized output. ${fix}`}`];
}

/** Returns the file name of the tool, or the host of the request. */
function nameOf(run: StepRun): string {
  const [tool = "", url = ""] = run.argv;
  if (!("kind" in run)) return basename(tool);
  return URL.canParse(url) ? new URL(url).host : url;
}

function notStarted({ reason, message, fix, path }: StartFailure): PollError {
  const code = "LICENSE_QUERY_FAILED";
  const whole = `${message}${fix === null ? "" : ` Fix: ${fix}.`}`;
  if (reason === "other" && path === null) return { code, message: whole, details: null };
  const advice = "Run `licmond check` for the file and the fix.";
  return { code, message: `The tool could not be started: ${WHY_NOT[reason]}. ${advice}`, details: whole };
}

/** Returns the errors of the query; if there were none, those of its members and daemons. */
export function errorsOf({ errors, members, daemons }: Reading): readonly ToolError[] {
  return errors.length > 0 ? errors : [...members, ...daemons].flatMap(({ error }) => error ?? []);
}

export const MAX_DETAILS = 2000;

/**
 * Makes a tool's message safe for JSON, logs and terminals: escapes control characters and cuts the message
 * to 2,000 characters. Returns null if the message is blank.
 */
function quoteWords(text: string): string | null {
  // Cut before escaping, so that the time does not depend on the output's length.
  const head = text.slice(0, MAX_DETAILS * 2);
  const plain = head.replaceAll("\r\n", "\n").trim();
  if (plain === "") return null;
  const escaped = plain.split("\n").map(escapeControls).join("\n");
  if (escaped.length <= MAX_DETAILS) return escaped.toWellFormed();
  return `${escaped.slice(0, MAX_DETAILS - 1)}…`.toWellFormed();
}

/** Quotes a tool's output, stderr first. */
export function quoteOutput(stdout: Uint8Array, stderr: Uint8Array): string | null {
  const head = (bytes: Uint8Array) => decodeOutput(bytes.subarray(0, MAX_DETAILS * 4)).trim();
  return quoteWords([head(stderr), head(stdout)].filter((words) => words !== "").join("\n"));
}
