import type { Executor } from "../../collector/execute/executor.ts";
import type { HttpDeps } from "../deps.ts";
import type { Audit } from "../exchange.ts";
import { createHistoryReader } from "../history.ts";
import type { Limits } from "../limits.ts";
import type { RequestCounters } from "../request-counters.ts";
import { type Answers, createAnswers, createSnapshotFor, type SnapshotFor } from "../snapshot.ts";
import type { StreamsPort } from "../streams/broadcaster.ts";

export interface AppDeps extends HttpDeps {
  readonly execute: Executor;
  readonly streams: StreamsPort;
}

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
  // Inherited, not copied: the dependencies of `licmond openapi` are a proxy that lists no names.
  const inherited: AppDeps = Object.create(deps);
  return Object.assign(inherited, { limits, audit, requests, snapshotFor, answers: createAnswers(), reader });
}
