import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";

/**
 * A picture as text for the store: a head (all but the features) and parts (runs of rows: a feature, then its pools,
 * checkouts, reservations, queue entries). A part is named by the SHA-256 of its text and ends where the content says
 * so, not at a fixed count: one checkout more or less changes the part it stands in, and not every part behind.
 */

/** Raise it when the shape of ServerPicture changes: pictures of another format are not read, the next poll makes new ones. */
export const PICTURE_FORMAT = 1;

const MIN_ROWS = 100;
const MAX_ROWS = 500;
/** A part ends behind a row whose hash is a multiple of this: some 100 + 128 rows on the average. */
const ROWS_BETWEEN_ENDS = 128n;

export interface Part {
  readonly hash: string;
  /** A JSON array of `[kind, row]`, one a line. */
  readonly body: string;
}

/** Rows of a feature that stand in lists of their own. */
const LISTS = ["pools", "checkouts", "reservations", "queue"] as const;
type ListName = (typeof LISTS)[number];
type Lists = { [Name in ListName]: FeaturePicture[Name][number][] };

/** One line of a part. A feature without `collectedAt` has its picture's. */
type Row =
  | readonly ["feature", Omit<FeaturePicture, ListName | "collectedAt"> & { collectedAt?: number | null }]
  | { [Name in ListName]: readonly [Name, Lists[Name][number]] }[ListName];

/** Makes the parts one by one, each in a few milliseconds: the caller may yield between them. */
export function* partsOf(picture: ServerPicture): Generator<Part> {
  let lines: string[] = [];
  for (const line of linesOf(picture)) {
    lines.push(line);
    const isEnd = lines.length >= MIN_ROWS && Bun.hash.wyhash(line) % ROWS_BETWEEN_ENDS === 0n;
    if (isEnd || lines.length >= MAX_ROWS) {
      yield part(lines);
      lines = [];
    }
  }
  if (lines.length > 0) yield part(lines);
}

export function headOf(picture: ServerPicture, parts: readonly string[]): string {
  const { features: _, ...head } = picture;
  return JSON.stringify({ format: PICTURE_FORMAT, parts, head });
}

/** Hashes of the parts that a head asks for. Throws when it is none of ours. */
export function readHead(text: string): {
  readonly parts: readonly string[];
  readonly head: Omit<ServerPicture, "features">;
} {
  const stored = JSON.parse(text) as {
    format: number;
    parts: string[];
    head: Omit<ServerPicture, "features">;
  };
  if (stored.format !== PICTURE_FORMAT) throw new Error(`stored in format ${stored.format}`);
  return stored;
}

/** Puts a picture together again. Throws when a part is missing or is not what its name says. */
export function joinPicture(
  head: Omit<ServerPicture, "features">,
  hashes: readonly string[],
  bodies: ReadonlyMap<string, string>,
): ServerPicture {
  const features: FeaturePicture[] = [];
  let lists: Lists | null = null;
  for (const hash of hashes) {
    const body = bodies.get(hash);
    if (body === undefined) throw new Error("a part is missing");
    if (hashOf(body) !== hash) throw new Error("a part is damaged");
    for (const row of JSON.parse(body) as Row[]) {
      if (row[0] === "feature") {
        lists = { pools: [], checkouts: [], reservations: [], queue: [] };
        features.push({ collectedAt: head.collectedAt, ...row[1], ...lists });
      } else {
        if (lists === null) throw new Error("a row stands before its feature");
        addTo(lists, row);
      }
    }
  }
  return { ...head, features };
}

function addTo(lists: Lists, row: Exclude<Row, readonly ["feature", unknown]>): void {
  switch (row[0]) {
    case "pools":
      return void lists.pools.push(row[1]);
    case "checkouts":
      return void lists.checkouts.push(row[1]);
    case "reservations":
      return void lists.reservations.push(row[1]);
    case "queue":
      return void lists.queue.push(row[1]);
  }
}

function* linesOf(picture: ServerPicture): Generator<string> {
  for (const feature of picture.features) {
    const { pools, checkouts, reservations, queue, collectedAt, ...rest } = feature;
    // The time of the picture's last good reading stands in the head: here it would change every part at every poll.
    const own = collectedAt === picture.collectedAt ? rest : { ...rest, collectedAt };
    yield JSON.stringify(["feature", own] satisfies Row);
    const lists = { pools, checkouts, reservations, queue };
    for (const kind of LISTS) for (const row of lists[kind]) yield JSON.stringify([kind, row]);
  }
}

function part(lines: readonly string[]): Part {
  const body = `[${lines.join(",\n")}]`;
  return { hash: hashOf(body), body };
}

function hashOf(body: string): string {
  return new Bun.CryptoHasher("sha256").update(body).digest("base64url");
}
