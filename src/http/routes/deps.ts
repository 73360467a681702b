import type { Executor } from "../../collector/execute/executor.ts";
import type { HttpDeps } from "../deps.ts";
import type { Audit } from "../exchange.ts";
import { createHistoryReader } from "../history.ts";
import type { Limits } from "../limits.ts";
import type { RequestCounters } from "../request-counters.ts";
import { type Answers, createAnswers, createSnapshotFor, type SnapshotFor } from "../snapshot.ts";
import type { StreamsPort } from "../streams/broadcaster.ts";

/** Dependencies of the app, from the composition root. */
export interface AppDeps extends HttpDeps {
  readonly execute: Executor;
  readonly streams: StreamsPort;
}

/** Dependencies of the routes: the rest of the daemon, and shared parts. */
export interface RouteDeps extends AppDeps {
  readonly limits: Limits;
  readonly audit: Audit;
  readonly requests: RequestCounters;
  readonly snapshotFor: SnapshotFor;
  readonly answers: Answers;
  readonly reader: ReturnType<typeof createHistoryReader>;
}

export function createRouteDeps(
  deps: AppDeps,
  limits: Limits,
  audit: Audit,
  requests: RequestCounters,
): RouteDeps {
  const snapshotFor = createSnapshotFor(deps);
  const reader = createHistoryReader(deps, snapshotFor);
  // Inherited, not copied: those of `licmond openapi` are a proxy, which has every name and lists none.
  const inherited: AppDeps = Object.create(deps);
  return Object.assign(inherited, { limits, audit, requests, snapshotFor, answers: createAnswers(), reader });
}
