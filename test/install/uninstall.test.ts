import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { TEXTS } from "../../src/install/layout.ts";
import { type UninstallWanted, uninstall } from "../../src/install/uninstall.ts";
import { createRig, LAYOUT, type Rig, runAll, steps } from "./rig.ts";

async function installed(): Promise<Rig> {
  const rig = await createRig();
  await runAll(rig, await steps(rig, { start: true }));
  await rig.write(`${LAYOUT.data}/licmond.db`, "data");
  Object.assign(rig.service, { active: true, enabled: true });
  rig.ran.length = 0;
  return rig;
}

const PLAIN = { purge: false, force: false, withSystemd: true, otherData: null };
const remove = (rig: Rig, more: Partial<UninstallWanted> = {}) =>
  runAll(rig, (pass) => uninstall(pass, { ...PLAIN, ...more }));
const isThere = (rig: Rig, path: string) => rig.tree().some((line) => line.includes(` ${path.slice(1)} `));
const LAID = [LAYOUT.binary, LAYOUT.manPage, ...TEXTS.map(({ path }) => path)];

test("removes installed files, and says how to delete the kept ones", async () => {
  await using rig = await installed();
  const plans = await remove(rig);
  expect(LAID.filter((path) => isThere(rig, path))).toEqual([]);
  expect([rig.read(LAYOUT.config), rig.read(`${LAYOUT.data}/licmond.db`)]).toEqual(["# config\n", "data"]);
  for (const path of [LAYOUT.configDirectory, LAYOUT.data]) {
    const advice = expect.stringContaining(`rm -r ${rig.host.at(path)}`);
    expect(plans.get(path)).toMatchObject({ kind: "keep", advice });
  }
  expect(plans.get("user licmond")).toMatchObject({ kind: "keep", advice: "delete it: userdel licmond" });
  expect(rig.acted()).toEqual([
    "systemctl disable --now licmond.service",
    "systemctl daemon-reload",
    "systemctl reset-failed licmond.service",
    "systemctl reset-failed licmond-hub.service",
  ]);
});

test("purge deletes config, data and user, and stops a running hub too", async () => {
  await using rig = await installed();
  Object.assign(rig.hub, { active: true, enabled: true });
  await rig.write(`${LAYOUT.unit}.d/override.conf`, "");
  await remove(rig, { purge: true });
  const left = [LAYOUT.configDirectory, LAYOUT.data, `${LAYOUT.unit}.d`];
  expect(left.filter((path) => isThere(rig, path))).toEqual([]);
  expect(rig.acted()).toContain("systemctl disable --now licmond-hub.service");
  expect(rig.acted().at(-1)).toBe("userdel licmond");
});

test("purge does not follow links, and keeps a storage directory elsewhere", async () => {
  await using rig = await installed();
  await rig.write("/srv/data/licmond.db", "elsewhere");
  await rig.write("/srv/more/precious", "");
  symlinkSync(rig.host.at("/srv/more"), rig.host.at(`${LAYOUT.data}/link`));
  const plans = await remove(rig, { purge: true, otherData: "/srv/data" });
  expect(plans.get("/srv/data")).toMatchObject({ kind: "keep" });
  expect([isThere(rig, "/srv/more/precious"), isThere(rig, "/srv/data/licmond.db")]).toEqual([true, true]);
});

test("keeps a changed unit without --force", async () => {
  await using rig = await installed();
  await rig.write(LAYOUT.unit, `${rig.read(LAYOUT.unit)}Nice=5\n`);
  expect((await remove(rig)).get(LAYOUT.unit)).toMatchObject({ kind: "keep" });
  expect(isThere(rig, LAYOUT.unit)).toBe(true);
  await remove(rig, { force: true });
  expect(isThere(rig, LAYOUT.unit)).toBe(false);
});

test("keeps files of others, even with --force and --purge", async () => {
  await using rig = await createRig();
  await rig.write(LAYOUT.binary, "#!/bin/sh\n");
  await rig.write(LAYOUT.unit, "[Unit]\n");
  mkdirSync(rig.host.at("/etc/tmpfiles.d"));
  symlinkSync("/dev/null", rig.host.at(LAYOUT.tmpfiles));
  const before = rig.tree();
  await remove(rig, { force: true, purge: true });
  expect(rig.tree()).toEqual(before);
});

test("does not stop a package's unit of that name", async () => {
  await using rig = await createRig();
  Object.assign(rig.service, { active: true, enabled: true });
  await remove(rig);
  expect(rig.acted()).toEqual([]);
});
