import type { Config } from "../../config/config.ts";
import { ApiError } from "../../domain/errors.ts";
import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import type { Manager } from "../../managers/manager.ts";
import { decodeOutput, recode } from "../../managers/read-output.ts";
import type { CommandResult, CommandRun, CommandRunner } from "../run-command.ts";
import {
  type CatalogueEntry,
  type CommandPlan,
  catalogueOf,
  type FindTool,
  type PlanRequest,
  planCommand,
} from "./catalogue.ts";

const MAX_RUNNING = 4;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const RETRY_SECONDS = 5;

interface ExecutorDeps {
  readonly findTool: FindTool;
  /** Returns the current settings. Called for every request, so that a reload takes effect at once. */
  readonly settings: () => Config["execute"];
  /** Returns the managers of the configured servers. Called for every request. */
  readonly managers: () => readonly Manager[];
  readonly run: CommandRunner["run"];
}

export type Executor = ReturnType<typeof createExecutor>;

/** Runs commands of the catalogue only. */
export function createExecutor(deps: ExecutorDeps) {
  let running = 0;
  const catalogue = () => catalogueOf(deps.settings().commands, deps.managers());
  return {
    get enabled() {
      return deps.settings().enabled;
    },
    list: (): CatalogueEntry[] => [...catalogue().values()],
    /** Throws INVALID_FIELD, listing all commands, if the name is unknown. */
    find(command: string): CatalogueEntry {
      const known = catalogue();
      const entry = known.get(command);
      if (entry !== undefined) return entry;
      const names = [...known.keys()].join(", ");
      throw new ApiError("INVALID_FIELD", `Field "command": unknown command; known are ${names}.`);
    },
    plan: (entry: CatalogueEntry, request: PlanRequest) => planCommand(entry, request, deps.findTool),
    /** Throws COMMAND_EXECUTION_FAILED, COMMAND_TIMEOUT, or SERVICE_UNAVAILABLE if too many commands run. */
    async run(plan: CommandPlan) {
      if (running >= MAX_RUNNING) {
        throw new ApiError("SERVICE_UNAVAILABLE", `Too many commands are running (limit ${MAX_RUNNING}).`, {
          retryAfterSeconds: RETRY_SECONDS,
        });
      }
      running++;
      try {
        const { argv, env, timeoutMs } = plan;
        const onOverflow = "discard";
        const result = await deps.run({ argv, env, timeoutMs, maxBytes: MAX_OUTPUT_BYTES, onOverflow });
        return executionOf(plan, result);
      } finally {
        running--;
      }
    },
  };
}

const LAST_LINES = 20;
const LAST_CHARACTERS = 4000;

/**
 * Returns the result of a command. Throws COMMAND_EXECUTION_FAILED or COMMAND_TIMEOUT; `details` has the
 * last lines of output.
 */
function executionOf({ command, timeoutMs, encoding }: CommandPlan, result: CommandResult) {
  const isCancelled = result.started ? result.aborted : result.failure.reason === "aborted";
  if (isCancelled) {
    throw new ApiError("SERVICE_UNAVAILABLE", "licmond is shutting down; the command was killed.", {
      retryAfterSeconds: 10,
    });
  }
  const failed = (how: string, details: string | undefined) =>
    new ApiError("COMMAND_EXECUTION_FAILED", `The command ${command} ${how}.`, { details });
  if (!result.started) {
    const { message, fix } = result.failure;
    throw failed("could not be started", fix === null ? message : `${message} Fix: ${fix}.`);
  }
  const { exitCode, signal, stdout, stderr, truncated, stderrTruncated, durationMs } = result;
  const wordsOf = (bytes: Uint8Array) => decodeOutput(encoding === null ? bytes : recode(bytes, encoding));
  const details = lastWords(result, wordsOf);
  if (result.timedOut) {
    const seconds = timeoutMs / 1000;
    const message = `The command ${command} did not finish within ${seconds} s and was killed with all its processes.`;
    throw new ApiError("COMMAND_TIMEOUT", message, { details });
  }
  if (exitCode === null) throw failed(`was killed by ${signal ?? "a signal"}`, details);
  if (exitCode !== 0) throw failed(`exited with code ${exitCode}`, details);
  return {
    exitCode,
    stdout: maskSecrets(wordsOf(stdout)),
    stderr: maskSecrets(wordsOf(stderr)),
    truncated: truncated || stderrTruncated,
    durationMs: Math.round(durationMs),
  };
}

/**
 * Returns the last lines of stderr, or of stdout if stderr is empty, because lmutil prints its errors on
 * stdout.
 */
function lastWords(
  { stdout, stderr }: CommandRun,
  wordsOf: (bytes: Uint8Array) => string,
): string | undefined {
  const linesOf = (bytes: Uint8Array) =>
    wordsOf(bytes)
      .split(/\r\n|\r|\n/)
      .filter((line) => line.trim() !== "");
  const lines = [stderr, stdout].map(linesOf).find(({ length }) => length > 0);
  const last = lines?.slice(-LAST_LINES).map(escapeControls).join("\n");
  return last && maskSecrets(last).slice(-LAST_CHARACTERS);
}
