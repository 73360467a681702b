import { ApiError } from "../../domain/errors.ts";
import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import { decodeOutput } from "../../managers/read-output.ts";
import type { CommandResult, CommandRun } from "../run-command.ts";
import type { CommandPlan } from "./plan.ts";

/** How a command ended that ended well. */
export interface Execution {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** One of the two was longer than its cap. */
  readonly truncated: boolean;
  readonly durationMs: number;
}

/** Lines of output that an error carries. */
const LAST_LINES = 20;
const LAST_CHARACTERS = 4000;

/** Throws COMMAND_EXECUTION_FAILED or COMMAND_TIMEOUT, with the command's last words in `details`. */
export function judge({ command, timeoutMs }: CommandPlan, result: CommandResult): Execution {
  if (!result.started) {
    const { reason, message, fix } = result.failure;
    if (reason === "aborted") throw stopping();
    throw new ApiError("COMMAND_EXECUTION_FAILED", `The command ${command} could not be started.`, {
      details: fix === null ? message : `${message} To fix it, ${fix}.`,
    });
  }
  const details = lastWords(result);
  if (result.timedOut) {
    throw new ApiError(
      "COMMAND_TIMEOUT",
      `The command ${command} was not done within ${timeoutMs / 1000} s and was ended with all that it had started.`,
      { details },
    );
  }
  if (result.aborted) throw stopping();
  const { exitCode, signal, stdout, stderr, truncated, stderrTruncated, durationMs } = result;
  if (exitCode !== 0) {
    const how =
      exitCode === null ? `was ended by ${signal ?? "a signal"}` : `ended with exit code ${exitCode}`;
    throw new ApiError("COMMAND_EXECUTION_FAILED", `The command ${command} ${how}.`, { details });
  }
  return {
    exitCode,
    stdout: maskSecrets(decodeOutput(stdout)),
    stderr: maskSecrets(decodeOutput(stderr)),
    truncated: truncated || stderrTruncated,
    durationMs: Math.round(durationMs),
  };
}

/** stderr tells why, stdout (where lmutil puts its errors) when there is none. */
function lastWords({ stdout, stderr }: CommandRun): string | undefined {
  for (const bytes of [stderr, stdout]) {
    const lines = decodeOutput(bytes)
      .split(/\r\n|\r|\n/)
      .filter((line) => line.trim() !== "");
    if (lines.length === 0) continue;
    return maskSecrets(lines.slice(-LAST_LINES).map(escapeControls).join("\n")).slice(-LAST_CHARACTERS);
  }
  return undefined;
}

function stopping(): ApiError {
  return new ApiError("SERVICE_UNAVAILABLE", "licmond is stopping, and the command was ended with it.", {
    retryAfterSeconds: 10,
  });
}
