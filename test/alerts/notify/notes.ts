import { expect } from "bun:test";
import { DeliveryError, type Message, type Note, type NotedAlert } from "../../../src/alerts/notify/note.ts";
import type { Notification } from "../../../src/config/config.ts";

export const AT = Date.parse("2026-03-02T12:00:00.000Z");

export const record = (change: Partial<NotedAlert> = {}): NotedAlert => ({
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
  serverName: "EDA tools",
  holders: [],
  ...change,
});

export const webhookTo = (url: string, change: Partial<Notification> = {}): Notification => {
  const { severity, groupMs } = { severity: "warning" as const, groupMs: 30_000 };
  const wants = { severity, rules: null, servers: null, features: null, labels: null };
  const own = { name: null, anonymize: false, groupMs, url, urlFile: null, secretFile: null };
  return { ...wants, ...own, type: "webhook", template: "json", ...change } as Notification;
};

export const note = (id: number, change: Partial<Note> = {}): Note => {
  return { id, target: "pager", kind: "fired", at: AT, alert: record({ id }), ...change };
};

export const about = (id: number, change: Partial<NotedAlert>, kind: Note["kind"] = "fired"): Note =>
  note(id, { kind, alert: record({ id, ...change }) });

export const message = (notes: readonly Note[], change: Partial<Message> = {}): Message => {
  return { at: AT, test: false, dropped: 0, notes, ...change };
};

export const ONE = message([note(1)]);

export const never = new AbortController().signal;

/** Returns the error of a delivery, and checks that it contains no secret. */
export async function failure(sending: Promise<unknown>): Promise<DeliveryError> {
  const error = await sending.then(() => new Error("It was delivered")).catch((reason) => reason);
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error.message).not.toContain("HUSH");
  return error;
}
