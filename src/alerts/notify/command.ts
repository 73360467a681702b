import { escapeControls } from "../../domain/plain-text.ts";
import { DeliveryError, type Send } from "./note.ts";
import { payload } from "./webhook.ts";

/** Runs a program without a shell; never rejects. */
export type RunCommand = (request: {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly onOverflow: "discard";
  readonly stdin: Uint8Array;
  readonly signal: AbortSignal;
}) => Promise<Failed | Ran>;

interface Failed {
  readonly started: false;
  readonly failure: { readonly message: string };
}

interface Ran {
  readonly started: true;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderr: Uint8Array;
  readonly timedOut: boolean;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024;
const MAX_WORDS = 300;

/**
 * Runs a command for each message, with the JSON of the template `json` on its stdin. Arguments never
 * contain data of the message.
 */
export function createCommand(argv: readonly string[], run: RunCommand): Send {
  return async (message, signal) => {
    const ran = await run({
      argv,
      env: {},
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_OUTPUT_BYTES,
      onOverflow: "discard",
      stdin: new TextEncoder().encode(`${JSON.stringify(payload(message))}\n`),
      signal,
    });
    if (!ran.started) throw new DeliveryError(ran.failure.message);
    if (ran.timedOut) throw new DeliveryError("The command timed out");
    if (ran.exitCode === 0) return null;
    const words = escapeControls(new TextDecoder().decode(ran.stderr).trim()).slice(-MAX_WORDS);
    const how =
      ran.exitCode === null ? `was ended by ${ran.signal}` : `failed with exit code ${ran.exitCode}`;
    throw new DeliveryError(`The command ${how}${words === "" ? "" : `: ${words}`}`);
  };
}
