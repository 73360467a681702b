import type { Notification } from "../../config/config.ts";
import { isAtLeast, presentRule } from "../../domain/alerts.ts";
import { nameMatcher } from "../../domain/plain-text.ts";
import { hasLabels } from "../../domain/server.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { createCommand, type RunCommand } from "./command.ts";
import { createEmail } from "./email.ts";
import type { NoteFilter, Send } from "./note.ts";
import { createWebhook } from "./webhook.ts";

/** A configured target. */
export interface Target extends NoteFilter {
  /** Alerts that come within this time go out as one message. */
  readonly groupMs: number;
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
    const { type, severity, rules, servers, features, labels, anonymize, groupMs } = notification;
    const { place, name: where } = describe(notification);
    const more = [servers, features, labels];
    // The id of a target without these words is what it was before there were any.
    const identity = [type, ...place, severity, rules, ...(more.some(Boolean) ? more : [])];
    const id = new Bun.CryptoHasher("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
    const name = `${notification.name ?? where} (notifications[${index}])`;
    return { id, anonymize, wants: createFilter(notification), groupMs, notification, name };
  });
}

/** What a target wants to hear of. Where it names servers or features, an alert about none is none of them. */
export function createFilter(
  target: Pick<Notification, "severity" | "rules" | "servers" | "features" | "labels">,
): NoteFilter["wants"] {
  const isRule = nameMatcher(target.rules?.map(presentRule) ?? null);
  const [isServer, isFeature] = [nameMatcher(target.servers), nameMatcher(target.features)];
  return (alert, own) =>
    isAtLeast(alert.severity, target.severity) &&
    isRule(alert.rule) &&
    isServer(alert.server) &&
    isFeature(alert.feature) &&
    hasLabels(own, target.labels ?? {});
}

/** Another secret is a way of its own to the same place, and so no part of it. */
function describe(to: Notification): { readonly place: readonly unknown[]; readonly name: string } {
  switch (to.type) {
    case "webhook":
      return {
        place: [to.url ?? to.urlFile, to.template],
        name: to.url === null ? "webhook by url_file" : `webhook ${new URL(to.url).host}`,
      };
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
