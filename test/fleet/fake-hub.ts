import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Step } from "../../src/domain/history.ts";
import { DAY_MS } from "../../src/domain/time/clock.ts";
import {
  type AlertRow,
  Answer,
  type Command,
  type CoverageRow,
  DAY_SCHEMAS,
  type Day,
  type DenialRow,
  FACT_SCHEMAS,
  type Fact,
  type FeatureState,
  MAX_FACTS,
  MAX_PACKED_BYTES,
  MAX_UNPACKED_BYTES,
  type PictureHead,
  PUSH_PATH,
  Push,
  type SessionRow,
  STATE_SCHEMAS,
  type State,
  type StatusRow,
} from "../../src/fleet/protocol.ts";
import { samplesOfDay } from "../../src/history/codec.ts";

/** How the hub fails a push. With `lost`, the hub stores the push and drops the answer. */
export type Fault =
  | "lost"
  | "cut"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object };

export type Epoch = ReturnType<typeof newEpoch>;

/** Data of a site at the hub: facts in the order of arrival, and the rows from facts and days. */
const newEpoch = (cursor: number) => ({
  cursor,
  facts: [] as Fact[],
  sessions: new Map<number, SessionRow>(),
  denials: new Map<number, DenialRow>(),
  alerts: new Map<number, AlertRow>(),
  coverage: new Map<string, CoverageRow>(),
  statuses: new Map<string, StatusRow>(),
  /** Steps of each feature by time. */
  steps: new Map<string, Map<number, Step>>(),
  /** Packed rollups by table, day and feature. */
  packed: new Map<string, string>(),
  users: new Map<number, string>(),
});

const dayOf = (at: number) => Math.floor(at / DAY_MS);
const spanKey = ({ server, from }: { server: string; from: number }) => `${server} ${from}`;
const featureOf = ({ server, daemon, feature }: { server: string; daemon: string; feature: string }) =>
  `${server}/${daemon}/${feature}`;

/** Tables of rows with a time and a key. */
const KEPT = {
  sessions: { timeOf: ({ endedAt }: SessionRow) => endedAt, keyOf: ({ id }: SessionRow) => id },
  denials: { timeOf: ({ at }: DenialRow) => at, keyOf: ({ id }: DenialRow) => id },
  alerts: { timeOf: (row: AlertRow) => Date.parse(row.startedAt), keyOf: ({ id }: AlertRow) => id },
  coverage: { timeOf: ({ from }: CoverageRow) => from, keyOf: spanKey },
  statuses: { timeOf: ({ from }: StatusRow) => from, keyOf: spanKey },
};
interface Kept {
  readonly timeOf: (row: object) => number | null;
  readonly keyOf: (row: object) => string | number;
}

/** Replaces the rows of a day in one table. */
function takeDay(epoch: Epoch, { table, day, part, rows }: Day): void {
  const isOfDay = (at: number | null) => (at === null ? -1 : dayOf(at)) === day;
  switch (table) {
    case "users":
      if (part === 0) epoch.users.clear();
      for (const { id, name } of rows) epoch.users.set(id, name);
      return;
    case "samples":
      if (part === 0)
        for (const steps of epoch.steps.values())
          for (const at of steps.keys()) if (dayOf(at) === day) steps.delete(at);
      for (const row of rows)
        for (const step of samplesOfDay(day * DAY_MS, Buffer.from(row.data, "base64")))
          epoch.steps.getOrInsertComputed(featureOf(row), () => new Map()).set(step.at, step);
      return;
    case "hours":
    case "rollups":
      if (part === 0)
        for (const key of epoch.packed.keys())
          if (key.startsWith(`${table} ${day} `)) epoch.packed.delete(key);
      for (const row of rows) epoch.packed.set(`${table} ${day} ${featureOf(row)}`, row.data);
      return;
    case "held":
      return;
    default: {
      const kept = epoch[table] as Map<string | number, object>;
      const { timeOf, keyOf } = KEPT[table] as Kept;
      if (part === 0) for (const [key, row] of kept) if (isOfDay(timeOf(row))) kept.delete(key);
      for (const row of rows) kept.set(keyOf(row), row);
    }
  }
}

const TABLE_OF = {
  session: "sessions",
  denial: "denials",
  coverage: "coverage",
  status: "statuses",
} as const;

function takeFact(epoch: Epoch, fact: Fact): void {
  epoch.facts.push(fact);
  const stepsOf = (of: Parameters<typeof featureOf>[0]) =>
    epoch.steps.getOrInsertComputed(featureOf(of), () => new Map());
  if (fact.kind === "step") {
    const { at, total, used, reserved, queued, unlimited } = fact;
    stepsOf(fact).set(at, { at, total, used, reserved, queued, unlimited });
  } else if (fact.kind === "gone") {
    const { row } = fact;
    if (row.of === "step") stepsOf(row).delete(row.at);
    else epoch[TABLE_OF[row.of]].delete(("id" in row ? row.id : spanKey(row)) as never);
  } else if (fact.kind in TABLE_OF) {
    const table = TABLE_OF[fact.kind as keyof typeof TABLE_OF];
    const { kind, seq, change, announced, ...row } = fact as Extract<Fact, { kind: "session" }>;
    epoch[table].set((KEPT[table] as Kept).keyOf(row) as never, row as never);
  }
}

interface KeptPicture {
  number: number;
  head: PictureHead;
  features: Map<string, FeatureState>;
  order: string[];
}

/** An in-memory hub over real HTTP. It follows `protocol.ts` and trusts its sites. */
export function createFakeHub() {
  const epochs = new Map<string, Epoch>();
  const pushes: Push[] = [];
  const problems: string[] = [];
  const pictures = new Map<string, KeptPicture>();
  const states = new Map<State["kind"], State>();
  const wanted: string[] = [];
  let commands: Command[] = [];
  /** Called before a push is stored. */
  let fault: (push: Push, at: number) => Fault | null = () => null;
  let instance: string | null = null;

  function check(push: Push): void {
    const note = (what: string, schema: TSchema | undefined, value: unknown) => {
      if (schema === undefined) problems.push(`${what}: unknown`);
      else
        for (const error of Value.Errors(schema, value))
          problems.push(`${what}${error.path}: ${error.message}`);
    };
    note("push", Push, push);
    for (const fact of push.facts) note(`fact ${fact.kind}`, FACT_SCHEMAS[fact.kind], fact);
    for (const state of push.states) note(`state ${state.kind}`, STATE_SCHEMAS[state.kind], state);
    for (const day of push.days) note(`day ${day.table}`, DAY_SCHEMAS[day.table], day);
    if (push.facts.length > MAX_FACTS) problems.push("too many facts");
    if (push.hello && push.facts.length + push.states.length + push.days.length > 0)
      problems.push("a hello brings something");
    const seqs = push.facts.map(({ seq }) => seq);
    if (seqs.some((seq, at) => seq < push.from || seq > push.to || seq <= (seqs[at - 1] ?? 0)))
      problems.push(`facts ${seqs.join(" ")} are not in order within ${push.from} to ${push.to}`);
  }

  function conflict(details: string): Response {
    const body = { error: "Conflict", code: "CONFLICT", message: "It does not fit.", details };
    return Response.json(body, { status: 409 });
  }

  function takePicture(state: Extract<State, { kind: "picture" }>): void {
    const before = pictures.get(state.server);
    // The site repeats a patch if it got no answer.
    if (state.from !== null && state.to === before?.number) return;
    if (state.from !== null && state.from !== before?.number) {
      wanted.push(state.server);
      return;
    }
    const key = ([daemon, name]: readonly [string, string]) => `${daemon}\0${name}`;
    const features = state.from === null ? new Map() : (before?.features ?? new Map());
    for (const gone of state.gone) features.delete(key(gone));
    for (const feature of state.features) features.set(key([feature.daemon, feature.name]), feature);
    const order = state.order?.map(key) ?? before?.order ?? [];
    pictures.set(state.server, { number: state.to, head: state.head, features, order });
  }

  function store(push: Push): Response | null {
    const known = epochs.get(push.epoch);
    if (known === undefined && !push.begins) return conflict("epoch");
    if (push.hello) return null;
    const epoch = known ?? newEpoch(push.from - 1);
    if (push.from > epoch.cursor + 1 && !push.gap) return conflict(`cursor=${epoch.cursor}`);
    epochs.set(push.epoch, epoch);
    for (const day of push.days) takeDay(epoch, day);
    for (const fact of push.facts) if (fact.seq > epoch.cursor) takeFact(epoch, fact);
    epoch.cursor = Math.max(epoch.cursor, push.to);
    for (const state of push.states) {
      if (state.kind === "picture") takePicture(state);
      else states.set(state.kind, state);
      if (state.kind !== "known") continue;
      for (const row of state.coverage) epoch.coverage.set(spanKey(row), row);
      for (const row of state.statuses) epoch.statuses.set(spanKey(row), row);
    }
    return null;
  }

  async function answer(request: Request): Promise<Response> {
    const packed = await request.bytes();
    if (packed.length > MAX_PACKED_BYTES) problems.push(`${packed.length} bytes packed`);
    const text = await Bun.zstdDecompress(packed);
    if (text.length > MAX_UNPACKED_BYTES) problems.push(`${text.length} bytes unpacked`);
    const push = JSON.parse(text.toString()) as Push;
    check(push);
    const at = pushes.push(push) - 1;
    const wrong = fault(push, at);
    if (wrong === "cut") return cut(request);
    if (typeof wrong === "object" && wrong !== null)
      return Response.json(wrong.body ?? { message: "not now" }, {
        status: wrong.status,
        ...(wrong.headers && { headers: wrong.headers }),
      });
    if (instance !== null && push.instance !== instance) return conflict(`instance ${instance} is heard`);
    const refused = store(push);
    if (refused !== null) return refused;
    if (wrong === "lost") return cut(request);
    const said: Answer = {
      cursor: epochs.get(push.epoch)?.cursor ?? push.from - 1,
      commands,
      wanted: wanted.splice(0),
    };
    if (!Value.Check(Answer, said)) problems.push("an answer that is none");
    return Response.json(said);
  }

  function cut(request: Request): Response {
    request.signal.throwIfAborted();
    return new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) }));
  }

  const serve = (on: number) =>
    Bun.serve({
      port: on,
      hostname: "127.0.0.1",
      async fetch(request) {
        if (new URL(request.url).pathname !== PUSH_PATH) return new Response(null, { status: 404 });
        if (request.headers.get("authorization") !== "Bearer lmk_test")
          return new Response(null, { status: 401 });
        return answer(request);
      },
      error: () => new Response(null, { status: 500 }),
    });
  let server = serve(0);
  const url = `http://127.0.0.1:${server.port}`;
  const bound = server.port ?? 0;

  return {
    url,
    pushes,
    problems,
    pictures,
    states,
    epochs,
    latest: (): Epoch => epochs.get(pushes.at(-1)?.epoch ?? "") ?? newEpoch(0),
    faults(next: typeof fault): void {
      fault = next;
    },
    command(...next: Command[]): void {
      commands = next;
    },
    /** Acts as if another process of the site were pushing; null means that none is. */
    hears(other: string | null): void {
      instance = other;
    },
    /** Changes the hub's stored state, as a failover or a lost database does. */
    forget(change: (epochs: Map<string, Epoch>) => void): void {
      change(epochs);
      pictures.clear();
    },
    /** Simulates a broken network. */
    async down(): Promise<void> {
      await server.stop(true);
    },
    up(): void {
      server = serve(bound);
    },
    stop: () => server.stop(true),
  };
}

export type FakeHub = ReturnType<typeof createFakeHub>;
