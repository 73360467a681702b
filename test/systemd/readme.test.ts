/** Runs the administrator's commands of the documents in order, each document on its own machine. */
import { beforeAll, describe, expect, test } from "bun:test";
import { basename } from "node:path";
import { version } from "../../package.json";
import { type Administrator, createAdministrator, type Shell } from "../docs/administrator.ts";
import { claimed, titleOf } from "../docs/claims.ts";
import type { Block } from "../docs/markdown.ts";
import { bootedMachine, NEXT_VERSION, nextVersion } from "./booted.ts";
import { BASE, type Machine } from "./machine.ts";
import { BINARY, CONFIG, packageOf } from "./service.ts";

/** Versions that the documents show for this version and for the next one. */
const SHOWN = { this: "0.1.0", next: "0.2.0" };
/** Name of a release's executable. */
const nameOf = (which: string) => `licmond-${which}-linux-x64`;

/** Commands that create the license server and tool of the documents, before licmond is installed. */
const HOST = `echo 127.0.0.1 lic1 >>/etc/hosts
systemd-run --quiet --unit=lmgrd --socket-property=ListenStream=127.0.0.1:27000 sleep infinity
useradd --system prometheus
mkdir -p /etc/prometheus
groupadd flexlm
mkdir -p /var/log/flexnet
echo ' 8:00:00 (lmgrd) TIMESTAMP 1/31/2026' >/var/log/flexnet/siliqd.log
chgrp -R flexlm /var/log/flexnet
chmod 640 /var/log/flexnet/siliqd.log
chmod 750 /var/log/flexnet
mkdir -p /etc/letsencrypt/live/lic.example
cd /etc/letsencrypt/live/lic.example
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -keyout privkey.pem -out fullchain.pem 2>/dev/null
chmod 700 /etc/letsencrypt/live`;
const TOOL = `#!/bin/sh
exec "$(command -v licmond)" simulate flexnet --server eda --timezone Europe/Berlin "$@"
`;

/**
 * Commands for documents other than the README. These documents assume a running licmond, with a server
 * whose log is not readable yet.
 */
const INSTALLED = `chmod +x ${nameOf(version)}
./${nameOf(version)} install
echo secret >/etc/licmond/secrets/webhook
cat typed >>${CONFIG}
systemctl enable --now licmond`;
const SERVER = `
[[servers]]
id = "eda"
manager = "flexnet"
address = "27000@lic1"
tool = "/opt/flexnet/lmutil"
timezone = "Europe/Berlin"
log_file = "/var/log/flexnet/siliqd.log"
`;

describe.skipIf(BASE === undefined)("an administrator who follows the documents", () => {
  const next = nextVersion();

  for (const file of new Set(claimed("host").map((block) => block.file)))
    describe(file, () => {
      const machine = bootedMachine(prepared);
      let administrator: Administrator;
      beforeAll(() => {
        const shell: Shell = {
          memory: "/root/.memory",
          async run(script) {
            const { exitCode, stdout } = await machine.run(script);
            return { exitCode, output: stdout };
          },
          start: (script) => machine.start(`sh -c '${script.replaceAll("'", "'\\''")}'`),
        };
        administrator = createAdministrator(shell, (command) =>
          command.replaceAll(SHOWN.this, version).replaceAll(SHOWN.next, NEXT_VERSION),
        );
      });

      async function prepared(fresh: Machine): Promise<void> {
        await fresh.sh(HOST);
        await fresh.write("/opt/flexnet/lmutil", TOOL, 0o755);
        await download(fresh, BINARY, version);
        if (file === "README.md") return;
        await fresh.write("/root/typed", SERVER);
        await fresh.sh(INSTALLED);
      }

      async function follow(block: Block): Promise<void> {
        const target = block.options.get("edit");
        if (target !== undefined) return typeInto(machine, target, block.text);
        if (block.options.get("download") === "next") await download(machine, next().path, NEXT_VERSION);
        await administrator.follow(block);
      }

      for (const block of claimed("host", file)) test(titleOf(block), () => follow(block));

      // The package can be installed after `licmond install` was undone.
      for (const block of claimed("package", file))
        test.skipIf(Bun.which("dpkg-deb") === null)(titleOf(block), async () => {
          const deb = await packageOf(machine, BINARY, version, next().folder);
          await machine.copyIn(deb, `/root/${basename(deb)}`);
          await follow(block);
          expect(await machine.sh("systemctl is-active licmond; command -v licmond")).toBe(
            "active\n/usr/bin/licmond",
          );
        });
    });
});

/** Puts the executable and SHA256SUMS of a release into root's home, replacing an older one. */
async function download(machine: Machine, from: string, which: string): Promise<void> {
  await machine.sh("rm -f licmond-* SHA256SUMS");
  await machine.copyIn(from, `/root/${nameOf(which)}`);
  // SHA256SUMS also lists executables that were not downloaded.
  const other = `${"0".repeat(64)}  licmond-${which}-linux-arm64`;
  await machine.sh(`{ sha256sum ${nameOf(which)}; echo '${other}'; } >SHA256SUMS`);
}

/** Writes a block into a file with the editor that an administrator uses. */
async function typeInto(machine: Machine, target: string, text: string): Promise<void> {
  const isUnit = target.endsWith(".service");
  const file = isUnit ? `/etc/systemd/system/${target}.d/override.conf` : target;
  const before = await machine.read(file).catch(() => "");
  const after = withBlock(before, text);
  await machine.write("/root/typed", after);
  // Both commands split the editor's command into words and append the file name. systemctl edits only on a
  // terminal, which `script` provides.
  await machine.sh(
    isUnit
      ? `SYSTEMD_EDITOR='cp /root/typed' script -qec 'systemctl edit ${target}' /dev/null`
      : `SUDO_EDITOR='cp /root/typed' sudoedit ${file}`,
  );
  const written = await machine.read(file);
  if (!written.includes(text.trimEnd().split("\n").at(-1) ?? ""))
    throw new Error(`${file} has become:\n${written}`);
}

/** Inserts lines below their header if the text already has the header, and appends everything else. */
function withBlock(before: string, block: string): string {
  const lines = before === "" ? [] : before.trimEnd().split("\n");
  for (const part of block.split(/\n(?=\[)/)) {
    const [header = "", ...body] = part.trimEnd().split("\n");
    const at = header.startsWith("[[") ? -1 : lines.indexOf(header);
    if (at === -1) lines.push(...(lines.length === 0 ? [] : [""]), header, ...body);
    else lines.splice(at + 1, 0, ...body);
  }
  return `${lines.join("\n")}\n`;
}
