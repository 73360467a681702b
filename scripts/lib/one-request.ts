import { expect, test } from "bun:test";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { createDaemon } from "../../src/daemon.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createLogging } from "../../src/system/log.ts";

/**
 * Runs a daemon of one server in this process and sends it `TIMES` extra requests. `scripts/house` runs it twice under
 * coverage: lines that ran that many more times belong to the request.
 */
const { TIMES = "0", METHOD = "GET", PATH_ASKED = "" } = process.env;
const OUTPUT = `lmutil - Copyright (c) 1989-2023 Flexera. All Rights Reserved.
Flexible License Manager status on Thu 11/19/2026 10:00

License server status: 27000@127.0.0.1
    License file(s) on 127.0.0.1: /opt/acme/license.dat:

 127.0.0.1: license server UP (MASTER) v11.19.4

Vendor daemon status (on 127.0.0.1):

   acmed: UP v11.19.4

Feature usage info:

Users of solver:  (Total of 4 licenses issued;  Total of 1 license in use)

  "solver" v2026.0, vendor: acmed, expiry: permanent(no expiration date)
  floating license

    ada ws01 /dev/pts/1 (v2026.0) (127.0.0.1/27000 101), start Thu 11/19 9:00

`;

/** Runs the worker's file in this thread, because coverage does not cover workers. */
class WorkerHere {
  onmessage: ((message: { readonly data: unknown }) => void) | null = null;
  readonly #loaded: Promise<unknown>;
  constructor(file: string) {
    Object.assign(globalThis, { postMessage: (data: unknown) => this.onmessage?.({ data }) });
    this.#loaded = import(file);
  }
  async postMessage(data: unknown): Promise<void> {
    await this.#loaded;
    // The worker sets its handler on `self`, which is the global object here.
    (globalThis as unknown as WorkerHere).onmessage?.({ data });
  }
  addEventListener() {}
  terminate() {}
  unref() {}
}

test("one daemon, asked the same several times", async () => {
  Object.assign(globalThis, { Worker: WorkerHere });
  const folder = await mkdtemp(join(tmpdir(), "licmond-house-"));
  const tool = join(folder, "lmutil");
  await Bun.write(`${tool}.txt`, OUTPUT);
  await Bun.write(tool, `#!/bin/sh\nexec cat '${tool}.txt'\n`);
  await chmod(tool, 0o755);
  const file = join(folder, "licmond.toml");
  await Bun.write(
    file,
    `[http]\nhost = "127.0.0.1"\nport = 0\n[storage]\ndirectory = "${folder}/storage"\n[collector]\ninterval = "24h"\n[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = "${tool}"\n`,
  );
  const config = loadConfig(file, {});
  if (!config.ok) throw new Error(JSON.stringify(config.problems));
  const logging = createLogging("error", systemClock, []);
  const environment = { PATH: "/usr/bin:/bin" };
  const daemon = createDaemon(config.config, { logging, environment });
  const { port } = await daemon.start();
  const made = Bun.spawnSync(
    [
      process.execPath,
      "src/main.ts",
      "keys",
      "create",
      "--name",
      "house",
      "--role",
      "admin",
      "--config",
      file,
    ],
    { env: { ...process.env, NODE_ENV: "production" } },
  );
  const key = /lmk_\S+/.exec(made.stdout.toString())?.[0] ?? "";
  const ask = async (path: string, method = "GET") => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { "X-API-Key": key } });
    expect({ status: answer.status, body: await answer.text() }).toMatchObject({ status: 200 });
  };
  await ask("/api/licenses/rescan", "POST");
  for (let time = 0; time < 2 + Number(TIMES); time++) await ask(PATH_ASKED, METHOD);
  await daemon.stop();
  await rm(folder, { recursive: true, force: true });
}, 60_000);
