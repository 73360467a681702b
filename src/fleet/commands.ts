import type { FleetSettings } from "../config/config.ts";
import { messageOf } from "../domain/error-code.ts";
import { ApiError } from "../domain/errors.ts";
import type { Log, LogFields } from "../domain/log.ts";
import type { Command, Fact } from "./protocol.ts";

type Outcome = Omit<Extract<Fact, { kind: "outcome" }>, "kind" | "seq" | "command">;
type Of<Name extends Command["command"]> = Extract<Command, { command: Name }>;

/** Actions that the daemon performs for a hub. Each rejects with an ApiError on failure. */
export interface Actions {
  acknowledge(command: Of<"acknowledge">): Promise<void>;
  silence(command: Of<"silence">): Promise<void>;
  rescan(command: Of<"rescan">): Promise<NonNullable<Outcome["results"]>>;
  execute(command: Of<"execute">): Promise<NonNullable<Outcome["run"]>>;
}

interface CommandDeps {
  readonly actions: Actions;
  readonly allow: () => FleetSettings["allow"];
  readonly outbox: { addOutcome(outcome: object): void; commandsDone(): readonly string[] };
  readonly wake: () => void;
  readonly audit: Log;
  readonly log: Log;
}

const NEEDS = {
  acknowledge: "acknowledge",
  silence: "acknowledge",
  rescan: "rescan",
  execute: "execute",
} as const;
const MESSAGES = {
  acknowledge: "Alert acknowledged",
  silence: "Alert silenced",
  rescan: "Rescan",
  execute: "Command",
} as const;

const NOTHING: Omit<Outcome, "outcome"> = { code: null, message: null, results: null, run: null };

/** Runs each command from the hub once and records its outcome as a fact. */
export function createCommands({ actions, allow, outbox, wake, audit, log }: CommandDeps) {
  const known = new Set(outbox.commandsDone());
  let running = 0;

  function report(command: Command, outcome: Outcome): void {
    try {
      outbox.addOutcome({ command: command.id, ...outcome });
      wake();
    } catch (error) {
      log.error("Cannot store the outcome of a hub command", { error: messageOf(error) });
    }
  }

  async function run(command: Command): Promise<Outcome> {
    switch (command.command) {
      case "acknowledge":
        await actions.acknowledge(command);
        return { outcome: "done", ...NOTHING };
      case "silence":
        await actions.silence(command);
        return { outcome: "done", ...NOTHING };
      case "rescan":
        return { outcome: "done", ...NOTHING, results: await actions.rescan(command) };
      case "execute":
        return { outcome: "done", ...NOTHING, run: await actions.execute(command) };
    }
  }

  async function carryOut(command: Command): Promise<void> {
    const said = {
      ...fieldsOf(command),
      via: "hub",
      by: command.by.key,
      name: command.by.name,
      role: command.by.role,
    };
    const message = MESSAGES[command.command];
    if (!allow().includes(NEEDS[command.command])) {
      audit.warn(message, { ...said, outcome: "AUTH_INSUFFICIENT" });
      const why = `This site does not allow this: fleet.allow lacks ${NEEDS[command.command]}.`;
      return report(command, { ...NOTHING, outcome: "refused", code: "AUTH_INSUFFICIENT", message: why });
    }
    // Record the start, so that a restarted daemon does not run the command again.
    if (command.command === "execute") {
      audit.info(message, { ...said, outcome: "started" });
      report(command, { ...NOTHING, outcome: "begun" });
    }
    try {
      const outcome = await run(command);
      audit.info(message, { ...said, outcome: "ok" });
      report(command, outcome);
    } catch (error) {
      const known = error instanceof ApiError;
      const code = known ? error.code : "INTERNAL_ERROR";
      if (!known) log.error("A hub command failed", { command: command.command, error: messageOf(error) });
      audit.warn(message, { ...said, outcome: code });
      const why = known ? error.message : "The site failed.";
      report(command, { ...NOTHING, outcome: "failed", code, message: why });
    }
  }

  return {
    carryOut(commands: readonly Command[]): void {
      for (const command of commands) {
        if (known.has(command.id) || command.expiresInMs === 0) continue;
        known.add(command.id);
        running++;
        void carryOut(command).finally(() => running--);
      }
    },
    isBusy: () => running > 0,
  };
}

function fieldsOf(command: Command): LogFields {
  switch (command.command) {
    case "acknowledge":
    case "silence":
      return { alert: command.alert, comment: command.comment };
    case "rescan":
      return { servers: command.servers?.join(", ").slice(0, 500) ?? "all" };
    case "execute":
      return {
        command: command.name.slice(0, 100),
        server: command.server?.slice(0, 100),
        arguments: JSON.stringify(command.args),
      };
  }
}
