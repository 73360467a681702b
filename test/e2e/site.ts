import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type RunOptions, run, type StartOptions, start } from "./harness.ts";

/** Returns the secret of a key `lmk_<id>_<secret>`. The secret may contain `_` too. */
export function secretOf(key: string): string {
  return key.split("_").slice(2).join("_");
}

/** A FlexNet server of the config, with additional keys. */
export const serverToml = (id: string, tool: string, more = "") =>
  `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = "${tool}"\n${more}\n`;

/** Limits that tests do not reach. */
export const NO_LIMITS = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";

export type Site = Awaited<ReturnType<typeof createSite>>;
export type FakeTool = Awaited<ReturnType<Site["tool"]>>;

/**
 * Creates a temporary folder of one daemon: config, storage and tools. Disposing removes it. `toml` is the config without
 * `[http]` and `[storage]`.
 */
export async function createSite(toml = "") {
  const folder = await mkdtemp(join(tmpdir(), "licmond-e2e-"));
  const config = join(folder, "licmond.toml");
  const storage = join(folder, "storage");
  const port = await freePort();
  let keys = 0;
  await mkdir(storage);

  /** Writes a config with `[http]` and `[storage]` of this site and `toml`; `http` are additional lines of `[http]`. */
  const configure = async (toml: string, http = "") => {
    const own = `[http]\nhost = "127.0.0.1"\nport = ${port}\n${http}\n[storage]\ndirectory = "${storage}"\n`;
    await Bun.write(config, `${own}\n${toml}\n`);
  };
  /** Runs a command of the binary with this site's config. */
  const runHere = (args: readonly string[], options?: RunOptions) =>
    run([...args, "--config", config], options);
  await configure(toml);
  return {
    folder,
    config,
    port,
    configure,
    /** Creates a tool that prints the text last passed to `says`. */
    async tool(name: string) {
      const path = join(folder, name);
      const [output, exitCode] = [`${path}.output`, `${path}.exit`];
      await Bun.write(path, `#!/bin/sh\ncat '${output}'\nexit "$(cat '${exitCode}')"\n`);
      await chmod(path, 0o755);
      const says = async (text: string, code = 0) => {
        await Bun.write(output, text);
        await Bun.write(exitCode, String(code));
      };
      await says("");
      return { path, says };
    },
    serve: (options?: Partial<StartOptions>) =>
      start({ args: ["serve", "--config", config], port, ...options }),
    run: runHere,
    /** Creates a key on the command line: `test-1`, `test-2` and so on. */
    async key(role: string, ...options: string[]) {
      const args = ["keys", "create", "--name", `test-${++keys}`, "--role", role, ...options];
      const { exitCode, stdout, stderr } = await runHere(args);
      if (exitCode !== 0) throw new Error(`keys create: exit ${exitCode}\n${stderr}`);
      return stdout.trim();
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
