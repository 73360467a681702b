import { expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { createPlace, run } from "./rig.ts";

test("sends to every target, and reports which one failed", async () => {
  await using place = await createPlace();
  const got: unknown[] = [];
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/bad") return new Response(null, { status: 403 });
      got.push([await request.json(), request.headers.get("x-licmond-signature")]);
      return new Response();
    },
  });
  const script = join(place.folder, "pager");
  await Bun.write(script, `#!/bin/sh\ncat > '${place.folder}/paged'\n`);
  await chmod(script, 0o755);
  await Bun.write(join(place.folder, "secret"), "HUSH");
  const url = `http://127.0.0.1:${server.port}`;
  await place.write(`
[[notifications]]
type = "webhook"
url = "${url}/token-HUSH"
secret_file = "${place.folder}/secret"
[[notifications]]
type = "command"
argv = ["${script}", "--token", "HUSH"]
[[notifications]]
type = "webhook"
url = "${url}/bad"
[[notifications]]
type = "email"
smtp = "smtp://127.0.0.1:1"
from = "a@b.example"
to = "c@d.example"
`);
  const { exitCode, out, err } = await run(["notify", "--test", "--config", place.config]);
  expect(exitCode).toBe(1);
  const host = `127.0.0.1:${server.port}`;
  expect(out).toContain(`ok       webhook ${host} (notifications[0]): sent\n`);
  expect(out).toContain("ok       command pager (notifications[1]): sent\n");
  expect(out).toContain(`PROBLEM  webhook ${host} (notifications[2]): It answered 403\n`);
  expect(out).toContain("PROBLEM  email by smtp://127.0.0.1:1 (notifications[3]): The mail was rejected");
  expect(out).toEndWith("2 problems.\n");
  expect(out + err).not.toContain("HUSH");
  const kinds = ["fired", "raised", "reminder", "resolved"];
  const alerts = kinds.map((kind) => expect.objectContaining({ kind }));
  const signature = expect.stringMatching(/^sha256=[0-9a-f]{64}$/);
  expect(got).toEqual([[expect.objectContaining({ type: "test", alerts }), signature]]);
  // The command also prints each message.
  for (const [subject, text] of [
    ["WARNING Example tools (example), example: 92 %", "held by ada on ws01: 4 seats since"],
    ["WORSE: CRITICAL Example tools (example), example: All 25 seats", "since "],
    ["STILL CRITICAL Example tools (example), example: All 25 seats", "held by ada on ws01"],
    ["RESOLVED Example tools (example), example: seats were short for 20 min", "at worst 100 % of them"],
  ] as const) {
    const [, after = ""] = out.split(`\n${subject}`);
    expect(after).toContain(text);
  }
  expect(await Bun.file(join(place.folder, "paged")).json()).toMatchObject({ type: "test" });
});

test("without a target, and without --test", async () => {
  await using place = await createPlace();
  const none = { exitCode: 1, err: "licmond: no targets: the config has no [[notifications]]\n" };
  expect(await run(["notify", "--test", "--config", place.config])).toMatchObject(none);
  const bare = { exitCode: 2, err: expect.stringContaining("required option '--test' not specified") };
  expect(await run(["notify", "--config", place.config])).toMatchObject(bare);
});
