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

interface Kind<One extends Command> {
  readonly needs: FleetSettings["allow"][number];
  readonly message: string;
  run(actions: Actions, command: One): Promise<Partial<Outcome> | undefined>;
  fields(command: One): LogFields;
}

const KINDS: { readonly [Name in Command["command"]]: Kind<Of<Name>> } = {
  acknowledge: {
    needs: "acknowledge",
    message: "Alert acknowledged",
    run: async (actions, command) => void (await actions.acknowledge(command)),
    fields: ({ alert, comment }) => ({ alert, comment }),
  },
  silence: {
    needs: "acknowledge",
    message: "Alert silenced",
    run: async (actions, command) => void (await actions.silence(command)),
    fields: ({ alert, comment }) => ({ alert, comment }),
  },
  rescan: {
    needs: "rescan",
    message: "Rescan",
    run: async (actions, command) => ({ results: await actions.rescan(command) }),
    fields: ({ servers }) => ({ servers: servers?.join(", ").slice(0, 500) ?? "all" }),
  },
  execute: {
    needs: "execute",
    message: "Command",
    run: async (actions, command) => ({ run: await actions.execute(command) }),
    fields: ({ name, server, args }) => ({
      command: name.slice(0, 100),
      server: server?.slice(0, 100),
      arguments: JSON.stringify(args),
    }),
  },
};

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

  async function carryOut(command: Command): Promise<void> {
    const kind: Kind<Command> = KINDS[command.command];
    const { needs, message } = kind;
    const { key: by, name, role } = command.by;
    const said = { ...kind.fields(command), via: "hub", by, name, role };
    if (!allow().includes(needs)) {
      audit.warn(message, { ...said, outcome: "AUTH_INSUFFICIENT" });
      const why = `This site does not allow this: fleet.allow lacks ${needs}.`;
      return report(command, { ...NOTHING, outcome: "refused", code: "AUTH_INSUFFICIENT", message: why });
    }
    // Record the start, so that a restarted daemon does not run the command again.
    if (command.command === "execute") {
      audit.info(message, { ...said, outcome: "started" });
      report(command, { ...NOTHING, outcome: "begun" });
    }
    try {
      const made = await kind.run(actions, command);
      audit.info(message, { ...said, outcome: "ok" });
      report(command, { outcome: "done", ...NOTHING, ...made });
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
