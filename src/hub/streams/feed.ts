import type { EventType, MetricsEvent, PictureNotice, StoredEvent } from "../../domain/events.ts";
import { iso } from "../../domain/time/clock.ts";
import type { StreamsPort } from "../../http/streams/broadcaster.ts";
import type { Bus, Published } from "../../live/bus.ts";
import type { EventRow } from "../../store/events.ts";
import type { Pool } from "../database/connect.ts";
import type { Partitions } from "../database/partitions.ts";
import { unpackEvents } from "../push/new-events.ts";
import { giveIds, publish, type StreamState, streamState } from "./publish.ts";

const READ_EVENTS = 500;
/** Maximum lead of an id (epoch ms) over the clock. With more, the id is not its event's time. */
const TRUSTED_AHEAD_MS = 1_000;

interface FeedDeps {
  readonly pool: Pool;
  readonly partitions: Partitions;
  /** Reports whether there are clients. Without clients, no events are read. */
  readonly isWatched: () => boolean;
  readonly licenses: () => MetricsEvent["licenses"];
  readonly wake: () => void;
}

type Unnumbered<E> = Omit<E, "id" | "timestamp">;
export type SitePictureNotice = Unnumbered<PictureNotice> & { readonly site: string };

interface Waiting {
  readonly event: Unnumbered<MetricsEvent> | SitePictureNotice;
  readonly patch?: NonNullable<Published["patch"]>;
}

export type Feed = Awaited<ReturnType<typeof createFeed>>;

/**
 * Event source of this hub's streams: published events, and this hub's own samples and pictures, whose ids
 * belong to the same sequence.
 */
export async function createFeed({ pool, partitions, isWatched, licenses, wake }: FeedDeps) {
  let state: StreamState = await streamState(pool);
  /** Live clients have received all events up to this id. */
  let last = state.last;
  let waiting: Waiting[] = [];
  let looking: Promise<void> | null = null;
  /** Pages are read one at a time: hundreds of resuming clients must not take the connections of pushes. */
  let pages: Promise<unknown> = Promise.resolve();
  const listeners = new Set<Parameters<Bus["subscribe"]>[0]>();

  function tell(batch: readonly Published[]): void {
    for (const listener of listeners) listener(batch);
  }

  async function tellUpTo(id: number): Promise<void> {
    while (last < id && isWatched()) {
      const rows = await readEvents(pool, last, id, READ_EVENTS);
      // Update `last` before telling clients, because new clients are live from `last` on.
      last = rows.length < READ_EVENTS ? id : (rows.at(-1)?.id ?? id);
      if (rows.length > 0) tell(rows.map(publishedRow));
    }
    last = Math.max(last, id);
  }

  async function tellWaiting(): Promise<void> {
    const mine = waiting;
    waiting = [];
    const isSample = ({ event }: Waiting) => event.type === "metrics";
    const seats = mine.some(isSample) ? licenses() : undefined;
    const first = await giveIds(pool, mine.length);
    await tellUpTo(first - 1);
    last = first + mine.length - 1;
    tell(
      mine.map(({ event, patch }, index) => {
        const id = first + index;
        const time = id - state.now > TRUSTED_AHEAD_MS ? state.now : id;
        const { type, ...fields } = event.type === "metrics" ? { ...event, licenses: seats } : event;
        const said = { type, id: `${type}-${id}`, timestamp: iso(time), ...fields } as Published["event"];
        return { id, event: said, json: JSON.stringify(said), stored: false, ...(patch && { patch }) };
      }),
    );
  }

  async function look(): Promise<void> {
    state = await streamState(pool);
    if (state.hasNews) {
      await publish(pool, partitions, state);
      state = await streamState(pool);
    }
    await tellUpTo(state.last);
    if (waiting.length > 0) await tellWaiting();
  }

  function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  }

  const bus = {
    subscribe(listener: Parameters<Bus["subscribe"]>[0]) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    lastPublished: () => last,
    sample(event: Unnumbered<MetricsEvent>): void {
      waiting.push({ event });
      wake();
    },
    pass(event: SitePictureNotice, patch: NonNullable<Published["patch"]>): void {
      waiting.push({ event, patch });
      wake();
    },
  };

  const history: StreamsPort["history"] = {
    async catchUp() {
      // Wait for a look in progress, which may have begun before the client's last event was published, and
      // look again.
      await looking;
      await lookOnce();
    },
    page(after, limit, only) {
      // Read only up to here, because later events arrive live.
      const upTo = last;
      const page = pages.then(() => readEvents(pool, after, upTo, limit, only));
      pages = page.catch(() => {});
      return page;
    },
    oldestId: () => state.oldest,
    deletedThrough: () => state.deleted,
    holesAbove: () => [],
  };

  return { bus, history, look: lookOnce };
}

/**
 * Returns events in id order: at least `limit` if there are that many. Exceeds `limit` by at most one
 * packed row.
 */
async function readEvents(
  pool: Pool,
  after: number,
  upTo: number,
  limit: number,
  only?: EventType,
): Promise<EventRow[]> {
  const ofType = only === undefined ? "" : `AND type = '${only}'`;
  const rows: StoredRow[] = await pool.unsafe(
    `SELECT id, type, level, source, body AS json, packed FROM (
       SELECT *, sum(least(number, id - $1)) OVER (ORDER BY id) - least(number, id - $1) AS before
       FROM (SELECT * FROM events WHERE id > $1 AND id <= $2 ${ofType} ORDER BY id LIMIT $3) AS first
     ) AS counted WHERE before < $3 ORDER BY id`,
    [after, upTo, limit],
  );
  return rows.flatMap(eventsIn).filter(({ id }) => id > after);
}

type StoredRow = Omit<EventRow, "id"> & { readonly id: string; readonly packed: Uint8Array | null };

function eventsIn({ packed, ...row }: StoredRow): EventRow[] {
  if (packed === null) return [{ ...row, id: Number(row.id) }];
  const events = unpackEvents(packed);
  return events.map(({ type, body }, index) => {
    const id = Number(row.id) - events.length + 1 + index;
    const json = `{"type":"${type}","id":"${type}-${id}",${body.slice(1)}`;
    return { id, type: type as EventType, level: null, source: null, json };
  });
}

function publishedRow({ id, json }: EventRow): Published {
  return { id, event: JSON.parse(json) as StoredEvent, json, stored: true };
}
