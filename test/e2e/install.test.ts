import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { treeOf } from "../install/rig.ts";
import { BINARY, run } from "./harness.ts";

/**
 * Creates a root folder to install into. test/systemd runs installations on a booted machine; test/install covers each step
 * and refusal from source.
 */
async function image() {
  const root = await mkdtemp(join(tmpdir(), "licmond-image-"));
  return {
    root,
    at: (path: string) => join(root, path),
    text: (path: string) => Bun.file(join(root, path)).text(),
    files: () => treeOf(root).map((line) => line.split(" ")[3] ?? ""),
    install: (...args: string[]) => run(["install", "--root", root, ...args]),
    uninstall: (...args: string[]) => run(["uninstall", "--root", root, ...args]),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

const CONFIG = "/etc/licmond/licmond.toml";
const LAID = [
  "/usr/local/bin/licmond",
  "/etc/systemd/system/licmond.service",
  "/etc/systemd/system/licmond-hub.service",
  "/etc/sysusers.d/licmond.conf",
  "/etc/tmpfiles.d/licmond.conf",
  "/usr/local/share/bash-completion/completions/licmond",
  "/usr/local/share/fish/vendor_completions.d/licmond.fish",
  "/usr/local/share/zsh/site-functions/_licmond",
  "/usr/local/share/man/man1/licmond.1",
  CONFIG,
  "/var/lib/licmond",
];

test("install: a dry run lists every step and changes nothing; a run does them; another run has nothing to do", async () => {
  await using place = await image();
  const dry = await place.install("--dry-run");
  expect(dry.exitCode).toBe(0);
  expect(dry.stdout).toEndWith("Nothing was changed.\n");
  const named = [...dry.stdout.matchAll(/^would {2}(\S+): /gm)].map(([, path]) => path);
  expect(named.sort()).toEqual(["/etc/licmond", ...LAID].sort());
  expect(place.files()).toEqual([]);

  const done = await place.install();
  expect(done.exitCode).toBe(0);
  expect(done.stdout.replaceAll(/^done {3}/gm, "would  ")).toStartWith(
    dry.stdout.replace("Nothing was changed.\n", ""),
  );
  const binary = place.at("/usr/local/bin/licmond");
  expect(readFileSync(binary).equals(readFileSync(BINARY))).toBe(true);
  const checked = await run(["check", "--config", place.at(CONFIG)], { program: [binary] });
  expect(checked.stdout).toContain(`ok       config: ${place.at(CONFIG)}`);
  const unit = await place.text("/etc/systemd/system/licmond.service");
  expect(unit).toMatch(/^# Installed by licmond \S+; sha256 of the lines below: [0-9a-f]{64}\.\n/);
  expect(unit).toContain("\nExecStart=/usr/local/bin/licmond serve\n");

  const before = treeOf(place.root);
  expect((await place.install()).stdout).toMatch(/\nNothing to do: [^\n]*\n$/);
  expect(treeOf(place.root)).toEqual(before);
});

test("the config is readable by a service whose group does not exist in the image yet", async () => {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  await using place = await image();
  await place.install();
  expect(["/etc/licmond", CONFIG].map((path) => modeOf(place.at(path)))).toEqual(["750", "644"]);

  await using known = await image();
  await Bun.write(known.at("/etc/passwd"), "licmond:x:4711:4712:::\n");
  await Bun.write(known.at("/etc/group"), "licmond:x:4712:\n");
  await known.install();
  const config = known.at(CONFIG);
  expect([statSync(config).gid, modeOf(config)]).toEqual(
    process.getuid?.() === 0 ? [4712, "640"] : [process.getgid?.() ?? 0, "644"],
  );
});

test("uninstall removes the files of install, and keeps config and data; purge asks first", async () => {
  await using place = await image();
  await place.install();
  await Bun.write(place.at("/var/lib/licmond/licmond.db"), "data");

  const before = treeOf(place.root);
  expect((await place.uninstall("--dry-run")).stdout).toContain("would  /usr/local/bin/licmond: ");
  expect(treeOf(place.root)).toEqual(before);

  expect((await place.uninstall()).stdout).toContain(`rm -r ${place.at("/var/lib/licmond")}`);
  expect(LAID.filter((path) => place.files().includes(path.slice(1)))).toEqual(LAID.slice(-2));

  const unasked = await place.uninstall("--purge");
  expect([unasked.exitCode, unasked.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  const ask = (answer: string) =>
    Bun.spawnSync(["script", "-qec", `${BINARY} uninstall --purge --root ${place.root}`, "/dev/null"], {
      stdin: new Blob([`${answer}\n`]),
    });
  const no = ask("no");
  expect(no.exitCode).toBe(1);
  expect(no.stdout.toString()).toContain('Type "delete" to continue');
  expect(place.files()).toContain("var/lib/licmond/licmond.db");
  expect(ask("delete").exitCode).toBe(0);
  expect(place.files().filter((path) => path.includes("licmond"))).toEqual([]);
  expect((await place.uninstall()).stdout).toContain("Nothing to do");
});

test("the user's own config is installed, never overwritten, and must be valid", async () => {
  await using place = await image();
  await using other = await image();
  const mine = other.at("/mine.toml");
  for (const [text, words] of [
    [null, "mine.toml: no such file"],
    ["http]\n", "mine.toml:1: invalid TOML"],
    ["[http]\nprot = 1\n", 'mine.toml:2: http.prot: unknown key "prot"'],
  ] as const) {
    if (text !== null) await Bun.write(mine, text);
    const { exitCode, stderr } = await place.install("--config", mine);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(words)]);
    expect(stderr).toEndWith("licmond: invalid config: nothing was changed\n");
    expect(place.files()).toEqual([]);
  }
  await Bun.write(mine, "[http]\nport = 9090\n");
  await place.install("--config", mine);
  expect(await place.text(CONFIG)).toBe("[http]\nport = 9090\n");
  await Bun.write(place.at(CONFIG), "# changed\n");
  expect((await place.install()).stdout).toContain("Nothing to do");
  expect(await place.text(CONFIG)).toBe("# changed\n");
});

test("a link out of the image is not followed", async () => {
  await using place = await image();
  await using outside = await image();
  symlinkSync(outside.root, place.at("/etc"));
  const { exitCode, stderr } = await place.install();
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`${place.at("/etc")} leads to ${outside.root}, outside of ${place.root}`);
  expect(stderr).toEndWith("licmond: nothing was changed\n");
  expect([outside.files(), place.files()]).toEqual([[], ["etc"]]);
});

const mayMount = Bun.spawnSync(["unshare", "--mount", "true"]).exitCode === 0;

test.skipIf(!mayMount)("a read-only file system is reported once", async () => {
  await using place = await image();
  const script = 'mount -t tmpfs -o ro none "$1" && exec "$2" install --root "$1"';
  const child = Bun.spawnSync(["unshare", "--mount", "sh", "-c", script, "sh", place.root, BINARY]);
  expect(child.exitCode).toBe(1);
  const fix = "fix: mount it writable (mount -o remount,rw)\nlicmond: nothing was changed\n";
  expect(child.stderr.toString()).toBe(`licmond: ${place.root} is on a read-only file system\n  ${fix}`);
});

test("an image with the Debian package is left to apt, except for other files of install", async () => {
  await using place = await image();
  mkdirSync(place.at("/var/lib/dpkg"), { recursive: true });
  const other = "Package: other\nStatus: install ok installed\n\n";
  const setStatus = (state: string) =>
    Bun.write(place.at("/var/lib/dpkg/status"), `${other}Package: licmond\nStatus: ${state}\n\n`);
  await setStatus("deinstall ok config-files");
  await place.install();
  await setStatus("install ok installed");
  const again = await place.install();
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("apt")]);
  const refused = [1, expect.stringContaining("apt purge licmond")];
  const purged = await place.uninstall("--purge", "--yes");
  expect([purged.exitCode, purged.stderr]).toEqual(refused);
  expect((await place.uninstall()).exitCode).toBe(0);
  expect(place.files()).not.toContain("usr/local/bin/licmond");
  const over = await place.uninstall();
  expect([over.exitCode, over.stderr]).toEqual(refused);
  expect(place.files()).toContain(CONFIG.slice(1));
});

test.each([
  [["install", "--start", "--no-systemd"], "--start cannot be used with"],
  [["install", "--start", "--root", "/x"], "--start cannot be used with"],
  [["install", "--root", "/"], "--root / is this host;"],
  [["uninstall", "--root", "/"], "--root / is this host;"],
  [["install", "--root", "", "--dry-run"], "--root must be a directory"],
  [["install", "--root", BINARY, "--dry-run"], "is not a directory"],
  [["upgrade", "--rollback", "./x"], "--rollback takes no file"],
])("usage error: %j", async (args, words) => {
  const { exitCode, stderr } = await run(args);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(words)]);
});

test.skipIf(process.getuid?.() !== 0)("without root it suggests sudo, and changes nothing", async () => {
  await using place = await image();
  const binary = place.at("licmond");
  copyFileSync(BINARY, binary);
  chmodSync(place.root, 0o755);
  for (const args of [["install"], ["uninstall"], ["upgrade", binary]]) {
    const unprivileged = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const { exitCode, stderr } = await run(args, { program: [...unprivileged, binary] });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("sudo")]);
  }
});
