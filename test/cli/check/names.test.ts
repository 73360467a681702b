import { afterEach, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { createServers } from "../../../src/store/servers.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, open } from "../../store/place.ts";
import { createPlace, run } from "../rig.ts";

afterEach(cleanUp);

const SERVER = '[[servers]]\nid = "eda"\nmanager = "rlm"\naddress = "5053@127.0.0.1"\ntool = "/bin/sh"\n';
const WINDOW = 'start = "2026-01-01T22:00:00Z"\nduration = "2h"\nevery = "day"\n';

async function warnings(toml: string, features: readonly string[] = []): Promise<readonly string[]> {
  await using place = await createPlace();
  await mkdir(place.storage);
  await place.write(SERVER + toml);
  if (features.length > 0) {
    const store = open(place.storage);
    createServers({ store, clock: { now: () => 0 } }).configured([monitored("eda")]);
    for (const name of features)
      store.sqlite.run("INSERT INTO history_features (server_id, daemon, name) VALUES ('eda', 'acmed', ?)", [
        name,
      ]);
    store.close();
  }
  const { exitCode, out } = await run(["check", "--no-poll", "--config", place.config]);
  expect(exitCode).toBe(0);
  return out.split("\n").filter((line) => /^warning {2}(alerts|maintenance)/.test(line));
}

test.each<[string, string, readonly string[], readonly string[]]>([
  ["servers that are there", `[[maintenance]]\nservers = ["e*"]\n${WINDOW}`, [], []],
  [
    "no such server",
    `[[maintenance]]\nservers = ["eda", "ead*"]\n${WINDOW}[[alerts.overrides]]\nserver = "x?"\nenabled = false\n`,
    [],
    [
      'warning  alerts.overrides[0]: it holds for nothing: no server is called "x?"',
      'warning  maintenance[0]: no server is called "ead*"',
    ],
  ],
  [
    "a feature that nobody has seen",
    '[[alerts.overrides]]\nfeature = "solver"\nenabled = false\n[[alerts.overrides]]\nserver = "eda"\nfeature = "sloven*"\nenabled = false\n',
    ["solver"],
    ['warning  alerts.overrides[1]: it holds for nothing seen so far: server "eda", feature "sloven*"'],
  ],
  [
    "features of which nothing is known yet",
    '[[alerts.overrides]]\nfeature = "any"\nenabled = false\n',
    [],
    [],
  ],
])("check and names that name nothing: %s", async (_, toml, features, wanted) => {
  expect(await warnings(toml, features)).toEqual(wanted);
});
