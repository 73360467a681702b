import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Daemon,
  type Ended,
  freePort,
  type RunOptions,
  run,
  type StartOptions,
  start,
} from "./harness.ts";

/** Returns the secret of a key `lmk_<id>_<secret>`. The secret may contain `_` too. */
export function secretOf(key: string): string {
  return key.split("_").slice(2).join("_");
}

/** A FlexNet server of the config, with additional keys. */
export const serverToml = (id: string, tool: string, more = "") =>
  `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = "${tool}"\n${more}\n`;

/** A temporary folder of one daemon: config, storage and tools. Disposing removes it. */
export interface Site extends AsyncDisposable {
  readonly folder: string;
  readonly config: string;
  readonly port: number;
  /** Writes a config with `[http]` and `[storage]` of this site and `toml`; `http` are additional lines of `[http]`. */
  configure(toml: string, http?: string): Promise<void>;
  /** Creates a tool that prints the text last passed to `says`. */
  tool(name: string): Promise<FakeTool>;
  serve(options?: Partial<StartOptions>): Promise<Daemon>;
  /** Runs a command of the binary with this site's config. */
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Creates a key on the command line: `test-1`, `test-2` and so on. */
  key(role: string, ...options: string[]): Promise<string>;
}

export interface FakeTool {
  readonly path: string;
  says(output: string, exitCode?: number): Promise<void>;
}

/** `toml` is the config without `[http]` and `[storage]`. */
export async function createSite(toml = ""): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-e2e-"));
  const config = join(folder, "licmond.toml");
  const storage = join(folder, "storage");
  const port = await freePort();
  let keys = 0;
  await mkdir(storage);

  const site: Site = {
    folder,
    config,
    port,
    async configure(toml, http = "") {
      await Bun.write(
        config,
        `[http]\nhost = "127.0.0.1"\nport = ${port}\n${http}\n[storage]\ndirectory = "${storage}"\n\n${toml}\n`,
      );
    },
    async tool(name) {
      const path = join(folder, name);
      const [output, exitCode] = [`${path}.output`, `${path}.exit`];
      await Bun.write(path, `#!/bin/sh\ncat '${output}'\nexit "$(cat '${exitCode}')"\n`);
      await chmod(path, 0o755);
      const tool: FakeTool = {
        path,
        async says(text, code = 0) {
          await Bun.write(output, text);
          await Bun.write(exitCode, String(code));
        },
      };
      await tool.says("");
      return tool;
    },
    serve: (options) => start({ args: ["serve", "--config", config], port, ...options }),
    run: (args, options) => run([...args, "--config", config], options),
    async key(role, ...options) {
      const ended = await site.run([
        "keys",
        "create",
        "--name",
        `test-${++keys}`,
        "--role",
        role,
        ...options,
      ]);
      if (ended.exitCode !== 0) throw new Error(`keys create: exit ${ended.exitCode}\n${ended.stderr}`);
      return ended.stdout.trim();
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
  await site.configure(toml);
  return site;
}
