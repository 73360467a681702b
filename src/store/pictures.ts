import { sql } from "drizzle-orm";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import type { Clock } from "../domain/time/clock.ts";
import { inSlices } from "../domain/time/slices.ts";
import { placeholdersOf } from "./database/placeholders.ts";
import { pictures } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** Raise it when the shape of ServerPicture changes: pictures of another format are not read, the next poll makes new ones. */
export const PICTURE_FORMAT = 1;

/** Checkouts that are encoded in one step: about a millisecond. */
const ROWS_A_STEP = 500;
const OPEN_BRACKET = 0x5b;

/** The last picture of each server, so that a restart shows it at once. */
export interface Pictures {
  /** Encodes a picture in slices of the event loop, and compresses it off the loop. */
  rowOf(picture: ServerPicture): Promise<PictureRow>;
  /** Stores a row; runs in the caller's transaction. */
  write(row: PictureRow): void;
  /** The row is stored: its features need not be written again while they stay the same. */
  committed(row: PictureRow): void;
  /** Every stored picture as it was saved, by server id. One that cannot be read is logged and left out. */
  load(): ReadonlyMap<string, ServerPicture>;
}

export interface PictureRow {
  readonly serverId: string;
  /** JSON: all but the features. */
  readonly head: string;
  readonly hash: bigint;
  /** zstd of a JSON array; null when the same features are stored already. */
  readonly features: Uint8Array | null;
}

type Head = Omit<ServerPicture, "features">;

export function createPictures(store: Store, clock: Clock, log: Log): Pictures {
  const { db } = store;
  /** Hashes of the stored features by server. */
  const stored = new Map<string, bigint>();
  const { features, ...values } = placeholdersOf(pictures);
  const head = { savedAt: sql`excluded.saved_at`, head: sql`excluded.head` };
  const target = pictures.serverId;
  const writeHead = db.insert(pictures).values(values).onConflictDoUpdate({ target, set: head }).prepare();
  const writeAll = db
    .insert(pictures)
    .values({ ...values, features })
    .onConflictDoUpdate({ target, set: { ...head, features: sql`excluded.features` } })
    .prepare();

  return {
    async rowOf(picture) {
      const { features: _, ...rest } = picture;
      const texts: string[] = [];
      await inSlices(encode(picture, texts));
      const serverId = picture.server.id;
      const hash = texts.reduce((seed, text) => Bun.hash.wyhash(text, seed), 0n);
      const isStored = stored.get(serverId) === hash;
      const features = isStored ? null : await Bun.zstdCompress(`[${texts.join("")}]`);
      return { serverId, head: JSON.stringify({ format: PICTURE_FORMAT, head: rest }), hash, features };
    },
    write({ serverId, head, features }) {
      const row = { serverId, savedAt: clock.now(), head };
      if (features === null) writeHead.run(row);
      else writeAll.run({ ...row, features });
    },
    committed: ({ serverId, hash }) => void stored.set(serverId, hash),
    load() {
      const loaded = new Map<string, ServerPicture>();
      const failed = (error: unknown, server?: string) =>
        log.warn("A stored picture cannot be read: the next poll makes a new one", {
          ...(server !== undefined && { server }),
          error: messageOf(error),
        });
      // One by one: a damaged page takes no other picture with it.
      const ids = store.sqlite.query<{ id: string }, []>("SELECT server_id AS id FROM pictures");
      const rows = store.sqlite.query<StoredRow, [string]>(
        "SELECT head, features FROM pictures WHERE server_id = ?",
      );
      try {
        for (const { id } of store.read(() => ids.all())) {
          try {
            const row = store.read(() => rows.get(id));
            if (row !== null) loaded.set(id, decode(id, row));
          } catch (error) {
            failed(error, id);
          }
        }
      } catch (error) {
        failed(error);
      }
      return loaded;
    },
  };
}

interface StoredRow {
  readonly head: string;
  readonly features: Uint8Array | null;
}

/** The features as pieces of JSON whose concatenation is the inside of an array. */
export function* encode({ features, collectedAt }: ServerPicture, texts: string[]): Generator<void> {
  for (const [index, { checkouts, collectedAt: own, ...feature }] of features.entries()) {
    // The time of the picture's last good reading stands in the head: here it would change the text at every poll.
    const time = own === collectedAt ? {} : { collectedAt: own };
    const open = JSON.stringify({ ...feature, ...time }).slice(0, -1);
    texts.push(`${index === 0 ? "" : ","}${open},"checkouts":[`);
    for (let from = 0; from < checkouts.length; from += ROWS_A_STEP) {
      const rows = JSON.stringify(checkouts.slice(from, from + ROWS_A_STEP)).slice(1, -1);
      texts.push(from === 0 ? rows : `,${rows}`);
      yield;
    }
    texts.push("]}");
    yield;
  }
}

/** Throws when a row is none of ours, or is another server's. */
function decode(serverId: string, { head: text, features }: StoredRow): ServerPicture {
  const { format, head } = JSON.parse(text) as { format: number; head: Head };
  if (format !== PICTURE_FORMAT) throw new Error(`stored in format ${format}`);
  if (head.server.id !== serverId) throw new Error("it is another server's");
  if (features === null) throw new Error("its features are missing");
  // A row that a migration made is not compressed.
  const json = features[0] === OPEN_BRACKET ? Buffer.from(features) : Bun.zstdDecompressSync(features);
  const list = JSON.parse(json.toString()) as (Omit<FeaturePicture, "collectedAt"> &
    Partial<FeaturePicture>)[];
  const { collectedAt } = head;
  return { ...head, features: list.map((feature) => ({ collectedAt, ...feature })) };
}
