import type { ServerPicture } from "../../domain/picture.ts";
import { UserRecord } from "../../domain/records.ts";
import { perPicture, type TextPiece, textPiece } from "../answers/fragments.ts";
import { type ListKind, ordered } from "../answers/list.ts";

import type { Sort } from "../parameters.ts";
import { userRecords } from "../records/to-records.ts";

export const USERS: ListKind<UserRecord> = {
  plural: "users",
  record: UserRecord,
  identity: ["server", "daemon", "feature", "kind", "user", "host", "display", "handle"],
};

/** Who holds seats longest stands first; unknown starts come last. */
export const BY_START: Sort<keyof UserRecord> = { field: "startedAt", descending: false };

/** A row as it is kept: written out, with what it is sorted by. */
interface Row extends TextPiece {
  /** Epoch ms; unknown = Infinity, which puts it last. */
  readonly start: number;
}

/**
 * All rows of all servers by start, written out. Each server's rows are sorted and
 * kept with its picture, so that after a poll only that server's are made anew and the rest is merged: servers in
 * the order of their ids and a stable sort keep ties in the order of identity.
 */
export function createUserRows(): (servers: readonly ServerPicture[]) => readonly TextPiece[] {
  const rowsOf = perPicture(({ server, features }): readonly Row[] => {
    const records = features.flatMap((feature) => userRecords(server.id, feature));
    return ordered(records, BY_START, USERS.identity).map((record) => ({
      start: record.startedAt === null ? Infinity : Date.parse(record.startedAt),
      ...textPiece(JSON.stringify(record)),
    }));
  });
  return (servers) => {
    const byId = servers.toSorted((a, b) => (a.server.id < b.server.id ? -1 : 1));
    return byId.flatMap(rowsOf).sort((a, b) => (a.start === b.start ? 0 : a.start - b.start));
  };
}
