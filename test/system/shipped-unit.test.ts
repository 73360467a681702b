import { afterEach, describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

const FOLDER = join(import.meta.dir, "../../systemd");
const UNITS = ["licmond.service", "licmond-hub.service"];

async function run(...argv: string[]): Promise<{ exitCode: number; output: string }> {
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "pipe", env: { LC_ALL: "C" } });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { exitCode: await child.exited, output: out + err };
}

const lacking = (program: string) => (Bun.which(program) === null ? ` (skipped: no ${program} here)` : "");
const analyze = lacking("systemd-analyze");

describe.skipIf(analyze !== "").each(UNITS)(`%s as systemd-analyze sees it${analyze}`, (name) => {
  const unit = join(FOLDER, name);

  test("its exposure is at most 2.0", async () => {
    const options = ["--offline=yes", "--no-pager", "--threshold=20"];
    const { exitCode, output } = await run("systemd-analyze", "security", ...options, unit);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
  });

  test("systemd accepts all of it", async () => {
    const file = join(temporaryDirectory(), name);
    // The binary need not be installed; any program will do.
    await Bun.write(file, (await Bun.file(unit).text()).replaceAll("/usr/local/bin/licmond", "/bin/true"));
    const { exitCode, output } = await run("systemd-analyze", "verify", "--man=no", file);
    const ours = output.split("\n").filter((line) => line.includes("licmond"));
    expect({ exitCode, ours }).toEqual({ exitCode: 0, ours: [] });
  });
});

const sysusers = lacking("systemd-sysusers") || lacking("systemd-tmpfiles");

test.skipIf(sysusers !== "" || process.getuid?.() !== 0)(
  `its user and directories are made${sysusers || (process.getuid?.() === 0 ? "" : " (skipped: not root)")}`,
  async () => {
    const folder = temporaryDirectory();
    await mkdir(join(folder, "etc"));
    const root = `--root=${folder}`;
    const made = await run("systemd-sysusers", root, join(FOLDER, "licmond.sysusers.conf"));
    expect(made).toMatchObject({ exitCode: 0 });
    const passwd = await Bun.file(join(folder, "etc/passwd")).text();
    const [, , uid = "", , ...rest] =
      passwd
        .split("\n")
        .find((line) => line.startsWith("licmond:"))
        ?.split(":") ?? [];
    expect(Number(uid)).toBeGreaterThan(0);
    expect(rest).toEqual(["License monitoring daemon", "/var/lib/licmond", "/usr/sbin/nologin"]);

    const group = (await Bun.file(join(folder, "etc/group")).text()).match(/^licmond:x:(\d+):/m)?.[1];
    const kept = await run("systemd-tmpfiles", root, "--create", join(FOLDER, "licmond.tmpfiles.conf"));
    expect(kept).toMatchObject({ exitCode: 0 });
    const folders = ["licmond", "licmond/secrets"].map((name) => join(folder, "etc", name));
    const { output } = await run("stat", "-c", "%n %a %u %g", ...folders);
    const listed = output.replaceAll(`${folder}/etc/`, "");
    expect(listed).toBe(`licmond 750 0 ${group}\nlicmond/secrets 700 0 0\n`);
  },
);
