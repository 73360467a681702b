import type { ServerPicture } from "../domain/picture.ts";
import { featureRecord, serverRecord, userRecords } from "../http/records/to-records.ts";
import { printTable } from "./table.ts";

/** Control characters that JSON lets through, and that some terminals act on. */
const RAW_CONTROLS = /[\u007f-\u009f]/g;

/** A picture as the API's records: one JSON text with `servers`, `features`, `users`. */
export function printRecords(picture: ServerPicture): string {
  const { id } = picture.server;
  const records = {
    servers: [serverRecord(picture)],
    features: picture.features.map((feature) => featureRecord(id, feature)),
    users: picture.features.flatMap((feature) => userRecords(id, feature)),
  };
  const json = JSON.stringify(records, null, 2);
  return `${json.replace(RAW_CONTROLS, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)}\n`;
}

/** A picture for people: the server, its features, and who holds them. `columns` are those of their terminal. */
export function printPicture(picture: ServerPicture, columns?: number): string {
  const table = (heads: readonly string[], rows: readonly (readonly string[])[]) =>
    rows.length === 0 ? "" : printTable(heads, rows, columns);
  const server = serverRecord(picture);
  const head = `${server.id}: ${server.status}, ${server.state}${seconds(server.pollDurationMs)}\n`;
  const parts = [
    ...server.members.map(({ host, port, status, master, version, error }) => [
      "member",
      `${port === null ? "" : `${port}@`}${host}${master ? " (master)" : ""}`,
      status,
      version ?? "",
      error ?? "",
    ]),
    ...server.daemons.map(({ name, status, version, error }) => [
      "daemon",
      name,
      status,
      version ?? "",
      error ?? "",
    ]),
  ];
  const features = picture.features.map((feature) => {
    const { daemon, name, total, used, available, queued, unlimited, expiresOn, permanent, state } =
      featureRecord(server.id, feature);
    const expiry = permanent ? "permanent" : (expiresOn ?? "?");
    const seats = unlimited ? "unlimited" : known(total);
    return [
      daemon,
      name,
      seats,
      known(used),
      unlimited ? "" : known(available),
      queued ? String(queued) : "",
      expiry,
      state,
    ];
  });
  const users = picture.features
    .flatMap((feature) => userRecords(server.id, feature))
    .map(({ kind, feature, user, host, count, startedAt, reservedFor }) => [
      kind,
      feature,
      user ?? (reservedFor === null ? "?" : `${reservedFor.type} ${reservedFor.name}`),
      host ?? "",
      String(count),
      startedAt ?? "",
    ]);
  return [
    head,
    table(["part", "name", "status", "version", "error"], parts),
    table(["daemon", "feature", ">total", ">used", ">free", ">queued", "expires", "state"], features),
    table(["kind", "feature", "user", "host", ">seats", "since"], users),
  ]
    .filter((text) => text !== "")
    .join("\n");
}

function known(count: number | null): string {
  return count === null ? "?" : String(count);
}

function seconds(ms: number | null): string {
  return ms === null ? "" : `, polled in ${(ms / 1000).toFixed(2)} s`;
}
