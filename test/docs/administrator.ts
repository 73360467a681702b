/** Runs the commands of documents in a shell, block by block. */
import { type Block, commandsOf, type ShownCommand } from "./markdown.ts";
import { difference } from "./shape.ts";

/** A shell that starts a process for each command. */
export interface Shell {
  /** Returns stdout and stderr together. */
  run(script: string): Promise<{ readonly exitCode: number | null; readonly output: string }>;
  /** Disposing ends the command. */
  start(script: string): AsyncDisposable & { output(): string };
  /** File that keeps variables and the directory from one command to the next. */
  readonly memory: string;
}

export interface Administrator {
  /**
   * Runs the block's commands. Throws if one fails or prints other output than the document shows; later
   * blocks then fail too.
   */
  follow(block: Block): Promise<void>;
}

/** Maximum time until a stream has printed the shown output. */
const STREAM_DEADLINE_MS = 60_000;

/** `adapt` changes details that cannot be used as written, e.g. a port. */
export function createAdministrator(shell: Shell, adapt = (command: string) => command): Administrator {
  const script = (command: string) => `touch ${shell.memory}; . ${shell.memory}; cd "$PWD"
set -a
{ ${adapt(command)}
} 2>&1
code=$?
export -p >${shell.memory}
exit $code`;

  async function type({ command, output }: ShownCommand, exitCode: number, where: string): Promise<void> {
    if (/\bcurl -\w*N/.test(command)) return watch({ command, output }, where);
    const ended = await shell.run(script(command));
    if (ended.exitCode !== exitCode)
      throw new Error(`${where}: exit ${ended.exitCode}: ${command}\n${ended.output}`);
    const differs = output === null ? null : difference(output, ended.output);
    if (differs !== null) throw new Error(`${where}: ${command}\n${differs}`);
  }

  /** Streams do not end, so this waits for the shown output. */
  async function watch({ command, output }: ShownCommand, where: string): Promise<void> {
    await using running = shell.start(script(command));
    const deadline = performance.now() + STREAM_DEADLINE_MS;
    for (;;) {
      const differs = difference(output ?? "…", running.output(), true);
      if (differs === null && running.output() !== "") return;
      if (performance.now() > deadline) throw new Error(`${where}: ${command}\n${differs}`);
      await Bun.sleep(20);
    }
  }

  let stuckAt: string | null = null;

  return {
    async follow(block) {
      const where = `${block.file}:${block.line}`;
      if (stuckAt !== null) throw new Error(`not reached: ${stuckAt} failed`);
      stuckAt = where;
      const exitCode = Number(block.options.get("exit") ?? 0);
      const commands = commandsOf(block);
      for (const [index, shown] of commands.entries()) {
        const isLast = index === commands.length - 1;
        await type(shown, isLast ? exitCode : 0, where);
      }
      stuckAt = null;
    },
  };
}
