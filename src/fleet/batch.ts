import type { Log } from "../domain/log.ts";
import { nextTurn } from "../domain/time/slices.ts";
import type { Store } from "../store/open/open.ts";
import { createDayReader } from "./days.ts";
import { createFactReader } from "./facts.ts";
import type { DueDay, Outbox, OutboxRow } from "./outbox.ts";
import type { People } from "./people.ts";
import { type Day, MAX_FACTS, MAX_PACKED_BYTES, MAX_UNPACKED_BYTES, type Push } from "./protocol.ts";
import type { States } from "./states.ts";

const SLICE_FACTS = 250;
/** Maximum number of characters per push, well below the limit of an unpacked push. */
const CHARS = { facts: 2_500_000, states: 2_000_000, days: 700_000 };

export interface Batch {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly to: number;
  readonly facts: number;
  readonly gone: number;
  readonly more: boolean;
  readonly held: boolean;
  readonly acknowledged: () => void;
}

interface AroundDeps {
  readonly outbox: Outbox;
  readonly head: Pick<Push, "site" | "instance">;
  readonly now: () => number;
  readonly waitingSince: () => number;
  readonly toldUntil: () => number | null;
  readonly holdMs: () => number;
}

interface BatchDeps extends AroundDeps {
  readonly store: Store;
  readonly people: People;
  readonly states: States;
  readonly log: Log;
}

interface Telling {
  readonly due: DueDay;
  readonly rest: Iterator<Day>;
  parts: Day[];
  isRead: boolean;
}

export type Batches = ReturnType<typeof createBatches>;

/** Builds pushes: facts in order, then the newest states, then days. */
export function createBatches(deps: BatchDeps) {
  const { store, outbox, people, states, now, log } = deps;
  const factOf = createFactReader(store, people);
  const days = createDayReader(store, people);
  let telling: Telling | null = null;
  let usersTold = outbox.usersSent();
  /** Sequence numbers of facts that are too large for a push. */
  const tooLarge = new Set<number>();

  /** Reads the facts above `cursor` as JSON. Each step of `shrink` halves the limits. */
  async function readFacts(cursor: number, shrink: number) {
    const texts: string[] = [];
    const rows = onceEach(outbox.page(cursor, MAX_FACTS >> shrink));
    let [to, chars, gone] = [cursor, 0, 0];
    for (const [index, row] of rows.entries()) {
      if (chars > CHARS.facts >> shrink) break;
      if (index % SLICE_FACTS === SLICE_FACTS - 1) await nextTurn();
      to = row.seq;
      const fact = tooLarge.has(to) ? null : factOf(row);
      if (fact === undefined) gone++;
      if (fact == null) continue;
      const text = JSON.stringify(fact);
      chars += text.length;
      texts.push(text);
    }
    return { texts, to, gone };
  }

  function takeDays(chars: number) {
    const texts: string[] = [];
    const taken: Day[] = [];
    telling ??= begin();
    if (telling === null) return { texts, taken, isLast: false, telling };
    let left = chars;
    for (let index = 0; left > 0; index++) {
      let part = telling.parts[index];
      if (part === undefined) {
        const next = telling.isRead ? null : telling.rest.next();
        if (next === null || next.done === true) {
          telling.isRead = true;
          break;
        }
        part = next.value;
        telling.parts.push(part);
      }
      const text = JSON.stringify(part);
      left -= text.length;
      taken.push(part);
      texts.push(text);
    }
    return { texts, taken, isLast: telling.isRead && taken.length === telling.parts.length, telling };
  }

  function begin(): Telling | null {
    const due = outbox.nextDay(now());
    return due && { due, rest: days.parts(due, usersTold), parts: [], isRead: false };
  }

  async function pack(shrink: number): Promise<Batch> {
    const cursor = outbox.cursor();
    const facts = await readFacts(cursor, shrink);
    const { to } = facts;
    // No await from here on: the `known` state must match the last fact of this push.
    const isDrained = to >= outbox.edges().head;
    const given = states.take(CHARS.states >> shrink, isDrained && outbox.daysLeft() === 0);
    const told = takeDays(CHARS.days >> shrink);
    const more = !isDrained || given.more || told.telling !== null;
    const holdMs = more ? 0 : deps.holdMs();
    const around = { ...aroundFacts(deps, to), ...(holdMs > 0 && { holdMs }) };
    const parts = { facts: facts.texts, states: given.texts, days: told.texts };
    const { body, bytes } = await packed(around, parts);
    if (body === null) {
      if (MAX_FACTS >> shrink > 1) return pack(shrink + 1);
      if (facts.texts.length === 0) throw new Error(`States of ${bytes} bytes exceed the limit of a push`);
      log.error("A fact exceeds the limit of a push and is not sent", { fact: to, bytes });
      tooLarge.add(to);
      return pack(shrink);
    }
    return {
      body,
      to,
      facts: facts.texts.length,
      gone: facts.gone,
      more,
      held: holdMs > 0,
      acknowledged() {
        given.acknowledged();
        tookDays(told);
      },
    };
  }

  function tookDays({ taken, isLast, telling: of }: ReturnType<typeof takeDays>): void {
    if (of === null || of !== telling) return;
    of.parts = of.parts.slice(taken.length);
    for (const part of taken)
      if (part.table === "users") usersTold = Math.max(usersTold, part.rows.at(-1)?.id ?? 0);
    if (!isLast) return;
    outbox.dayDone(of.due, usersTold);
    telling = null;
  }

  return {
    next: (): Promise<Batch> => pack(0),
    restartDays(): void {
      telling = null;
      usersTold = outbox.usersSent();
    },
  };
}

/** Builds a push without content: the first of a process, or the last. */
export async function bareOf(
  deps: AroundDeps,
  what: Pick<Push, "stops"> & Partial<Pick<Push, "hello">>,
): Promise<Batch> {
  const to = deps.outbox.cursor();
  const { body } = await packed({ ...aroundFacts(deps, to), ...what }, { facts: [], states: [], days: [] });
  if (body === null) throw new Error("An empty push exceeds the limit of a push");
  return { body, to, facts: 0, gone: 0, more: true, held: false, acknowledged() {} };
}

function aroundFacts({ outbox, head, now, waitingSince, toldUntil }: AroundDeps, to: number) {
  const told = toldUntil();
  const { oldest, head: newest } = outbox.edges();
  const from = outbox.cursor() + 1;
  return {
    ...head,
    epoch: outbox.epoch(),
    from,
    to,
    gap: outbox.hasLost() || (oldest ?? newest + 1) > from,
    sentAt: now(),
    head: newest,
    waitingSince: to >= newest ? null : waitingSince(),
    daysLeft: outbox.daysLeft() || null,
    hello: false,
    begins: !outbox.isMet(),
    ...(told !== null && { toldUntil: told }),
  } satisfies Omit<Push, "facts" | "states" | "days">;
}

type Texts = Readonly<Record<"facts" | "states" | "days", readonly string[]>>;

async function packed(around: object, { facts, states, days }: Texts) {
  const parts = `"facts":[${facts}],"states":[${states}],"days":[${days}]`;
  const text = Buffer.from(`${JSON.stringify(around).slice(0, -1)},${parts}}`);
  const bytes = text.length;
  const body = bytes > MAX_UNPACKED_BYTES ? null : new Uint8Array(await Bun.zstdCompress(text));
  return { body: body !== null && body.length > MAX_PACKED_BYTES ? null : body, bytes };
}

/**
 * Keeps the last row of each fact. Facts are read in their current state, so earlier rows would repeat the
 * same content.
 */
function onceEach(rows: readonly OutboxRow[]): OutboxRow[] {
  const last = new Map(rows.map((row) => [`${row.kind} ${row.key}`, row.seq]));
  return rows.filter((row) => last.get(`${row.kind} ${row.key}`) === row.seq);
}
