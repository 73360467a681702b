import { messageOf } from "../../domain/error-code.ts";
import { ApiError } from "../../domain/errors.ts";
import type { Log } from "../../domain/log.ts";
import type { HealthCheck } from "../../domain/service/status.ts";
import { isAway, sqlState } from "../database/connect.ts";

const RETRY_SECONDS = 5;

/** Public messages by SQLSTATE. */
const WORDS: Readonly<Record<string, string>> = {
  "25006": "The hub's database is read-only",
  "53100": "The disk of the hub's database is full",
};

/**
 * Tracks whether the database accepts pushes. A failed push is answered with SERVICE_UNAVAILABLE and retried
 * by its site. Logs only the first failure and the recovery.
 */
export function createPushHealth(log: Log) {
  let problem: string | null = null;

  function failed(error: unknown): string {
    const words = WORDS[sqlState(error) ?? ""] ?? "The hub's database is not available";
    if (words !== problem)
      log.error("Cannot store pushes; sites will retry", { problem: words, error: messageOf(error) });
    problem = words;
    return words;
  }

  return {
    async run<Answer>(work: () => Promise<Answer>): Promise<Answer> {
      try {
        const answer = await work();
        if (problem !== null) log.info("Storing pushes again");
        problem = null;
        return answer;
      } catch (error) {
        if (!isAway(error)) throw error;
        throw new ApiError("SERVICE_UNAVAILABLE", `${failed(error)}.`, { retryAfterSeconds: RETRY_SECONDS });
      }
    },
    /** Adds the result of the last push; a read-only database may look healthy. */
    health: (check: HealthCheck): HealthCheck =>
      problem === null || check.status === "unhealthy" ? check : { status: "unhealthy", message: problem },
  };
}
