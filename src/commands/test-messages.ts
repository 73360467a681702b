import { createSender, createTargets } from "../alerts/notify/targets.ts";

import { createCommandRunner } from "../collector/run-command.ts";
import type { Notification } from "../config/config.ts";
import type { CommandIo } from "./io.ts";

export interface TestMessage {
  /** Of the target, without anything secret. */
  readonly name: string;
  /** As the daemon sends. Rejects with DeliveryError. */
  send(signal: AbortSignal): Promise<string | null>;
}

/** The daemon's own ways to the targets. */
export function createTestMessages(
  notifications: readonly Notification[],
  { env, now }: Pick<CommandIo, "env" | "now">,
): readonly TestMessage[] {
  const { run } = createCommandRunner({ path: env.PATH ?? "", home: env.HOME ?? "/" });
  return createTargets(notifications).map(({ name, notification }) => ({
    name,
    send: (signal) =>
      createSender(notification, { clock: { now }, run }).send(
        { at: now(), test: true, dropped: 0, notes: [] },
        signal,
      ),
  }));
}
