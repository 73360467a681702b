import { describe, expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { withMark } from "../../src/install/layout.ts";
import { createRig, LAYOUT, lookAt, NEW_BINARY, type Rig, runAll, steps } from "./rig.ts";

const kinds = (plans: ReadonlyMap<string, { kind: string }>) => [...plans.values()].map(({ kind }) => kind);
const statOf = (rig: Rig, path: string) => lstatSync(rig.host.at(path));
const modeOf = (rig: Rig, path: string) => (statOf(rig, path).mode & 0o7777).toString(8);
const ownerOf = (rig: Rig, path: string) => `${statOf(rig, path).uid}:${statOf(rig, path).gid}`;
const FOLDER = join(import.meta.dir, "../../systemd");
const UNIT = readFileSync(join(FOLDER, "licmond.service"), "utf8");
const HUB_UNIT = readFileSync(join(FOLDER, "licmond-hub.service"), "utf8");
const isRoot = process.getuid?.() === 0;

test("installs everything on a fresh host, with modes and owners, in a working order", async () => {
  await using rig = await createRig();
  await runAll(rig, await steps(rig));
  const { binary, unit, hubUnit, config } = LAYOUT;
  const texts = [rig.read(NEW_BINARY), withMark(UNIT, "1.2.0"), withMark(HUB_UNIT, "1.2.0"), "# config\n"];
  expect([binary, unit, hubUnit, config].map(rig.read)).toEqual(texts);
  expect(rig.read(LAYOUT.sysusers)).toContain("licmond");
  expect(rig.read(LAYOUT.tmpfiles)).toContain("/etc/licmond");
  expect(rig.read(LAYOUT.manPage)).toMatch(/^\.\\" Installed by licmond 1\.2\.0; .*\n\.TH LICMOND 1\n$/);
  // zsh's compinit reads only the first line.
  const zsh = rig.read("/usr/local/share/zsh/site-functions/_licmond");
  expect(zsh).toMatch(/^#compdef licmond\n# Installed by licmond/);
  const paths = [LAYOUT.binary, LAYOUT.unit, LAYOUT.configDirectory, LAYOUT.config, LAYOUT.data];
  expect(paths.map((path) => modeOf(rig, path))).toEqual(["755", "644", "750", "640", "700"]);
  const own = `${process.getuid?.()}:${process.getgid?.()}`;
  const owners = isRoot ? ["0:0", "0:0", "0:4712", "0:4712", "4711:4712"] : [own, own, own, own, own];
  expect(paths.map((path) => ownerOf(rig, path))).toEqual(owners);
  expect(rig.acted()).toEqual([
    "systemd-sysusers /etc/sysusers.d/licmond.conf",
    "systemd-tmpfiles --create /etc/tmpfiles.d/licmond.conf",
    "systemctl daemon-reload",
  ]);

  // A second run changes nothing.
  const again = await steps(rig);
  const before = rig.tree();
  rig.ran.length = 0;
  expect(new Set(kinds(await runAll(rig, again)))).toEqual(new Set(["nothing"]));
  expect([rig.tree(), rig.acted()]).toEqual([before, []]);
});

test("modes do not depend on the umask, and leftovers of a power cut are removed", async () => {
  await using rig = await createRig();
  await rig.write("/usr/local/bin/.licmond.tmp", "half");
  const umask = process.umask(0o077);
  try {
    await runAll(rig, await steps(rig));
  } finally {
    process.umask(umask);
  }
  const paths = ["/etc/sysusers.d", "/etc/systemd/system", LAYOUT.binary, LAYOUT.unit, LAYOUT.data];
  expect(paths.map((path) => modeOf(rig, path))).toEqual(["755", "755", "755", "644", "700"]);
  expect(rig.tree().filter((line) => line.includes(".tmp"))).toEqual([]);
});

test("the first pass changes nothing, and runs only queries", async () => {
  await using rig = await createRig();
  const all = await steps(rig, { start: true });
  const before = rig.tree();
  expect(new Set(await lookAt(rig, all))).toEqual(new Set(["do"]));
  expect(rig.tree()).toEqual(before);
  expect(rig.acted()).toEqual([]);
});

test("--start enables and starts the service, and restarts only an outdated one", async () => {
  await using rig = await createRig();
  await runAll(rig, await steps(rig, { start: true }));
  expect(rig.ran.slice(-3)).toEqual([
    "systemctl enable licmond.service",
    "systemctl reset-failed licmond.service",
    "systemctl restart licmond.service",
  ]);
  Object.assign(rig.service, { active: true, enabled: true });
  const current = await runAll(rig, await steps(rig, { start: true }));
  expect(new Set(kinds(current))).toEqual(new Set(["nothing"]));
  await rig.binary(LAYOUT.binary, "1.1.0");
  const outdated = await runAll(rig, await steps(rig, { start: true }));
  expect(outdated.get("systemctl enable licmond.service")?.kind).toBe("nothing");
  expect(rig.ran.at(-1)).toBe("systemctl restart licmond.service");
});

test("an existing config is kept, also behind a link", async () => {
  await using rig = await createRig();
  await rig.write(LAYOUT.config, "# mine\n");
  await runAll(rig, await steps(rig));
  expect(rig.read(LAYOUT.config)).toBe("# mine\n");

  await using linked = await createRig();
  await linked.write("/srv/licmond.toml", "# kept elsewhere\n");
  mkdirSync(linked.host.at(LAYOUT.configDirectory), { recursive: true });
  symlinkSync(linked.host.at("/srv/licmond.toml"), linked.host.at(LAYOUT.config));
  expect((await runAll(linked, await steps(linked))).get(LAYOUT.config)?.kind).toBe("nothing");
  expect(linked.read("/srv/licmond.toml")).toBe("# kept elsewhere\n");
});

describe("existing texts", () => {
  const old = withMark("[Unit]\nDescription=old\n", "0.9.0");
  const current = withMark(UNIT, "1.2.0");
  /** The old unit, the kind of the step, and afterwards the unit and the file next to it. */
  test.each([
    ["unchanged, of an earlier version", old, "do", current, null],
    ["changed: the newer text is written next to it", `${old}Nice=5\n`, "keep", `${old}Nice=5\n`, current],
    ["changed, of this version", `${current}Nice=5\n`, "keep", `${current}Nice=5\n`, null],
  ])("%s", async (_name, before, kind, after, beside) => {
    await using rig = await createRig();
    await rig.write(LAYOUT.unit, before);
    await rig.write(LAYOUT.hubUnit, withMark(HUB_UNIT, "1.2.0"));
    const plan = (await runAll(rig, await steps(rig))).get(LAYOUT.unit);
    expect(plan?.kind).toBe(kind as "do");
    if (kind === "do") expect(plan?.words).toBe("replace the file of licmond 0.9.0");
    else expect(plan?.advice).toContain("systemctl edit licmond");
    expect(rig.ran.includes("systemctl daemon-reload")).toBe(kind === "do");
    const both = () => rig.tree().filter((line) => line.includes("licmond.service"));
    expect(both()).toHaveLength(beside === null ? 1 : 2);
    expect(rig.read(LAYOUT.unit)).toBe(after);
    if (beside !== null) expect(rig.read(`${LAYOUT.unit}.new`)).toBe(beside);
    const laid = both();
    const again = (await runAll(rig, await steps(rig))).get(LAYOUT.unit);
    expect([again?.kind, both()]).toEqual([kind === "do" ? "nothing" : "keep", laid]);
  });
});

test("replaces and keeps an older binary, but not a newer one", async () => {
  await using rig = await createRig();
  await rig.binary(LAYOUT.binary, "1.1.0");
  await runAll(rig, await steps(rig));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.2.0;");
  expect(rig.read(LAYOUT.previousBinary)).toContain("version=1.1.0;");
  await rig.binary(LAYOUT.binary, "1.10.0");
  const plan = (await runAll(rig, await steps(rig))).get(LAYOUT.binary);
  expect(plan).toMatchObject({ kind: "refuse", words: expect.stringContaining("is licmond 1.10.0") });
  expect(rig.read(LAYOUT.binary)).toContain("version=1.10.0;");
});

describe("refuses unexpected files, and changes nothing", () => {
  const text = (path: string, content: string) => (rig: Rig) => rig.write(path, content);
  const directory = (path: string) => (rig: Rig) => mkdirSync(rig.host.at(path), { recursive: true });
  const link = (path: string, target: string) => (rig: Rig) => {
    directory(dirname(path))(rig);
    symlinkSync(target, rig.host.at(path));
  };
  const { binary, unit, config, configDirectory, data } = LAYOUT;
  test.each<[string, (rig: Rig) => unknown, string, string]>([
    ["another program's file", text(binary, "#!/bin/sh\n"), binary, "not a licmond"],
    ["a unit of another origin", text(unit, "[Unit]\n"), unit, "was not installed by licmond"],
    ["a masked unit", link(unit, "/dev/null"), unit, "symbolic link"],
    ["a link for the binary", link(binary, "/bin/true"), binary, "symbolic link"],
    ["a directory for the binary", directory(binary), binary, "is a directory"],
    ["a directory for the config", directory(config), config, "is a directory"],
    ["a file for /etc/licmond", text(configDirectory, ""), configDirectory, "not a directory"],
    ["a file for the data", text(data, ""), data, "is not a directory"],
    ["a link to nothing for the data", link(data, "/nowhere"), data, "is not a link to a directory"],
    ["a file for /usr/local", text("/usr/local", ""), binary, "is not a directory"],
    ["a dangling /etc", link("/etc", "/nowhere"), unit, "cannot be followed"],
  ])("%s", async (_name, make, subject, words) => {
    await using rig = await createRig();
    await make(rig);
    const all = await steps(rig);
    const before = rig.tree();
    const plan = (await runAll(rig, all)).get(subject);
    expect(plan).toMatchObject({ kind: "refuse", words: expect.stringContaining(words) });
    expect(rig.tree()).toEqual(before);
  });
});

test.skipIf(!isRoot)(
  "a config that only root can read becomes readable for the service; systemd owns the data",
  async () => {
    await using rig = await createRig();
    await rig.write(LAYOUT.config, "# mine\n");
    await rig.write(`${LAYOUT.data}/licmond.db`, "");
    chmodSync(rig.host.at(LAYOUT.config), 0o600);
    await runAll(rig, await steps(rig));
    expect([ownerOf(rig, LAYOUT.config), modeOf(rig, LAYOUT.config)]).toEqual(["0:4712", "640"]);
    expect(rig.read(LAYOUT.config)).toBe("# mine\n");
    expect(UNIT).toContain("\nStateDirectory=licmond\n");
    expect(new Set(kinds(await runAll(rig, await steps(rig))))).toEqual(new Set(["nothing"]));
  },
);

test("a data directory behind a link is kept", async () => {
  await using rig = await createRig();
  mkdirSync(rig.host.at("/srv/data"), { recursive: true });
  mkdirSync(rig.host.at("/var/lib"), { recursive: true });
  symlinkSync(rig.host.at("/srv/data"), rig.host.at(LAYOUT.data));
  expect((await runAll(rig, await steps(rig))).get(LAYOUT.data)?.kind).toBe("nothing");
});

test("without systemd: only the binary and the config, and no commands", async () => {
  await using rig = await createRig();
  await runAll(rig, await steps(rig, { withoutSystemd: true }));
  expect([modeOf(rig, LAYOUT.binary), modeOf(rig, LAYOUT.config)]).toEqual(["755", "644"]);
  expect(() => rig.read(LAYOUT.unit)).toThrow();
  expect(rig.ran).toEqual([]);
});

test("a failed step stops the rest, and a second run continues from there", async () => {
  await using rig = await createRig();
  rig.answer = (line) => (line.startsWith("systemd-sysusers") ? { ok: false, words: "no luck" } : undefined);
  await expect(runAll(rig, await steps(rig))).rejects.toThrow(/^systemd-sysusers .*: no luck$/);
  expect(rig.read(LAYOUT.unit)).toContain("[Service]");
  rig.answer = () => undefined;
  const plans = await runAll(rig, await steps(rig));
  expect([plans.get(LAYOUT.binary)?.kind, plans.get(LAYOUT.config)?.kind]).toEqual(["nothing", "do"]);
  // The first run wrote the tmpfiles without applying them, so this run must apply them.
  expect(rig.ran).toContain("systemd-tmpfiles --create /etc/tmpfiles.d/licmond.conf");
});
