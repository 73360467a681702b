import type { StoredEvent } from "../domain/events.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { type Bucket, createRollupSum } from "../domain/stats/rollup.ts";
import type { Audience } from "../domain/words.ts";
import { packDayRollup, packHours, readDayRollup, unpackHours } from "../history/codec.ts";
import { renamed } from "../history/session-day.ts";
import type { DenialRow, SessionRow } from "./protocol.ts";

/** Replaces people and their machines with pseudonyms, as for anonymized keys but with another secret. */
export interface Anonymizer {
  user(name: string): string;
  host(name: string): string;
  /** Replaces the ids of imported sessions, which are derived from names. */
  session(id: number): number;
  picture(picture: ServerPicture): ServerPicture;
  event(json: string): string;
}

export type People = ReturnType<typeof createPeople>;

/** Filters stored data that leaves the site, by `[fleet] people`. Data that must not leave becomes null. */
export function createPeople(audience: Audience, anonymizer: Anonymizer) {
  const named = audience === "names";
  const user = (name: string | null) => (name === null ? null : anonymizer.user(name));
  const host = (name: string | null) => (name === null ? null : anonymizer.host(name));
  return {
    audience,
    user: (name: string) => (named ? name : anonymizer.user(name)),
    sessionDay(data: Uint8Array): Uint8Array | null {
      if (audience === "counts") return null;
      return named ? data : renamed(data, anonymizer.user, anonymizer.host);
    },
    /** Hours and rollups name users only by number, so pseudonyms do not change them. */
    hours: (dayAt: number, data: Uint8Array) =>
      audience === "counts" ? packHours(dayAt, unpackHours(dayAt, data).map(withoutUsers)) : data,
    rollup(dayAt: number, data: Uint8Array): Uint8Array {
      if (audience !== "counts") return data;
      const sum = createRollupSum();
      readDayRollup(dayAt, data, { ...sum, user() {} });
      return packDayRollup(dayAt, sum.take());
    },
    session(row: SessionRow): SessionRow | null {
      if (audience === "counts") return null;
      if (named) return row;
      return { ...row, id: anonymizer.session(row.id), user: user(row.user), host: host(row.host) };
    },
    sessionId: (id: number) => (named ? id : anonymizer.session(id)),
    denial(row: DenialRow): DenialRow {
      if (named) return row;
      if (audience === "counts") return { ...row, user: null, host: null, reason: null };
      return { ...row, user: user(row.user), host: host(row.host), reason: null };
    },
    event(json: string): StoredEvent | null {
      const event = JSON.parse(json) as StoredEvent;
      if (named) return event;
      // Withhold log lines, because they may name people anywhere.
      return event.type === "log" ? null : (JSON.parse(anonymizer.event(json)) as StoredEvent);
    },
    picture(picture: ServerPicture): ServerPicture {
      const shown = withoutWords(named ? picture : anonymizer.picture(picture));
      return audience === "counts" ? withoutPeople(shown) : shown;
    },
  };
}

const withoutUsers = ({ at, rollup }: Bucket): Bucket => ({ at, rollup: { ...rollup, users: [] } });

const NOTHING_OF_CONFIG = {
  tool: null,
  secretFile: null,
  caFile: null,
  encoding: null,
  logFile: null,
  logCommand: null,
};

function withoutWords(picture: ServerPicture): ServerPicture {
  const silent = <Row extends { readonly display: string | null; readonly qualifier: string | null }>(
    row: Row,
  ) => (row.display === null && row.qualifier === null ? row : { ...row, display: null, qualifier: null });
  return {
    ...picture,
    server: { ...picture.server, ...NOTHING_OF_CONFIG },
    error: picture.error && { ...picture.error, details: null },
    unparsed: [],
    features: picture.features.map((feature) => ({
      ...feature,
      checkouts: feature.checkouts.map(silent),
      queue: feature.queue.map(silent),
    })),
  };
}

function withoutPeople(picture: ServerPicture): ServerPicture {
  return {
    ...picture,
    features: picture.features.map(({ alsoHeldBy: _, assigned: __, ...feature }) => ({
      ...feature,
      checkouts: [],
      reservations: [],
      queue: [],
    })),
  };
}
