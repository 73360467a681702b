import type { Notification } from "../../config/config.ts";
import type { AlertRecord } from "../../domain/alerts.ts";
import type { NotificationRow } from "../../store/notifications.ts";
import { readSecretFile } from "../../system/secret-file.ts";

/** Why a target gets a note about an alert. */
export type NoteKind = "fired" | "raised" | "resolved" | "reminder";

/**
 * One notification about one alert, for one target. The id is unique and increasing, so that a receiver recognises a
 * note that comes twice. `target` is the target's id, `at` is epoch ms.
 */
export interface Note extends Readonly<Omit<NotificationRow, "kind" | "alert">> {
  readonly kind: NoteKind;
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

/** Which alerts a target wants to hear of. */
export interface NoteFilter extends Pick<Notification, "severity" | "rules"> {
  readonly id: string;
}

/**
 * Delivers a message to one target. Rejects with DeliveryError. Resolves once the receiver has accepted the message,
 * with a warning about the delivery, or null.
 */
export type Send = (message: Message, signal: AbortSignal) => Promise<string | null>;

/** A delivery that failed, in words that hold no secret. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";

  constructor(
    message: string,
    /** How long the receiver asks to be left alone. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** {@link readSecretFile} for a delivery: throws a DeliveryError. */
export async function readSecret(file: string | null): Promise<string | null> {
  if (file === null) return null;
  const read = await readSecretFile(file);
  if ("problem" in read) throw new DeliveryError(`The secret_file ${read.problem}`);
  return read.text;
}
