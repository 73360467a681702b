/** Types the commands of documents into a shell, one block after the other, as somebody who reads them does. */
import { type Block, commandsOf, type ShownCommand } from "./markdown.ts";
import { difference } from "./shape.ts";

/** A shell that the commands go to; each is run by a process of its own. */
export interface Shell {
  /** Runs it to its end; stdout and stderr together. */
  run(script: string): Promise<{ readonly exitCode: number | null; readonly output: string }>;
  /** Starts it. Disposing ends it. */
  start(script: string): AsyncDisposable & { output(): string };
  /** A file that keeps variables and the directory from one command to the next. */
  readonly memory: string;
}

export interface Administrator {
  /**
   * Runs the block's commands. Throws where one fails, or prints something else than what is shown; from then on nothing
   * is run any more.
   */
  follow(block: Block): Promise<void>;
}

/** How long a stream may take to tell what is shown. */
const STREAM_DEADLINE_MS = 60_000;

/** `adapt` changes what cannot be as written, e.g. a port. */
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

  /** Streams do not end: they are looked at until they have told what is shown. */
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
