import { chown, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { configFile } from "../config/load.ts";
import { codeOf, messageOf } from "../domain/error-code.ts";
import { command, text } from "./command.ts";
import initialConfig from "./initial-config.toml" with { type: "text" };
import { Failure } from "./io.ts";

export const init = command({
  options: { output: text("<file>", "file to write (default: the file of --config), - for stdout") },
  async run({ options: { output }, config }, io) {
    if (output === "-") return io.out(INITIAL_CONFIG);
    const { file } = configFile(output ?? config, io.env);
    await writeNew(file, INITIAL_CONFIG);
    io.out(`Wrote ${file}. Add your license servers, then run:\n  licmond check --config ${file}\n`);
  },
});

/**
 * Writes a new file, never an existing one. The mode is 0640, because a webhook's URL is a secret. A file
 * of root gets the group of the directory, which in /etc/licmond is the group of the service.
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

const NOT_YOURS = "cannot be written by this user; use sudo, or another path with --output";
const WHY_NOT: Readonly<Record<string, string>> = {
  EEXIST: "already exists; use another path with --output",
  EROFS: "is on a read-only file system (EROFS); use another path with --output",
  EACCES: NOT_YOURS,
  EPERM: NOT_YOURS,
};

export const INITIAL_CONFIG: string = initialConfig;
