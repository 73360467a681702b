import type { AlertRecord, AlertRule, Severity } from "../../domain/alerts.ts";
import { readSecretFile } from "../../system/secret-file.ts";

/** Why a target is told of an alert. */
export type NoteKind = "fired" | "raised" | "resolved" | "reminder";

/** One thing to tell to one target. */
export interface Note {
  /** Unique and increasing: a receiver that is told twice can see it by this. */
  readonly id: number;
  /** Id of the target. */
  readonly target: string;
  readonly kind: NoteKind;
  /** Epoch ms. */
  readonly at: number;
  /** The alert as it was then. */
  readonly alert: AlertRecord;
}

/** Several notes on their way to one target, as one message. */
export interface Message {
  /** Epoch ms at which it is sent. */
  readonly at: number;
  /** True for `licmond notify --test`: there is no alert. */
  readonly test: boolean;
  /** Older notes that were thrown away because too many waited. */
  readonly dropped: number;
  readonly notes: readonly Note[];
}

/** Who wants to be told of what. */
export interface NoteFilter {
  readonly id: string;
  readonly severity: Severity;
  /** Null = all. */
  readonly rules: readonly AlertRule[] | null;
}

/** A delivery that failed, in words that hold no secret. `retryAfterMs`: how long the receiver asks to be left alone. */
export class DeliveryError extends Error {
  readonly retryAfterMs: number | null;

  constructor(message: string, options: { readonly retryAfterMs?: number | null } = {}) {
    super(message);
    this.name = "DeliveryError";
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/**
 * Delivers messages to one target. Rejects with DeliveryError; resolves only when the receiver has taken it, with what
 * should be said about it all the same, or null.
 */
export interface Sender {
  send(message: Message, signal: AbortSignal): Promise<string | null>;
}

/** {@link readSecretFile} for a delivery: throws a DeliveryError. */
export async function readSecret(file: string): Promise<string> {
  const read = await readSecretFile(file);
  if ("problem" in read) throw new DeliveryError(`The secret_file ${read.problem}`);
  return read.text;
}
