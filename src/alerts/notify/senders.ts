import type { Notification } from "../../config/config.ts";
import type { Clock } from "../../domain/clock.ts";
import { createCommand, type RunCommand } from "./command.ts";
import { createEmail } from "./email.ts";
import type { Sender } from "./note.ts";
import { createWebhook } from "./webhook.ts";

export interface SenderDeps {
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
