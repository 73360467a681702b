import type { Alert, AlertRecord } from "../../domain/alerts.ts";
import type { Labels } from "../../domain/server.ts";
import type { Unit } from "../../domain/words.ts";
import type { NotificationRow } from "../../store/notifications.ts";
import { readSecretFile } from "../../system/secret-file.ts";

/** Why a target gets a note about an alert. */
export type NoteKind = "fired" | "raised" | "resolved" | "reminder";

/** Someone who holds seats, as a message names them. */
export interface NotedHolder {
  readonly user: string | null;
  readonly host: string | null;
  readonly seats: number;
  readonly since: string | null;
}

/** An alert as a message shows it: as it was then, with what people need to act on it. */
export interface NotedAlert extends AlertRecord {
  /** The server's name in the config; null when the alert is not about a server. */
  readonly serverName: string | null;
  /** Who holds the most seats of the feature; empty where it is about no feature, or where the target names no people. */
  readonly holders: readonly NotedHolder[];
  /** What they hold; absent = seats. */
  readonly unit?: Unit;
  /** Where the page shows it; null where `http.public_url` is not set. Notes of before have none. */
  readonly link?: string | null;
}

/**
 * One notification about one alert, for one target. The id is unique and increasing, so that a receiver recognises a
 * note that comes twice. `target` is the target's id, `at` is epoch ms.
 */
export interface Note extends Readonly<Omit<NotificationRow, "kind" | "alert">> {
  readonly kind: NoteKind;
  readonly alert: NotedAlert;
}

/** Several notes on their way to one target, as one message. */
export interface Message {
  /** Epoch ms at which it is sent. */
  readonly at: number;
  /** True for `licmond notify --test`: the notes are made up, no alert fires. */
  readonly test: boolean;
  /** Older notes that were thrown away because too many waited. */
  readonly dropped: number;
  readonly notes: readonly Note[];
}

/** A target, as far as it is decided what it gets. */
export interface NoteFilter {
  readonly id: string;
  /** No message names people. */
  readonly anonymize: boolean;
  /** Whether it is to hear of an alert. `labels` are those of the alert's server. */
  wants(alert: Pick<Alert, "severity" | "rule" | "server" | "feature">, labels: Labels): boolean;
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

/** {@link readSecretFile} for a delivery: throws a DeliveryError. `setting` is what names the file. */
export async function readSecret(file: string | null, setting = "secret_file"): Promise<string | null> {
  if (file === null) return null;
  const read = await readSecretFile(file);
  if ("problem" in read) throw new DeliveryError(`The ${setting} ${read.problem}`);
  return read.text;
}
