import { describe, expect, test } from "bun:test";
import { planSteps } from "../../src/install/step.ts";
import { goBack, type UpgradeWanted, upgradeSteps } from "../../src/install/upgrade-steps.ts";
import { createRig, LAYOUT, NEW_BINARY, type Rig, runAll } from "./rig.ts";

const RESTART = "systemctl restart licmond.service";

async function upgradable(installed = "1.1.0"): Promise<Rig> {
  const rig = await createRig();
  await rig.binary(LAYOUT.binary, installed);
  return rig;
}

async function steps(rig: Rig, version: string, options: Partial<UpgradeWanted> = {}) {
  const file = await rig.binary(NEW_BINARY, version);
  return upgradeSteps(rig.host, { file, allowDowngrade: false, service: "runs", ...options });
}

const acted = (rig: Rig) => rig.ran.filter((line) => !/ version$|check --config-only$/.test(line));

test("replaces, keeps the old one, lays down what the new one brings, and restarts last", async () => {
  await using rig = await upgradable();
  await runAll(await steps(rig, "1.2.0"));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.2.0;");
  expect(rig.read(LAYOUT.previousBinary)).toContain("version=1.1.0;");
  expect(acted(rig)).toEqual([`${LAYOUT.binary} install`, "systemctl reset-failed licmond.service", RESTART]);
});

test("planning changes nothing", async () => {
  await using rig = await upgradable();
  const all = await steps(rig, "1.2.0");
  const before = rig.tree();
  expect((await planSteps(all)).map(({ plan }) => plan.kind)).toEqual(["do", "do", "do"]);
  expect(rig.tree()).toEqual(before);
  expect(acted(rig)).toEqual([]);
});

test("a service that does not run is not started, and where there is none nothing is run", async () => {
  await using rig = await upgradable();
  await runAll(await steps(rig, "1.2.0", { service: "stopped" }));
  expect(acted(rig)).toEqual([`${LAYOUT.binary} install`]);
  rig.ran.length = 0;
  await runAll(await steps(rig, "1.3.0", { service: "none" }));
  expect(acted(rig)).toEqual([]);
  expect(rig.read(LAYOUT.previousBinary)).toContain("version=1.2.0;");
});

test("the same bytes: nothing to do", async () => {
  await using rig = await upgradable();
  const plans = await runAll(await steps(rig, "1.1.0"));
  expect([...plans.values()].map(({ kind }) => kind)).toEqual(["nothing", "nothing", "nothing"]);
});

test("back and forth: the previous one takes the place, and what was there becomes the previous one", async () => {
  await using rig = await upgradable();
  await runAll(await steps(rig, "1.2.0"));
  const back = { file: rig.host.at(LAYOUT.previousBinary), allowDowngrade: true, service: "runs" } as const;
  await runAll(upgradeSteps(rig.host, back));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.1.0;");
  expect(rig.read(LAYOUT.previousBinary)).toContain("version=1.2.0;");
  await runAll(upgradeSteps(rig.host, back));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.2.0;");
});

describe("refuses, and changes nothing", () => {
  const refused: [string, string, (rig: Rig) => unknown, string][] = [
    ["an older version", "1.0.9", () => {}, "older than the installed 1.1.0"],
    ["a pre-release of what is installed", "1.1.0-rc.1", () => {}, "older than the installed 1.1.0"],
    ["a file that is no licmond", "1.2.0", (rig) => rig.write(NEW_BINARY, "PK"), "is not a licmond"],
    [
      "a download that broke off",
      "1.2.0",
      (rig) => rig.write(NEW_BINARY, rig.read(NEW_BINARY).slice(0, -5)),
      "or not the whole of one",
    ],
    ["nothing installed", "1.2.0", (rig) => rig.write(LAYOUT.binary, "#!"), "is not a licmond"],
    [
      "a binary for another machine",
      "1.2.0",
      (rig) => {
        rig.answer = (line) =>
          line === `${NEW_BINARY} version` ? { ok: false, words: "Exec format error" } : undefined;
      },
      "does not run on this host: Exec format error",
    ],
    [
      "a config that the new one does not take",
      "1.2.0",
      (rig) => {
        rig.answer = (line) =>
          line === `${NEW_BINARY} check --config-only`
            ? { ok: false, stdout: "PROBLEM  config: x\n" }
            : undefined;
      },
      "does not take the config:\nPROBLEM  config: x",
    ],
  ];
  test.each(refused)("%s", async (_name, version, make, words) => {
    await using rig = await upgradable();
    const all = await steps(rig, version);
    await make(rig);
    const before = rig.tree();
    const plan = (await runAll(all)).get(LAYOUT.binary);
    expect(plan).toMatchObject({ kind: "refuse", why: expect.stringContaining(words) });
    expect(rig.tree()).toEqual(before);
    expect(acted(rig)).toEqual([]);
  });

  test("an older one only until it is allowed", async () => {
    await using rig = await upgradable();
    await runAll(await steps(rig, "1.0.0", { allowDowngrade: true }));
    expect(rig.read(LAYOUT.binary)).toContain("version=1.0.0;");
  });
});

test("an installed one that does not even run can be replaced", async () => {
  await using rig = await upgradable();
  rig.answer = (line) => (line === `${LAYOUT.binary} version` ? { ok: false, words: "killed" } : undefined);
  await runAll(await steps(rig, "0.9.0"));
  expect(rig.read(LAYOUT.binary)).toContain("version=0.9.0;");
});

test("a version from before `check --config-only` is not held against that", async () => {
  await using rig = await upgradable();
  rig.answer = (line) => (line.endsWith("check --config-only") ? { ok: false, exitCode: 2 } : undefined);
  await runAll(await steps(rig, "1.0.0", { allowDowngrade: true }));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.0.0;");
});

test("a restart that fails tells the journal's last words; going back puts the old one in place and starts it", async () => {
  await using rig = await upgradable();
  rig.answer = (line) => {
    if (line === RESTART) return { ok: false, words: "Job for licmond.service failed" };
    return line.startsWith("journalctl") ? { stdout: "the port is taken\n" } : undefined;
  };
  await expect(runAll(await steps(rig, "1.2.0"))).rejects.toThrow(
    /Job for licmond.service failed\nits last words:\nthe port is taken/,
  );
  rig.answer = () => undefined;
  rig.ran.length = 0;
  await goBack(rig.host, "runs");
  expect(rig.read(LAYOUT.binary)).toContain("version=1.1.0;");
  expect(acted(rig)).toEqual([`${LAYOUT.binary} install`, "systemctl reset-failed licmond.service", RESTART]);
});
