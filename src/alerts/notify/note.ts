import type { Alert, AlertRecord } from "../../domain/alerts.ts";
import type { Labels } from "../../domain/server.ts";
import type { Unit } from "../../domain/words.ts";
import type { NotificationRow } from "../../store/notifications.ts";
import { readSecretFile } from "../../system/secret-file.ts";

export type NoteKind = "fired" | "raised" | "resolved" | "reminder";

export interface NotedHolder {
  readonly user: string | null;
  readonly host: string | null;
  readonly seats: number;
  readonly since: string | null;
}

/** An alert at the time of a note, with context that people need to act on it. */
export interface NotedAlert extends AlertRecord {
  /** The server's name in the config; null if the alert is not about a server. */
  readonly serverName: string | null;
  /**
   * Holders of most seats of the feature; empty if the alert is about no feature, or if the target names no
   * people.
   */
  readonly holders: readonly NotedHolder[];
  readonly unit?: Unit;
  /** Link to the page; null without `http.public_url`, absent in older notes. */
  readonly link?: string | null;
}

/**
 * A note about one alert for one target. The id is unique and increasing, so that a receiver can recognize
 * duplicates. `target` is the target's id, `at` is epoch ms.
 */
export interface Note extends Readonly<Omit<NotificationRow, "kind" | "alert">> {
  readonly kind: NoteKind;
  readonly alert: NotedAlert;
}

export interface Message {
  readonly at: number;
  /** True for `licmond notify --test`: the notes are samples, and no alert fires. */
  readonly test: boolean;
  /** Number of older notes that were dropped because too many were queued. */
  readonly dropped: number;
  readonly notes: readonly Note[];
}

export interface NoteFilter {
  readonly id: string;
  readonly anonymize: boolean;
  /** Reports whether the target wants an alert. `labels` are those of the alert's server. */
  wants(alert: Pick<Alert, "severity" | "rule" | "server" | "feature">, labels: Labels): boolean;
}

/**
 * Delivers a message to one target. Rejects with DeliveryError. Resolves once the receiver has accepted the
 * message, with a warning about the delivery, or null.
 */
export type Send = (message: Message, signal: AbortSignal) => Promise<string | null>;

export class DeliveryError extends Error {
  override readonly name = "DeliveryError";

  constructor(
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/**
 * Same as {@link readSecretFile} for a delivery: throws a DeliveryError. `setting` is the config word of the
 * file.
 */
export async function readSecret(file: string | null, setting = "secret_file"): Promise<string | null> {
  if (file === null) return null;
  const read = await readSecretFile(file);
  if ("problem" in read) throw new DeliveryError(`The ${setting} ${read.problem}`);
  return read.text;
}
