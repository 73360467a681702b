import { chown, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { configFile } from "../config/load.ts";
import { codeOf, messageOf } from "../domain/error-code.ts";
import { command, text } from "./command.ts";
import initialConfig from "./initial-config.toml" with { type: "text" };
import { Failure } from "./io.ts";

/** `licmond init`: a commented config to start from. */
export const init = command({
  options: {
    output: text("<file>", "where to write it (default: what --config names), - for stdout"),
  },
  async run({ options: { output }, config }, io) {
    if (output === "-") return io.out(INITIAL_CONFIG);
    const { file } = configFile(output ?? config, io.env);
    await writeNew(file, INITIAL_CONFIG);
    io.out(`${file} is written. Name your license servers in it, then:\n  licmond check --config ${file}\n`);
  },
});

/**
 * Writes a file that is not there yet. Others may not read it: a web hook's address is a secret. What root writes
 * belongs to the directory's group, which is the service's in /etc/licmond.
 */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx", mode: 0o640 });
    if (process.getuid?.() === 0) await chown(file, 0, (await stat(dirname(file))).gid);
  } catch (error) {
    throw new Failure(`${file} ${WHY_NOT[codeOf(error)] ?? `cannot be written: ${messageOf(error)}`}`);
  }
}

const NOT_YOURS = "cannot be written by this user; use sudo, or --output with another place";
/** By the system's code. */
const WHY_NOT: Readonly<Record<string, string>> = {
  EEXIST: "is there already and stays as it is; --output names another place",
  EROFS: "lies on a file system that is mounted read-only (EROFS); --output names another place",
  EACCES: NOT_YOURS,
  EPERM: NOT_YOURS,
};

/** What `licmond init` writes: a config that starts as it is, with every setting explained. */
export const INITIAL_CONFIG: string = initialConfig;
