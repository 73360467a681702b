import { Elysia } from "elysia";
import { messageOf } from "../../domain/error-code.ts";
import { ApiError } from "../../domain/errors.ts";
import type { Log } from "../../domain/log.ts";
import type { HealthCheck } from "../../domain/service/status.ts";
import { type Emit, labelsOf, NO_LABELS } from "../../export/family.ts";
import { Answer, MAX_PACKED_BYTES, PUSH_PATH } from "../../fleet/protocol.ts";
import { documented } from "../../http/docs/documented.ts";
import { gated } from "../../http/exchange.ts";
import type { HeldAnswers } from "../commands/held-answers.ts";
import { isAway, sqlState } from "../database/connect.ts";
import { HUB } from "../metrics/exposition.ts";
import { type Batch, readBatch, readPacked } from "../push/batch.ts";

/** Maximum number of pushes processed at once. */
const AT_ONCE = 8;
/** Maximum number of pushes that wait. Further pushes get a 429. */
const WAITING = 64;
const RETRY_SECONDS = 2;

export interface PushPort {
  take(batch: Batch, address: string): Promise<Answer>;
  hold: HeldAnswers["wait"];
}

export function pushRoutes({ take, hold }: PushPort) {
  let running = 0;
  const waiting: (() => void)[] = [];

  /** Limits concurrent work. `work` also reads the body, so that memory is bounded. */
  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= AT_ONCE) {
      if (waiting.length >= WAITING)
        throw new ApiError("RATE_LIMIT_EXCEEDED", "The hub is busy with other pushes.", {
          // Spread the retries.
          retryAfterSeconds: RETRY_SECONDS + Math.floor(Math.random() * 2 * RETRY_SECONDS),
        });
      await new Promise<void>((resolve) => void waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  return new Elysia({ name: "routes/push" }).use(gated).post(
    PUSH_PATH,
    async ({ request, exchange }) => {
      const {
        answer,
        site,
        holdMs = 0,
      } = await inTurn(async () => {
        const batch = readBatch(await readPacked(request));
        if (exchange.caller?.site !== batch.site)
          throw new ApiError("AUTH_INSUFFICIENT", "This key belongs to another site.");
        return { ...batch, answer: await take(batch, exchange.address) };
      });
      if (holdMs === 0 || answer.commands.length > 0 || answer.wanted.length > 0) return answer;
      exchange.listener?.timeout(request, 0);
      return { ...answer, commands: await hold(site, holdMs, request.signal) };
    },
    documented("push", "Fleet", "Push facts, states and days of a site", {
      description:
        "The body is JSON with Content-Encoding: zstd or gzip, at most 1 MiB packed and 8 MiB unpacked. CONFLICT has " +
        "`cursor=<n>` in its details if facts are missing, and `instance` if another process pushes for the site.",
      maxBodyBytes: MAX_PACKED_BYTES,
      answers: { 200: { description: "The stored part of the push", schema: Answer } },
      errors: ["CONFLICT", "SERVICE_UNAVAILABLE", "INVALID_JSON", "MISSING_FIELD", "INVALID_FIELD"],
    }),
  );
}

const STORE_RETRY_SECONDS = 5;

const WORDS: Readonly<Record<string, string>> = {
  "25006": "The hub's database is read-only",
  "53100": "The disk of the hub's database is full",
};

/** Watches pushes: counts them, and logs the first push that the database refuses and the recovery. */
export function createPushWatch(log: Log) {
  const counts = { taken: 0, conflict: 0, failed: 0 };
  let facts = 0;
  let problem: string | null = null;

  function failed(error: unknown): ApiError {
    const words = WORDS[sqlState(error) ?? ""] ?? "The hub's database is not available";
    if (words !== problem)
      log.error("Cannot store pushes; sites will retry", { problem: words, error: messageOf(error) });
    problem = words;
    return new ApiError("SERVICE_UNAVAILABLE", `${words}.`, { retryAfterSeconds: STORE_RETRY_SECONDS });
  }

  return {
    async watched(batch: Batch, take: () => Promise<Answer>): Promise<Answer> {
      try {
        const answer = await take();
        if (problem !== null) log.info("Storing pushes again");
        problem = null;
        counts.taken++;
        facts += batch.facts.length;
        return answer;
      } catch (error) {
        counts[error instanceof ApiError && error.code === "CONFLICT" ? "conflict" : "failed"]++;
        throw isAway(error) ? failed(error) : error;
      }
    },
    /**
     * Adds the result of the last push to a check, because a read-only database may otherwise look healthy.
     */
    health: (check: HealthCheck): HealthCheck =>
      problem === null || check.status === "unhealthy" ? check : { status: "unhealthy", message: problem },
    emit(emit: Emit): void {
      for (const [outcome, count] of Object.entries(counts)) emit(HUB.pushes, labelsOf({ outcome }), count);
      emit(HUB.facts, NO_LABELS, facts);
    },
  };
}
