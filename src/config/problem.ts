import { type KeyPath, printPath } from "../domain/schema-problems.ts";

/** Returns the line (1-based) of a key in a TOML text, or of the nearest table or key around it. */
export type Locate = (path: KeyPath) => number | null;

/**
 * Finds the lines of keys in a TOML text. The parser reports positions only for syntax errors, so this
 * scans the text again for headers and keys at the start of statements. Expects valid TOML.
 */
export function createLocator(text: string): Locate {
  const lines = new Map<string, number>();
  const counts = new Map<string, number>();
  let table: (string | number)[] = [];

  for (const statement of statements(text)) {
    const header = /^\s*(\[\[?)/.exec(statement.text);
    const names = keysAt(statement.text, header?.[0].length ?? 0);
    if (names === null) continue;
    if (header === null) {
      note(table, names, statement.line);
      continue;
    }
    table = resolve(names);
    if (header[1] === "[[") {
      const index = counts.get(printPath(table)) ?? 0;
      counts.set(printPath(table), index + 1);
      table.push(index);
    }
    remember(table, statement.line);
  }

  /** Resolves `[a.b]` below `[[a]]` to the last table in a. */
  function resolve(names: readonly string[]): (string | number)[] {
    const path: (string | number)[] = [];
    for (const [position, name] of names.entries()) {
      path.push(name);
      const count = counts.get(printPath(path));
      if (count !== undefined && position < names.length - 1) path.push(count - 1);
    }
    return path;
  }

  function note(base: KeyPath, names: readonly string[], line: number): void {
    for (let length = 1; length <= names.length; length++)
      remember([...base, ...names.slice(0, length)], line);
  }

  function remember(path: KeyPath, line: number): void {
    const key = printPath(path);
    if (!lines.has(key)) lines.set(key, line);
  }

  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const line = lines.get(printPath(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return null;
  };
}

/** Matches a whole string, a comment, a bracket or a line end. */
const TOKEN =
  /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[\]{}]|\n/g;

/** Yields the parts of the text between line ends that are outside of strings and brackets. */
function* statements(text: string) {
  let start = 0;
  let line = 1;
  let startLine = 1;
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    else if (token === "\n") {
      line += 1;
      if (depth > 0) continue;
      yield { text: text.slice(start, index), line: startLine };
      start = index + 1;
      startLine = line;
    } else line += token.split("\n").length - 1;
  }
  yield { text: text.slice(start), line: startLine };
}

const KEY = /\s*(?:([A-Za-z0-9_-]+)|"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(\.?)/y;

/** Returns the dotted key that starts at `from`; null for blank lines and comments. */
function keysAt(text: string, from: number): string[] | null {
  const names: string[] = [];
  KEY.lastIndex = from;
  for (;;) {
    const found = KEY.exec(text);
    if (found === null) return names.length > 0 ? names : null;
    names.push(found[1] ?? found[3] ?? unquote(found[2] ?? ""));
    if (found[4] !== ".") return names;
  }
}

/** Unquotes a TOML basic string. JSON has the same escapes except `\U00000000`, which our keys do not use. */
function unquote(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

/** A problem in the config. The message does not quote values that may be secret. */
export interface Problem {
  readonly file: string | null;
  /** Environment variable that set the value; null if the file did. */
  readonly variable: string | null;
  /** Line number, starting at 1; null if unknown. */
  readonly line: number | null;
  /** Path of the key, such as `servers[0].interval`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
  /** Quoted id of the server that the path is about. */
  readonly server: string | null;
}

export interface Finding {
  readonly path: KeyPath;
  readonly message: string;
}

/** Formats a problem as one line: `/etc/licmond/licmond.toml:12: servers[0].interval must be …`. */
export function printProblem(problem: Problem): string {
  const place =
    problem.variable !== null
      ? `$${problem.variable}`
      : [problem.file, problem.line].filter((part) => part !== null).join(":");
  const server = problem.server === null ? "" : ` (server ${problem.server})`;
  return [
    place,
    problem.path === ""
      ? problem.message
      : `${problem.path}${problem.message.startsWith("unknown") ? ":" : ""} ${problem.message}${server}`,
  ]
    .filter((part) => part !== "")
    .join(": ");
}
