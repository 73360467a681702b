import type { Config } from "../../config/config.ts";
import { ApiError } from "../../domain/errors.ts";
import type { CommandRunner } from "../run-command.ts";
import { type CatalogueEntry, catalogueOf } from "./catalogue.ts";
import { type Execution, judge } from "./outcome.ts";
import { type CommandPlan, type PlanDeps, type PlanRequest, planCommand } from "./plan.ts";

/** Commands that run at the same time. */
export const MAX_RUNNING = 4;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const RETRY_SECONDS = 5;

/** Runs commands of a catalogue and nothing else. */
export interface Executor {
  /** False = `execute.enabled` is not set. */
  readonly enabled: boolean;
  /** Throws INVALID_FIELD, which lists the commands there are. */
  find(command: string): CatalogueEntry;
  /** What would be run. Throws ApiError. */
  plan(entry: CatalogueEntry, request: PlanRequest): CommandPlan;
  /** Throws COMMAND_EXECUTION_FAILED, COMMAND_TIMEOUT, and SERVICE_UNAVAILABLE while too many run. */
  run(plan: CommandPlan): Promise<Execution>;
}

export interface ExecutorDeps extends PlanDeps {
  /** The config's section, asked each time: a reload holds at once. */
  readonly settings: () => Config["execute"];
  readonly run: CommandRunner["run"];
}

export function createExecutor(deps: ExecutorDeps): Executor {
  let running = 0;
  return {
    get enabled() {
      return deps.settings().enabled;
    },
    find(command) {
      const catalogue = catalogueOf(deps.settings().commands);
      const entry = catalogue.get(command);
      if (entry !== undefined) return entry;
      throw new ApiError(
        "INVALID_FIELD",
        `Field "command" names no command; there are ${[...catalogue.keys()].join(", ")}.`,
      );
    },
    plan: (entry, request) => planCommand(entry, request, deps),
    async run(plan) {
      if (running >= MAX_RUNNING) {
        throw new ApiError("SERVICE_UNAVAILABLE", `${MAX_RUNNING} commands run already, which is the most.`, {
          retryAfterSeconds: RETRY_SECONDS,
        });
      }
      running++;
      try {
        const { argv, env, timeoutMs } = plan;
        const onOverflow = "discard";
        return judge(plan, await deps.run({ argv, env, timeoutMs, maxBytes: MAX_OUTPUT_BYTES, onOverflow }));
      } finally {
        running--;
      }
    },
  };
}
