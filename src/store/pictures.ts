import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import type { Clock } from "../domain/time/clock.ts";
import { inSlices } from "../domain/time/slices.ts";
import type { Store } from "./open/open.ts";

/**
 * Version of the stored form of ServerPicture; increase it when the shape changes. Stored pictures of
 * another version are ignored, and the next poll makes new ones.
 */
export const PICTURE_FORMAT = 1;

/** Number of checkouts encoded in one step, which takes about a millisecond. */
const ROWS_A_STEP = 500;
const OPEN_BRACKET = 0x5b;

export type Pictures = ReturnType<typeof createPictures>;

export interface PictureRow {
  readonly serverId: string;
  /** The picture without its features, as JSON. */
  readonly head: string;
  /** The features as a JSON array, compressed with zstd; null if the same features are stored already. */
  readonly features: Uint8Array | null;
  readonly compared: Timeless;
}

type Head = Omit<ServerPicture, "features">;

/** The last picture of each server, so that a restart shows it at once. */
export function createPictures({ sqlite, read }: Store, clock: Clock, log: Log) {
  const stored = new Map<string, Timeless>();
  // Prepared SQL, because each poll writes a row. If `features` is null, the stored features stay.
  const write = sqlite.query<null, [string, number, string, Uint8Array | null]>(
    `INSERT INTO pictures (server_id, saved_at, head, features) VALUES (?, ?, ?, ?)
     ON CONFLICT (server_id) DO UPDATE SET saved_at = excluded.saved_at, head = excluded.head,
       features = ifnull(excluded.features, features)`,
  );
  const ids = sqlite.query<{ id: string }, []>("SELECT server_id AS id FROM pictures");
  const rows = sqlite.query<StoredRow, [string]>("SELECT head, features FROM pictures WHERE server_id = ?");

  return {
    /** Encodes a picture in slices of the event loop; features are included only if they changed. */
    async rowOf(picture: ServerPicture): Promise<PictureRow> {
      const { features: _, ...rest } = picture;
      const serverId = picture.server.id;
      const compared = timeless(picture);
      const isStored = Bun.deepEquals(stored.get(serverId), compared);
      const features = isStored ? null : await compressed(compared);
      return { serverId, head: JSON.stringify({ format: PICTURE_FORMAT, head: rest }), features, compared };
    },
    write: ({ serverId, head, features }: PictureRow): void =>
      void write.run(serverId, clock.now(), head, features),
    /** Called after the commit, so that unchanged features are not written again. */
    committed: ({ serverId, compared }: PictureRow): void => void stored.set(serverId, compared),
    load(): ReadonlyMap<string, ServerPicture> {
      const loaded = new Map<string, ServerPicture>();
      const attempt = (server: string | undefined, work: () => void) => {
        try {
          work();
        } catch (error) {
          log.warn("A stored picture cannot be read: the next poll makes a new one", {
            ...(server !== undefined && { server }),
            error: messageOf(error),
          });
        }
      };
      attempt(undefined, () => {
        // Read one row at a time, so that a damaged page affects no other picture.
        for (const { id } of read(() => ids.all()))
          attempt(id, () => {
            const row = read(() => rows.get(id));
            if (row !== null) loaded.set(id, decode(id, row));
          });
      });
      return loaded;
    },
  };
}

interface StoredRow {
  readonly head: string;
  readonly features: Uint8Array | null;
}

/**
 * Returns the features without the time of the last good reading, which is stored in the head and would
 * change the features at every poll. Checkouts that a poll found unchanged are the same objects as before,
 * so comparing them is free.
 */
function timeless({ features, collectedAt }: ServerPicture) {
  return features.map(({ collectedAt: own, ...feature }) =>
    own === collectedAt ? feature : { ...feature, collectedAt: own },
  );
}

type Timeless = Readonly<ReturnType<typeof timeless>>;

async function compressed(features: Timeless): Promise<Uint8Array> {
  const texts: string[] = [];
  await inSlices(encode(features, texts));
  return Bun.zstdCompress(`[${texts.join("")}]`);
}

export function* encode(features: Timeless, texts: string[]): Generator<void> {
  for (const [index, { checkouts, ...feature }] of features.entries()) {
    const open = JSON.stringify(feature).slice(0, -1);
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

function decode(serverId: string, { head: text, features }: StoredRow): ServerPicture {
  const { format, head } = JSON.parse(text) as { format: number; head: Head };
  if (format !== PICTURE_FORMAT) throw new Error(`stored in format ${format}`);
  if (head.server.id !== serverId) throw new Error("it is another server's");
  if (features === null) throw new Error("its features are missing");
  // A row made by a migration is not compressed.
  const json = features[0] === OPEN_BRACKET ? Buffer.from(features) : Bun.zstdDecompressSync(features);
  const list = JSON.parse(json.toString()) as (Omit<FeaturePicture, "collectedAt"> &
    Partial<FeaturePicture>)[];
  const { collectedAt } = head;
  return { ...head, features: list.map((feature) => ({ collectedAt, ...feature })) };
}
