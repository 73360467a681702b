import { eq, sql } from "drizzle-orm";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { whenFree } from "./busy.ts";
import type { Store } from "./open.ts";
import { headOf, joinPicture, type Part, partsOf, readHead } from "./picture-parts.ts";
import { pictureParts, pictures } from "./schema.ts";

/** How much is written, or removed, before the event loop gets its turn. */
const BATCH_CHARACTERS = 128 * 1024;
const BATCH_REMOVALS = 16;

/** The last picture of each server, so that a restart shows it at once. */
export interface Pictures {
  /**
   * Stores a picture; only what changed is written. A large one is taken apart and written in slices with turns of the
   * event loop between them: its parts first, then, in one transaction, the head that makes them the picture. So the
   * stored picture is at any moment the old one or the new one, whole. Rejects with StoreError; the old one stands then.
   */
  save(picture: ServerPicture, commit?: Commit): Promise<void>;
  /** Every stored picture as it was saved, by server id. One that cannot be read is logged and left out. */
  load(): ReadonlyMap<string, ServerPicture>;
}

/** Commits the last step of a save, perhaps together with other facts. Rejects when nothing of it stands. */
export type Commit = (work: () => void) => Promise<void>;

export interface PicturesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

export function createPictures({ store, clock, log }: PicturesDeps): Pictures {
  const { db } = store;
  const ofServer = eq(pictureParts.serverId, sql.placeholder("serverId"));
  const hashes = db.select({ hash: pictureParts.hash }).from(pictureParts).where(ofServer).prepare();
  const readParts = db.select().from(pictureParts).where(ofServer).prepare();
  const addPart = db
    .insert(pictureParts)
    .values({
      serverId: sql.placeholder("serverId"),
      hash: sql.placeholder("hash"),
      body: sql.placeholder("body"),
    })
    .prepare();
  const removePart = db
    .delete(pictureParts)
    .where(sql`${ofServer} and ${eq(pictureParts.hash, sql.placeholder("hash"))}`)
    .prepare();
  const writeHead = db
    .insert(pictures)
    .values({
      serverId: sql.placeholder("serverId"),
      savedAt: sql.placeholder("savedAt"),
      head: sql.placeholder("head"),
    })
    .onConflictDoUpdate({
      target: pictures.serverId,
      set: { savedAt: sql`excluded.saved_at`, head: sql`excluded.head` },
    })
    .prepare();

  /** Saves of one server go one after the other: the second must not remove what the first is about to need. */
  const running = new Map<string, Promise<void>>();

  const alone: Commit = async (work) => store.transaction(() => work());

  async function save(picture: ServerPicture, commit: Commit): Promise<void> {
    const serverId = picture.server.id;
    const stored = new Set(store.read(() => hashes.all({ serverId })).map((row) => row.hash));
    const wanted: string[] = [];
    let batch: Part[] = [];
    let size = 0;
    const add = () => {
      for (const { hash, body } of batch) addPart.run({ serverId, hash, body });
    };
    for (const part of partsOf(picture)) {
      if (wanted.length > 0) await turn();
      wanted.push(part.hash);
      if (stored.has(part.hash)) continue;
      stored.add(part.hash);
      batch.push(part);
      size += part.body.length;
      if (size < BATCH_CHARACTERS) continue;
      await whenFree(() => store.transaction(add), store.busy);
      batch = [];
      size = 0;
    }

    const needed = new Set(wanted);
    const garbage = [...stored].filter((hash) => !needed.has(hash));
    const remove = (count: number) => {
      for (const hash of garbage.splice(0, count)) removePart.run({ serverId, hash });
    };
    const head = headOf(picture, wanted);
    await commit(() => {
      add();
      writeHead.run({ serverId, savedAt: clock.now(), head });
      remove(BATCH_REMOVALS);
    });
    while (garbage.length > 0) {
      await turn();
      await whenFree(() => store.transaction(() => remove(BATCH_REMOVALS)), store.busy);
    }
  }

  function loadOne(serverId: string, head: string): ServerPicture {
    const stored = readHead(head);
    if (stored.head.server.id !== serverId) throw new Error("it is another server's");
    const bodies = new Map(readParts.all({ serverId }).map((row) => [row.hash, row.body]));
    return joinPicture(stored.head, stored.parts, bodies);
  }

  return {
    save(picture, commit = alone) {
      const { id } = picture.server;
      const before = running.get(id);
      // What the save before came to is told to its own caller.
      const done =
        before === undefined
          ? save(picture, commit)
          : before.then(noop, noop).then(() => save(picture, commit));
      running.set(id, done);
      const forget = () => {
        if (running.get(id) === done) running.delete(id);
      };
      done.then(forget, forget);
      return done;
    },

    load() {
      const loaded = new Map<string, ServerPicture>();
      const failed = (error: unknown, server?: string) =>
        log.warn("A stored picture cannot be read: the next poll makes a new one", {
          ...(server !== undefined && { server }),
          error: error instanceof Error ? error.message : String(error),
        });
      let ids: readonly string[] = [];
      try {
        ids = store.read(() => db.select({ id: pictures.serverId }).from(pictures).all()).map(({ id }) => id);
      } catch (error) {
        failed(error);
      }
      const readPicture = db
        .select({ head: pictures.head })
        .from(pictures)
        .where(eq(pictures.serverId, sql.placeholder("id")))
        .prepare();
      for (const id of ids) {
        try {
          const picture = store.read(() => {
            const row = readPicture.get({ id });
            return row === undefined ? null : loadOne(id, row.head);
          });
          if (picture !== null) loaded.set(id, picture);
        } catch (error) {
          failed(error, id);
        }
      }
      return loaded;
    },
  };
}

function noop(): void {}

/** A turn of the event loop for everybody else. */
function turn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}
