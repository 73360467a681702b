import type { PollRaw } from "../domain/poll.ts";
import { emptyReading, type Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { CommandStep, Manager, RequestStep, Step } from "../managers/manager.ts";
import { decodeOutput, recode } from "../managers/read-output.ts";
import { createMask, fillSecrets, LEAST_SECRET, type MaskText, needsSecret } from "../managers/secrets.ts";
import { readSecretFile, type SecretRead } from "../system/secret-file.ts";
import { errorsOf, isUsable, mayBeCut, type StepResult } from "./poll-error.ts";
import { askOverHttp } from "./request.ts";
import type { CommandRunner } from "./run-command.ts";

export interface StepAnswer {
  readonly step: Step;
  readonly result: StepResult;
  /** Null if no answer is worth parsing. */
  readonly reading: Reading | null;
  readonly limitMs: number;
}

/** The answers of a query and the reading merged from them. */
export interface Asked {
  readonly answers: readonly StepAnswer[];
  /** The first usable answer, or if no answer is usable, the most informative failure. */
  readonly deciding: StepAnswer;
  readonly reading: Reading | null;
}

/**
 * Runs the steps of a query one by one, in at most `limitMs` in total. Each step gets its share of the
 * remaining time, so that a hanging step does not prevent the other steps.
 */
export async function askInTurn(
  { name, until = "all", merge }: Pick<Manager, "name" | "until" | "merge">,
  steps: readonly Step[],
  limitMs: number,
  ask: (step: Step, limitMs: number) => Promise<StepAnswer>,
): Promise<Asked> {
  const begun = performance.now();
  const answers: StepAnswer[] = [];
  for (const [index, step] of steps.entries()) {
    const left = index === 0 ? limitMs : limitMs - (performance.now() - begun);
    if (index > 0 && left < 1) break;
    const answer = await ask(step, left / (steps.length - index));
    answers.push(answer);
    const isGood = answer.reading !== null && isUsable(answer.reading);
    if (until === "first answer" && answer.reading !== null && isGood) {
      // Also list the members that did not answer.
      const members = answers.flatMap(({ reading }) => reading?.members ?? []);
      return { answers, deciding: answer, reading: { ...answer.reading, members } };
    }
    if (isCancelled(answer) || (until === "all" && answer.reading === null)) break;
  }
  const [first] = answers;
  if (first === undefined) throw new Error(`${name} has nothing to ask`);
  if (until === "first answer") {
    // Prefer a member that reports an error to a member that does not answer, because the error says more.
    const deciding = answers.find(({ reading }) => reading?.errors.some(({ kind }) => kind === "query"));
    const said = deciding ?? answers.find(({ reading }) => reading !== null) ?? first;
    return { answers, deciding: said, reading: said.reading };
  }
  const failed = answers.find(isSilent) ?? first;
  if (steps.length === 1) return { answers, deciding: first, reading: first.reading };
  if (merge === undefined) throw new Error(`${name} has several steps and does not merge their readings`);
  if (answers.every(({ reading }) => reading === null)) return { answers, deciding: failed, reading: null };
  const readings = steps.map((_, index) => answers[index]?.reading ?? { ...emptyReading(name), cut: true });
  const merged = merge(readings);
  const isWhole = !answers.some(isSilent) && readings.every(({ cut }) => !cut);
  const reading = isWhole ? merged : { ...merged, cut: true };
  return { answers, deciding: failed, reading };
}

export function isSilent({ reading }: StepAnswer): boolean {
  return reading === null || !reading.recognised;
}

function isCancelled({ result }: StepAnswer): boolean {
  return result.started ? result.aborted : result.failure.reason === "aborted";
}

const NOTHING = new Uint8Array(0);
export const NO_RUN: PollRaw = {
  argv: [],
  exitCode: null,
  signal: null,
  stdout: NOTHING,
  stderr: NOTHING,
  truncated: false,
};

/**
 * Returns the raw output of a query; if it has several steps, each output follows a line that names its
 * step.
 */
export function rawOf({ answers, deciding }: Asked): PollRaw {
  const counting = rawOfStep(deciding);
  if (answers.length === 1) return counting;
  const encoder = new TextEncoder();
  const all = answers.map((answer) => ({ name: answer.step.name, raw: rawOfStep(answer) }));
  const joined = (stream: "stdout" | "stderr") =>
    Buffer.concat(
      all.flatMap(({ name, raw }) => {
        const head = encoder.encode(`==> ${name}: ${raw.argv.join(" ")} (${endOf(raw)})\n`);
        // Invalid UTF-8 would make the other outputs unreadable.
        return stream === "stdout" || raw.stderr.length > 0 ? [head, utf8(raw[stream]), LINE_END] : [];
      }),
    );
  const truncated = all.some(({ raw }) => raw.truncated);
  return { ...counting, stdout: joined("stdout"), stderr: joined("stderr"), truncated };
}

const utf8 = (bytes: Uint8Array) => new TextEncoder().encode(decodeOutput(bytes));
const LINE_END = new Uint8Array([0x0a]);

function rawOfStep({ result }: StepAnswer): PollRaw {
  return result.started ? result : { ...NO_RUN, argv: result.argv };
}

function endOf({ exitCode, signal }: PollRaw): string {
  return signal ?? (exitCode === null ? "no answer" : String(exitCode));
}

export interface StepDeps {
  readonly run: CommandRunner["run"];
  readonly server: MonitoredServer;
  readonly signal?: AbortSignal;
  /** Awaited between the arrival of the answer and its parsing. */
  readonly turn: () => Promise<void>;
  /** Parses the answer if `isAnswer` is true, otherwise the output on the other stream. */
  readonly read: (step: Step, bytes: Uint8Array, truncated: boolean, isAnswer: boolean) => Promise<Reading>;
}

/** Runs one step within its time limit and parses the answer. The result contains no secrets. */
export async function askStep(step: Step, limitMs: number, deps: StepDeps): Promise<StepAnswer> {
  const { server, turn } = deps;
  const secret = needsSecret(step) ? await secretOf(server) : { text: null };
  if ("problem" in secret) return { step, limitMs, reading: null, result: notAsked(step, secret.problem) };
  const ca = "argv" in step || server.caFile === null ? { text: null } : await readSecretFile(server.caFile);
  if ("problem" in ca) {
    const result = notAsked(step, `The server's \`ca_file\` ${ca.problem}.`);
    return { step, limitMs, reading: null, result };
  }
  const asked =
    "argv" in step
      ? await runStep(step, secret.text, limitMs, deps)
      : await request(step, secret.text, ca.text, limitMs, deps);
  await turn();
  const result = cleaned(asked, secret.text, server.encoding);
  const isReadable = result.started && !result.truncated && !("failure" in result && result.failure !== null);
  const reading = isReadable ? await read(step, result, deps.read) : null;
  return { step, limitMs, reading, result };
}

async function secretOf({ secretFile }: MonitoredServer) {
  if (secretFile === null) return { problem: "The query needs a secret: set the server's `secret_file`." };
  const read = await readServerSecret(secretFile);
  return "problem" in read ? { problem: `The server's \`secret_file\` ${read.problem}.` } : read;
}

/** Makes the result of a step that was not run. */
export function notAsked(step: Step | null, message: string, fix: string | null = null): StepResult {
  const argv = step !== null && "argv" in step ? step.argv : [];
  return { started: false, argv, failure: { reason: "other", path: null, message, fix } };
}

function runStep(step: CommandStep, secret: string | null, limitMs: number, deps: StepDeps) {
  const { argv, env, stdin, stream } = step;
  const { server, signal } = deps;
  return deps.run({
    argv,
    // The tool then prints its time in the zone that the parser expects.
    env: { TZ: server.timezone, ...env },
    timeoutMs: limitMs,
    endEscaped: true,
    ...(stdin !== undefined && { stdin: new TextEncoder().encode(fillSecrets(stdin, valuesOf(secret))) }),
    ...(stream !== undefined && { answersOn: stream }),
    ...(signal !== undefined && { signal }),
  });
}

function valuesOf(secret: string | null) {
  return secret === null ? {} : { secret };
}

function request(
  step: RequestStep,
  secret: string | null,
  ca: string | null,
  limitMs: number,
  deps: StepDeps,
) {
  const { signal } = deps;
  return askOverHttp(step, { secret, ca, limitMs, ...(signal !== undefined && { signal }) });
}

/** Converts the output to UTF-8 if the config sets an encoding, and masks secrets. */
function cleaned(result: StepResult, secret: string | null, encoding: string | null): StepResult {
  if (!result.started) return result;
  const token = "kind" in result ? result.token : null;
  const secrets = [secret, token].flatMap((each) => each ?? []);
  if (secrets.length === 0 && encoding === null) return result;
  const mask: MaskText = secrets.length === 0 ? (text) => text : createMask(secrets);
  const isCut = result.truncated || mayBeCut(result);
  const clean = (bytes: Uint8Array) => recode(bytes, encoding, (text) => mask(text, isCut));
  return {
    ...result,
    stdout: clean(result.stdout),
    stderr: clean(result.stderr),
    ...("kind" in result && { token: null }),
  };
}

async function read(
  step: Step,
  result: Extract<StepResult, { readonly started: true }>,
  readText: StepDeps["read"],
): Promise<Reading> {
  const cut = mayBeCut(result);
  const isOnStderr = "argv" in step && step.stream === "stderr";
  const [answer, beside] = isOnStderr ? [result.stderr, result.stdout] : [result.stdout, result.stderr];
  const reading = await readText(step, answer, cut, true);
  const whole = cut && !reading.cut ? { ...reading, cut } : reading;
  if (isUsable(whole) || errorsOf(whole).length > 0 || beside.length === 0) return whole;
  // Some builds and wrapper scripts print their errors on the other stream.
  const { errors } = await readText(step, beside, cut, false);
  return errors.length === 0 ? whole : { ...whole, recognised: true, errors };
}

/** Reads a server's secret. Called at each poll, so that changes take effect at once. */
export async function readServerSecret(file: string): Promise<SecretRead> {
  const read = await readSecretFile(file);
  if ("problem" in read) return read;
  // A line end would start another header, or another line of the tool's input.
  if (/\p{Cc}/u.test(read.text)) return { problem: "contains more than one line, or a control character" };
  return read.text.length < LEAST_SECRET ? { problem: `has fewer than ${LEAST_SECRET} characters` } : read;
}
