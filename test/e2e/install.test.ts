import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { treeOf } from "../install/rig.ts";
import { BINARY, run } from "./harness.ts";

/** A folder to install below. What systemd does with an installation is tried on a booted machine. */
async function image(): Promise<{ readonly root: string; at(path: string): string } & AsyncDisposable> {
  const root = await mkdtemp(join(tmpdir(), "licmond-image-"));
  return {
    root,
    at: (path) => join(root, path),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

const LAID = [
  "/usr/local/bin/licmond",
  "/etc/systemd/system/licmond.service",
  "/etc/sysusers.d/licmond.conf",
  "/etc/tmpfiles.d/licmond.conf",
  "/etc/licmond/licmond.toml",
  "/var/lib/licmond",
];

test("install: a dry run names every step and changes nothing; then each is done; then there is nothing to do", async () => {
  await using place = await image();
  const dry = await run(["install", "--root", place.root, "--dry-run"]);
  expect(dry.exitCode).toBe(0);
  expect(dry.stdout).toEndWith("Nothing was changed.\n");
  const named = [...dry.stdout.matchAll(/^would {2}(\S+): /gm)].map(([, path]) => path);
  expect(named.sort()).toEqual(["/etc/licmond", ...LAID].sort());
  expect(treeOf(place.root)).toEqual([]);

  const done = await run(["install", "--root", place.root]);
  expect(done.exitCode).toBe(0);
  expect(done.stdout.replaceAll(/^done {3}/gm, "would  ")).toStartWith(
    dry.stdout.replace("Nothing was changed.\n", ""),
  );
  expect(readFileSync(place.at("/usr/local/bin/licmond")).equals(readFileSync(BINARY))).toBe(true);

  const before = treeOf(place.root);
  const again = await run(["install", "--root", place.root]);
  expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/\nNothing to do: [^\n]*\n$/) });
  expect(treeOf(place.root)).toEqual(before);
});

test("the config can be read by a service whose group the image does not know yet", async () => {
  await using place = await image();
  await run(["install", "--root", place.root]);
  const modes = () => ["/etc/licmond", "/etc/licmond/licmond.toml"].map((path) => modeOf(place.at(path)));
  expect(modes()).toEqual(["750", "644"]);

  await using known = await image();
  await Bun.write(known.at("/etc/passwd"), "licmond:x:4711:4712:::\n");
  await Bun.write(known.at("/etc/group"), "licmond:x:4712:\n");
  await run(["install", "--root", known.root]);
  const { gid, mode } = statSync(known.at("/etc/licmond/licmond.toml"));
  const isRoot = process.getuid?.() === 0;
  expect([gid, (mode & 0o777).toString(8)]).toEqual(
    isRoot ? [4712, "640"] : [process.getgid?.() ?? 0, "644"],
  );
});

test("what was laid down is what systemd can read, and runs", async () => {
  await using place = await image();
  await run(["install", "--root", place.root]);
  const installed = Bun.spawnSync([
    place.at("/usr/local/bin/licmond"),
    "check",
    "--config",
    place.at(LAID[4] ?? ""),
  ]);
  expect(installed.stdout.toString()).toContain(`ok       config: ${place.at(LAID[4] ?? "")}`);
  const unit = await Bun.file(place.at("/etc/systemd/system/licmond.service")).text();
  expect(unit).toMatch(/^# Installed by licmond \S+; sha256 of the lines below: [0-9a-f]{64}\.\n/);
  expect(unit).toContain("\nExecStart=/usr/local/bin/licmond serve\n");
});

test("uninstall takes away what install laid down, and leaves config and data; purge wants a word", async () => {
  await using place = await image();
  await run(["install", "--root", place.root]);
  await Bun.write(place.at("/var/lib/licmond/licmond.db"), "data");

  const before = treeOf(place.root);
  const dry = await run(["uninstall", "--root", place.root, "--dry-run"]);
  expect(dry).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("would  /usr/local/bin/licmond: "),
  });
  expect(treeOf(place.root)).toEqual(before);

  const done = await run(["uninstall", "--root", place.root]);
  expect(done).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(`rm -r ${place.at("/var/lib/licmond")}`),
  });
  const files = () => treeOf(place.root).map((line) => line.split(" ")[3] ?? "");
  expect(LAID.filter((path) => files().includes(path.slice(1)))).toEqual(LAID.slice(4));

  const unasked = await run(["uninstall", "--root", place.root, "--purge"]);
  expect(unasked).toMatchObject({ exitCode: 2, stdout: "", stderr: expect.stringContaining("--yes") });
  expect(files()).toContain("var/lib/licmond/licmond.db");
  expect((await run(["uninstall", "--root", place.root, "--purge", "--yes"])).exitCode).toBe(0);
  expect(files().filter((path) => path.includes("licmond"))).toEqual([]);

  const nothing = await run(["uninstall", "--root", place.root]);
  expect(nothing).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("Nothing to do") });
});

test("a config of one's own is taken where there is none, and stays where there is one", async () => {
  await using place = await image();
  await Bun.write(place.at("/mine.toml"), "[http]\nport = 9090\n");
  await run(["install", "--root", place.root, "--config", place.at("/mine.toml")]);
  expect(await Bun.file(place.at("/etc/licmond/licmond.toml")).text()).toBe("[http]\nport = 9090\n");
  await Bun.write(place.at("/etc/licmond/licmond.toml"), "# changed\n");
  expect((await run(["install", "--root", place.root])).stdout).toContain("Nothing to do");
  expect(await Bun.file(place.at("/etc/licmond/licmond.toml")).text()).toBe("# changed\n");
});

test.each([
  ["http]\n", "mine.toml:1: is no TOML"],
  ["[http]\nprot = 1\n", "mine.toml:2: http.prot is no known key"],
  [null, "mine.toml: there is no such file"],
])("a config of one's own that cannot be used is not laid down: %j", async (text, words) => {
  await using place = await image();
  await using other = await image();
  if (text !== null) await Bun.write(other.at("/mine.toml"), text);
  const { exitCode, stderr } = await run([
    "install",
    "--root",
    place.root,
    "--config",
    other.at("/mine.toml"),
  ]);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(words)]);
  expect(stderr).toEndWith("licmond: the config cannot be used: nothing was changed\n");
  expect(treeOf(place.root)).toEqual([]);
});

test("a link that leads out of the image is not followed", async () => {
  await using place = await image();
  await using outside = await image();
  symlinkSync(outside.root, place.at("/etc"));
  const { exitCode, stderr } = await run(["install", "--root", place.root]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`${place.at("/etc")} leads to ${outside.root}, out of ${place.root}`);
  expect(stderr).toEndWith("licmond: nothing was changed\n");
  expect([treeOf(outside.root), treeOf(place.root).length]).toEqual([[], 1]);
});

const mayMount = Bun.spawnSync(["unshare", "--mount", "true"]).exitCode === 0;

test.skipIf(!mayMount)("a read-only file system is told of, once", async () => {
  await using place = await image();
  const script = 'mount -t tmpfs -o ro none "$1" && exec "$2" install --root "$1"';
  const child = Bun.spawnSync(["unshare", "--mount", "sh", "-c", script, "sh", place.root, BINARY]);
  expect(child.exitCode).toBe(1);
  expect(child.stderr.toString()).toBe(
    `licmond: ${place.root} is on a read-only file system\n  fix: mount it writable (mount -o remount,rw)\nlicmond: nothing was changed\n`,
  );
});

test("an image with the Debian package is left to apt", async () => {
  await using place = await image();
  mkdirSync(place.at("/var/lib/dpkg"), { recursive: true });
  const status = (state: string) =>
    `Package: other\nStatus: install ok installed\n\nPackage: licmond\nStatus: ${state}\n\n`;
  await Bun.write(place.at("/var/lib/dpkg/status"), status("install ok installed"));
  const { exitCode, stderr } = await run(["install", "--root", place.root]);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("apt")]);
  await Bun.write(place.at("/var/lib/dpkg/status"), status("deinstall ok config-files"));
  expect((await run(["install", "--root", place.root, "--dry-run"])).exitCode).toBe(0);
});

test("config and data of the Debian package are not uninstall's to delete; what install left beside it may go", async () => {
  await using place = await image();
  await run(["install", "--root", place.root]);
  await Bun.write(place.at("/var/lib/dpkg/status"), "Package: licmond\nStatus: install ok installed\n\n");
  const refused = { exitCode: 1, stdout: "", stderr: expect.stringContaining("apt purge licmond") };
  expect(await run(["uninstall", "--root", place.root, "--purge", "--yes"])).toMatchObject(refused);
  expect((await run(["uninstall", "--root", place.root])).exitCode).toBe(0);
  expect(treeOf(place.root).filter((line) => line.includes("usr/local/bin/licmond"))).toEqual([]);
  expect(await run(["uninstall", "--root", place.root])).toMatchObject(refused);
  expect(await Bun.file(place.at("/etc/licmond/licmond.toml")).exists()).toBe(true);
});

test.each([
  [["install", "--start", "--no-systemd"], "--start goes neither with"],
  [["install", "--start", "--root", "/x"], "--start goes neither with"],
  [["install", "--root", "/"], "--root / is this host itself"],
  [["uninstall", "--root", "/"], "--root / is this host itself"],
  [["install", "--root", "", "--dry-run"], "--root takes a directory"],
  [["install", "--root", BINARY, "--dry-run"], "is not a directory"],
  [["upgrade", "--rollback", "./x"], "--rollback takes no file"],
  [["install", "what"], "too many arguments"],
])("wrong usage: %j", async (args, words) => {
  const { exitCode, stderr } = await run(args);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(words)]);
});

test.skipIf(process.getuid?.() !== 0)(
  "who is not root is told to use sudo, and changes nothing",
  async () => {
    await using place = await image();
    // Where anybody can reach it.
    const binary = place.at("licmond");
    copyFileSync(BINARY, binary);
    chmodSync(place.root, 0o755);
    for (const args of [["install"], ["uninstall"], ["upgrade", binary]]) {
      const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
      const child = Bun.spawnSync([...nobody, binary, ...args]);
      expect([child.exitCode, child.stderr.toString()]).toEqual([1, expect.stringContaining("sudo")]);
    }
  },
);

test("purge asks a person, who may say no", async () => {
  await using place = await image();
  await run(["install", "--root", place.root]);
  const command = `${BINARY} uninstall --purge --root ${place.root}`;
  const ask = (answer: string) =>
    Bun.spawnSync(["script", "-qec", command, "/dev/null"], { stdin: new Blob([`${answer}\n`]) });
  const no = ask("no");
  expect([no.exitCode, no.stdout.toString()]).toEqual([1, expect.stringContaining('Type "delete" to go on')]);
  expect(await Bun.file(place.at("/etc/licmond/licmond.toml")).exists()).toBe(true);
  expect(ask("delete").exitCode).toBe(0);
  expect(await Bun.file(place.at("/etc/licmond/licmond.toml")).exists()).toBe(false);
});
