import { expect } from "bun:test";
import { DeliveryError, type Message, type Note } from "../../../src/alerts/notify/note.ts";
import type { AlertRecord } from "../../../src/domain/alerts.ts";

export const AT = Date.parse("2026-03-02T12:00:00.000Z");

export const record = (change: Partial<AlertRecord> = {}): AlertRecord => ({
  id: 7,
  rule: "seats",
  severity: "warning",
  state: "firing",
  server: "eda",
  daemon: "snpslmd",
  feature: "compiler",
  message: "90 % of the seats of compiler are in use (9 of 10)",
  value: 90,
  threshold: 80,
  peakValue: 90,
  startedAt: "2026-03-02T12:00:00.000Z",
  firedAt: "2026-03-02T12:00:00.000Z",
  resolvedAt: null,
  durationSeconds: 0,
  acknowledged: false,
  acknowledgedAt: null,
  acknowledgedBy: null,
  comment: null,
  silencedUntil: null,
  ...change,
});

export const note = (id: number, change: Partial<Note> = {}): Note => {
  return { id, target: "pager", kind: "fired", at: AT, alert: record(), ...change };
};

/** A note about an alert that differs in this. */
export const about = (id: number, change: Partial<AlertRecord>, kind: Note["kind"] = "fired"): Note =>
  note(id, { kind, alert: record(change) });

export const message = (notes: readonly Note[], change: Partial<Message> = {}): Message => {
  return { at: AT, test: false, dropped: 0, notes, ...change };
};

/** A message with one note. */
export const ONE = message([note(1)]);

export const never = new AbortController().signal;

/** How a delivery fails, without a secret in it; fails itself when it does not. */
export async function failure(sending: Promise<unknown>): Promise<DeliveryError> {
  const error = await sending.then(() => new Error("It was delivered")).catch((reason) => reason);
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error.message).not.toContain("HUSH");
  return error;
}
