/** A fenced block of a document. */
export interface Block {
  readonly file: string;
  readonly line: number;
  /** Language of the block: `sh`, `console`, `toml`, …; empty if the fence names none. */
  readonly language: string;
  /** NAME of the comment `<!-- run: NAME key=value … -->` above the fence, which readers do not see. */
  readonly runner: string | null;
  readonly options: ReadonlyMap<string, string>;
  readonly text: string;
}

const FENCE = /^ *(`{3,}|~{3,})/;
const MARKER = /^ *<!-- run: ([a-z]+)((?: [a-z]+=\S+)*) -->$/;

/** Returns all fenced blocks. Throws on a marker without a block, and on an unusual or unclosed fence. */
export function blocksOf(markdown: string, file: string): Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const where = `${file}:${at + 1}`;
    if (/^\s*<!-- *run/.test(line) && !(MARKER.test(line) && FENCE.test(lines[at + 1] ?? "")))
      throw new Error(`${where}: a marker reads <!-- run: NAME --> and stands directly above a block`);
    if (!FENCE.test(line)) continue;
    // Blocks in lists are indented.
    const [, indent, language] = /^( *)```(\w*)$/.exec(line) ?? [];
    if (indent === undefined || language === undefined)
      throw new Error(`${where}: a fence is \`\`\`language and nothing else`);
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end === -1) throw new Error(`${where}: the block has no end`);
    const [, runner = null, options = ""] = MARKER.exec(lines[at - 1] ?? "") ?? [];
    const pairs = [...options.matchAll(/(\w+)=(\S+)/g)].map(
      ([, name = "", value = ""]) => [name, value] as const,
    );
    const inside = lines.slice(at + 1, end).map((each) => each.slice(indent.length));
    blocks.push({ file, line: at + 1, language, runner, options: new Map(pairs), text: inside.join("\n") });
    at = end;
  }
  return blocks;
}

/** A command line, and its output as the document shows it. */
export interface ShownCommand {
  readonly command: string;
  /** Shown output; null if the document shows none. */
  readonly output: string | null;
}

/**
 * Returns the commands of a block: each line of `sh`, and the lines after `$ ` of `console`, with the lines
 * below as output. A backslash or a pipe at its end continues a line.
 */
export function commandsOf({ language, text, file, line }: Block): ShownCommand[] {
  if (language !== "sh" && language !== "console") throw new Error(`${file}:${line}: no commands`);
  const shown: { command: string; output: string[] | null }[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    let command = lines[at] ?? "";
    if (language === "console" && !command.startsWith("$ ")) {
      const last = shown.at(-1);
      if (last === undefined) throw new Error(`${file}:${line}: output before the first command`);
      last.output?.push(command);
      continue;
    }
    if (/^\s*(#|$)/.test(command)) continue;
    if (language === "console") command = command.slice(2);
    while (/[\\|]$/.test(command) && at + 1 < lines.length) command += `\n${lines[++at]}`;
    shown.push({ command, output: language === "console" ? [] : null });
  }
  return shown.map(({ command, output }) => ({ command, output: output?.join("\n") ?? null }));
}
