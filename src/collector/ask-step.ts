import type { Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { CommandStep, RequestStep, Step } from "../managers/manager.ts";
import { fillSecrets, needsSecret } from "../managers/placeholders.ts";
import { recode } from "../managers/read-output.ts";
import { readSecretFile } from "../system/secret-file.ts";
import type { StepAnswer } from "./ask.ts";
import { errorsOf, isUsable, mayBeCut, type StepResult } from "./poll-error.ts";
import { askOverHttp } from "./request.ts";
import type { CommandRunner } from "./run-command.ts";
import { createMask, type MaskText, readServerSecret } from "./secret.ts";

export interface StepDeps {
  readonly run: CommandRunner["run"];
  readonly server: MonitoredServer;
  readonly signal?: AbortSignal;
  /** Awaited after the answer arrived and before it is parsed. */
  readonly turn: () => Promise<void>;
  /** Parses the answer (`isAnswer`), or the output on the other stream. */
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
