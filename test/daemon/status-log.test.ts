import { expect, test } from "bun:test";
import { createStatusLog } from "../../src/daemon/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import type { Change } from "../../src/live/live.ts";
import { picture } from "../http/make.ts";

type Daemon = ServerPicture["daemons"][number];

const daemon = (name: string, status: Daemon["status"]): Daemon => ({
  name,
  status,
  version: null,
  error: null,
  totals: null,
});
const refused: ServerPicture["error"] = {
  code: "LICENSE_SERVER_UNREACHABLE",
  message: "Connection refused",
  details: null,
};

/** What is logged while a server shows these pictures one after the other. */
function lines(...pictures: Partial<ServerPicture>[]): string[] {
  const said: string[] = [];
  const write = (level: string) => (message: string, fields: object) =>
    void said.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const note = createStatusLog({
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
  } as Parameters<typeof createStatusLog>[0]);
  let before: ServerPicture | null = null;
  for (const more of pictures) {
    const after: ServerPicture = picture("eda", more);
    const change: Change = {
      server: after.server,
      before,
      after,
      snapshot: { version: 1, servers: [after] },
    };
    note(change);
    before = after;
  }
  return said;
}

test("a server that is degraded and whole again is one line each, whatever the polls between", () => {
  const up = { status: "up", daemons: [daemon("acmed", "up"), daemon("toold", "up")] } as const;
  const half = { status: "degraded", daemons: [daemon("acmed", "up"), daemon("toold", "down")] } as const;
  expect(lines(up, up, half, half, half, up, up)).toEqual([
    'warn server is degraded {"server":"eda","from":"up","to":"degraded"}',
    'warn license daemon is down {"server":"eda","daemon":"toold","from":"up","to":"down"}',
    'info server is up again {"server":"eda","from":"degraded","to":"up"}',
    'info license daemon is up again {"server":"eda","daemon":"toold","from":"down","to":"up"}',
  ]);
});

test("that a server does not answer is the collector's line", () => {
  const up = { status: "up", daemons: [daemon("acmed", "up")] } as const;
  const gone = { status: "down", error: refused, daemons: [daemon("acmed", "unknown")] } as const;
  expect(lines(up, gone, gone, up)).toEqual([]);
});

test("a server that answers that it is down is a line, and its way back too", () => {
  const up = { status: "up", daemons: [] } as const;
  const down = { status: "down", daemons: [] } as const;
  expect(lines(up, down, down, up).map((line) => line.split(" {")[0])).toEqual([
    "warn server is down",
    "info server is up again",
  ]);
});

test("a server that answers again and is degraded is told of as such", () => {
  const gone = { status: "down", error: refused, daemons: [] } as const;
  const half = { status: "degraded", daemons: [] } as const;
  expect(lines({ status: "up" }, gone, half).map((line) => line.split(" {")[0])).toEqual([
    "warn server is degraded",
  ]);
});
