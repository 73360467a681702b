import { expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createPlace, run } from "./rig.ts";

test("all well", async () => {
  await using place = await createPlace();
  await mkdir(place.storage);
  await place.write('[[servers]]\nid = "a"\nmanager = "rlm"\naddress = "5053@127.0.0.1"\ntool = "/bin/sh"');
  const { exitCode, out } = await run(["check", "--config", place.config]);
  expect(out).toContain(`ok       config: ${place.config}\n`);
  expect(out).toContain(`ok       storage: ${place.storage} can be written\n`);
  expect(out).toContain("ok       a: tool: /bin/sh\n");
  expect(out).toEndWith("All is well.\n");
  expect(exitCode).toBe(0);
});

test("every trouble at once, each with its fix", async () => {
  await using place = await createPlace();
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  await place.write(`
[[servers]]
id = "a"
manager = "flexnet"
address = "27000@no-such-host.invalid"
tool = "${join(place.folder, "lmutil")}"
[[servers]]
id = "b"
manager = "flexnet"
address = "${join(place.folder, "license.dat")}"
tool = "/bin/sh"
log_file = "${join(place.folder, "debug.log")}"
`);
  const env = { LICMOND_HTTP_PORT: String(taken.port), LICMOND_STORAGE_DIRECTORY: "/proc/licmond/x" };
  const { exitCode, out } = await run(["check", "--config", place.config], { env });
  taken.stop(true);
  expect(exitCode).toBe(1);
  expect(out).toContain("PROBLEM  storage: /proc/licmond/x does not exist and cannot be made by this user\n");
  expect(out).toContain(`warning  http: another program listens on 127.0.0.1:${taken.port}`);
  expect(out).toContain(`PROBLEM  a: tool: ${join(place.folder, "lmutil")} does not exist.\n         fix: `);
  expect(out).toContain("PROBLEM  a: host: 27000@no-such-host.invalid does not resolve");
  expect(out).toContain(
    `PROBLEM  b: address: the license file ${join(place.folder, "license.dat")} cannot be read`,
  );
  expect(out).toContain(`PROBLEM  b: log_file: ${join(place.folder, "debug.log")} does not exist\n`);
  expect(out).toEndWith("5 problems.\n");
});

test("a config with mistakes", async () => {
  await using place = await createPlace();
  await place.write('[log]\nlevel = "x"\n[limits]\nburst = 0');
  const { exitCode, out } = await run(["check", "--config", place.config]);
  expect(exitCode).toBe(1);
  expect(out).toContain(`${place.config}:7: log.level`);
  expect(out).toContain(`${place.config}:9: limits.burst`);
  expect(out).toEndWith("2 problems.\n");
});

test("colour only for a person who wants it", async () => {
  await using place = await createPlace();
  const args = ["check", "--config", place.config];
  expect((await run(args, { terminal: true })).out).toContain("\u001b[32mok     \u001b[0m");
  expect((await run(args, { terminal: true, env: { NO_COLOR: "1" } })).out).not.toContain("\u001b");
  expect((await run(args)).out).not.toContain("\u001b");
});
