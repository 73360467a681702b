import type { Notification } from "../../config/config.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { createCommand, type RunCommand } from "./command.ts";
import { createEmail } from "./email.ts";
import type { NoteFilter, Sender } from "./note.ts";
import { createWebhook } from "./webhook.ts";

/** A configured target. */
export interface Target extends NoteFilter {
  readonly notification: Notification;
  /** For logs and people, without anything secret: `webhook hooks.example (notifications[0])`. */
  readonly name: string;
}

/**
 * The targets of a config. The id is made of where the target is, so that what waits for it finds it again after a
 * restart and a change of the file's order; it tells nothing of it, because a URL may be a secret.
 */
export function createTargets(notifications: readonly Notification[]): readonly Target[] {
  return notifications.map((notification, index) => {
    const { severity, rules } = notification;
    const id = new Bun.CryptoHasher("sha256").update(JSON.stringify(placeOf(notification))).digest("hex");
    return {
      id: id.slice(0, 16),
      severity,
      rules,
      notification,
      name: `${nameOf(notification)} (notifications[${index}])`,
    };
  });
}

/** Severity and rules may change and it is still the same target; two of one place with other filters are two. */
function placeOf(notification: Notification): unknown {
  const { severity, rules } = notification;
  switch (notification.type) {
    case "webhook":
      return ["webhook", notification.url, notification.template, severity, rules];
    case "email":
      return ["email", notification.smtp, notification.from, notification.to, severity, rules];
    case "command":
      return ["command", notification.argv, severity, rules];
  }
}

function nameOf(notification: Notification): string {
  switch (notification.type) {
    case "webhook":
      return `webhook ${new URL(notification.url).host}`;
    case "email":
      return `email by ${notification.smtp}`;
    case "command":
      return `command ${notification.argv[0]?.split("/").at(-1) ?? ""}`;
  }
}

interface SenderDeps {
  readonly clock: Clock;
  readonly run: RunCommand;
}

/** The way to a configured target. */
export function createSender(notification: Notification, { clock, run }: SenderDeps): Sender {
  switch (notification.type) {
    case "webhook":
      return createWebhook(notification, clock);
    case "email":
      return createEmail(notification);
    case "command":
      return createCommand(notification.argv, run);
  }
}
