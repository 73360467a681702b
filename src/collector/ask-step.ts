import type { Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { CommandStep, RequestStep, Step } from "../managers/manager.ts";
import { fillSecrets, MASK, needsSecret } from "../managers/placeholders.ts";
import { recode } from "../managers/read-output.ts";
import { readSecretFile, type SecretRead } from "../system/secret-file.ts";
import type { StepAnswer } from "./ask.ts";
import { errorsOf, isUsable, mayBeCut, type StepResult } from "./poll-error.ts";
import { askOverHttp } from "./request.ts";
import type { CommandRunner } from "./run-command.ts";

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

/** A shorter secret would be masked in every word, and is easy to guess. */
const LEAST = 4;

/** Reads a server's secret. Called at each poll, so that changes take effect at once. */
export async function readServerSecret(file: string): Promise<SecretRead> {
  const read = await readSecretFile(file);
  if ("problem" in read) return read;
  // A line end would start another header, or another line of the tool's input.
  if (/\p{Cc}/u.test(read.text)) return { problem: "contains more than one line, or a control character" };
  return read.text.length < LEAST ? { problem: `has fewer than ${LEAST} characters` } : read;
}

/** `mayBeCut`: the text may end within a secret. */
type MaskText = (text: string, mayBeCut: boolean) => string;

/** Creates a function that masks secrets in all encodings in which a tool or server may repeat them. */
export function createMask(secrets: readonly string[]): MaskText {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "g");
  return (text, mayBeCut) => {
    const masked = text.replaceAll(pattern, MASK);
    if (!mayBeCut) return masked;
    const begun = Math.max(...forms.map((form) => lengthOfBeginning(masked, form)));
    return begun < LEAST - 1 ? masked : `${masked.slice(0, -begun)}${MASK}`;
  };
}

/** Returns the length of the longest start of `form` that ends the text. */
function lengthOfBeginning(text: string, form: string): number {
  for (let length = Math.min(form.length - 1, text.length); length > 0; length--)
    if (text.endsWith(form.slice(0, length))) return length;
  return 0;
}

function formsOf(secret: string): string[] {
  // In `user:password`, the password alone is also a secret.
  const password = secret.slice(secret.indexOf(":") + 1);
  const plain = password.length < LEAST ? [secret] : [secret, password];
  const encoded = plain.flatMap((text) => {
    const percent = [
      encodeURI(text),
      encodeURIComponent(text),
      new URLSearchParams({ "": text }).toString().slice(1),
    ];
    const strict = encodeURIComponent(text).replaceAll(/[!'()*]/g, hexOf);
    const lower = [...percent, strict].map((one) =>
      one.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    );
    return [text, ...percent, strict, ...lower, JSON.stringify(text).slice(1, -1), Bun.escapeHTML(text)];
  });
  return [...encoded, ...plain.flatMap(base64Of)].filter(({ length }) => length >= LEAST);
}

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/**
 * Returns the forms of a secret inside the base64 of a longer text, e.g. `user:SECRET`: one for each offset
 * within a group of three bytes.
 */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    const end = (before + bytes.length) % 3 === 0 ? whole.length : whole.length - 1;
    const core = whole.slice(before === 0 ? 0 : before + 1, end);
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
