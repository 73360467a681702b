import type { Notification } from "../../config/config.ts";
import { isAtLeast, presentRule } from "../../domain/alerts.ts";
import { nameMatcher } from "../../domain/plain-text.ts";
import { hasLabels } from "../../domain/server.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { createCommand, type RunCommand } from "./command.ts";
import { createEmail } from "./email.ts";
import type { NoteFilter, Send } from "./note.ts";
import { createWebhook } from "./webhook.ts";

export interface Target extends NoteFilter {
  /** Time within which alerts are combined into one message. */
  readonly groupMs: number;
  readonly notification: Notification;
  /** Name for logs and people, without secrets: `webhook hooks.example (notifications[0])`. */
  readonly name: string;
}

/**
 * Returns the configured targets. The id is a hash of a target's address and filter, so that queued notes
 * find their target again after a restart or after reordering the file. A hash, because a URL may be a
 * secret.
 */
export function createTargets(notifications: readonly Notification[]): readonly Target[] {
  return notifications.map((notification, index) => {
    const { type, severity, rules, servers, features, labels, anonymize, groupMs } = notification;
    const { place, name: where } = describe(notification);
    const more = [servers, features, labels];
    // Unset fields are left out of the hash, so existing ids do not change.
    const identity = [type, ...place, severity, rules, ...(more.some(Boolean) ? more : [])];
    const id = new Bun.CryptoHasher("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
    const name = `${notification.name ?? where} (notifications[${index}])`;
    return { id, anonymize, wants: createFilter(notification), groupMs, notification, name };
  });
}

/**
 * Returns a function that selects the alerts that a target wants. A target limited to servers or features
 * gets only alerts about these.
 */
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

/** Returns the address of a target. Leaves out the secret, which may change. */
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
