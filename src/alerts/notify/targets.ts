import type { Notification } from "../../config/config.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { createCommand, type RunCommand } from "./command.ts";
import { createEmail } from "./email.ts";
import type { NoteFilter, Send } from "./note.ts";
import { createWebhook } from "./webhook.ts";

/** A configured target. */
export interface Target extends NoteFilter {
  readonly notification: Notification;
  /** For logs and people, without anything secret: `webhook hooks.example (notifications[0])`. */
  readonly name: string;
}

/**
 * The targets of a config. The id is a hash of where the target is and what it wants, so that what waits for it finds it
 * again after a restart and a change of the file's order. It reveals nothing of that, because a URL may be a secret.
 */
export function createTargets(notifications: readonly Notification[]): readonly Target[] {
  return notifications.map((notification, index) => {
    const { type, severity, rules } = notification;
    const { place, name } = describe(notification);
    const identity = JSON.stringify([type, ...place, severity, rules]);
    const id = new Bun.CryptoHasher("sha256").update(identity).digest("hex").slice(0, 16);
    return { id, severity, rules, notification, name: `${name} (notifications[${index}])` };
  });
}

/** Another secret is a way of its own to the same place, and so no part of it. */
function describe(to: Notification): { readonly place: readonly unknown[]; readonly name: string } {
  switch (to.type) {
    case "webhook":
      return { place: [to.url, to.template], name: `webhook ${new URL(to.url).host}` };
    case "email":
      return { place: [to.smtp, to.from, to.to], name: `email by ${to.smtp}` };
    case "command":
      return { place: [to.argv], name: `command ${to.argv[0]?.split("/").at(-1) ?? ""}` };
  }
}

/** The way to a configured target. */
export function createSender(
  to: Notification,
  { clock, run }: { readonly clock: Clock; readonly run: RunCommand },
): Send {
  switch (to.type) {
    case "webhook":
      return createWebhook(to, clock);
    case "email":
      return createEmail(to);
    case "command":
      return createCommand(to.argv, run);
  }
}
