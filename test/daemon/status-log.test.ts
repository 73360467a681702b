import { expect, test } from "bun:test";
import { createStatusLog } from "../../src/daemon/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { daemon } from "../domain/make.ts";
import { picture } from "../http/make.ts";
import { recordingLog } from "../store/recording-log.ts";

type Shown = Partial<ServerPicture>;

const error: ServerPicture["error"] = { code: "LICENSE_SERVER_UNREACHABLE", message: "no", details: null };
const acmed = daemon({ name: "acmed" });
const up: Shown = { status: "up", daemons: [acmed, daemon({ name: "toold" })] };
const half: Shown = { status: "degraded", daemons: [acmed, daemon({ name: "toold", status: "down" })] };
const gone: Shown = { status: "down", error, daemons: [daemon({ name: "acmed", status: "unknown" })] };

test.each<[string, Shown[], string[]]>([
  [
    "degraded and whole again: one line each, whatever the polls between",
    [up, up, half, half, half, up, up],
    [
      "warn server is degraded, up to degraded",
      "warn license daemon is down, toold up to down",
      "info server is up again, degraded to up",
      "info license daemon is up again, toold down to up",
    ],
  ],
  ["no answer: the collector's line", [up, gone, gone, up], []],
  [
    "an answer that it is down, and its way back",
    [{ status: "up" }, { status: "down" }, { status: "down" }, { status: "up" }],
    ["warn server is down, up to down", "info server is up again, down to up"],
  ],
  [
    "an answer again, and degraded",
    [{ status: "up" }, gone, { ...gone, status: "degraded", error: null }],
    ["warn server is degraded, down to degraded"],
  ],
])("%s", (_, pictures, expected) => {
  const log = recordingLog();
  const note = createStatusLog(log);
  let before: ServerPicture | null = null;
  for (const more of pictures) {
    const after: ServerPicture = picture("eda", more);
    note({ server: after.server, before, after, snapshot: { version: 1, servers: [after] } });
    before = after;
  }
  const lines = log.lines.map(({ level, message, fields: { daemon, from, to } }) => {
    const who = daemon === undefined ? "" : `${daemon} `;
    return `${level} ${message}, ${who}${from} to ${to}`;
  });
  expect(lines).toEqual(expected);
  for (const { fields } of log.lines) expect(fields.server).toBe("eda");
});
