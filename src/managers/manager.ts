import type { Reading, ToolError } from "../domain/reading.ts";
import type { ManagerName } from "../domain/words.ts";
import type { DebugLog } from "./debug-log/debug-log.ts";
import type { Profile } from "./profile.ts";
import type { SimulatedTool } from "./simulated-tool.ts";

/**
 * Derives the argv prefix of a utility from `tool`. An all-in-one program such as lmutil takes the utility's
 * name as first argument; a program listed in `single` is replaced by the utility in the same folder.
 */
export function utilityOf(
  tool: readonly string[],
  name: string,
  single: readonly string[],
): readonly string[] {
  const path = tool.at(-1) ?? "";
  const [, folder = "", program = "", extension = ""] = /^(.*[/\\])?([^/\\]*?)(\.exe)?$/i.exec(path) ?? [];
  if (program.toLowerCase() === name) return tool;
  if (!single.includes(program.toLowerCase())) return [...tool, name];
  return [...tool.slice(0, -1), `${folder}${name}${extension}`];
}

/** To add a license manager, add a folder and a line in `registry.ts`. */
export interface Manager {
  readonly name: ManagerName;
  readonly title: string;
  /**
   * True if parts of the parser were never tested with real output. Records, `check` and the page show
   * this.
   */
  readonly experimental?: true;
  /**
   * Profile that defines the manager, if any. A worker parses the answers of such managers with a time
   * limit.
   */
  readonly profile?: Profile;
  /** Names of the tool on $PATH in order of preference; empty if every step is an HTTP request. */
  readonly tools: readonly string[];
  /** Parses an address. For an invalid address, returns a description of the problem and the expected form. */
  parseAddress(address: string): ParsedAddress | AddressProblem;
  /**
   * Returns the steps of the status query in order. `tool` is an argv prefix with at least one element if `tools` is
   * not empty. With `hasSecret` (the server has a `secret_file`) a step may contain `{secret}`.
   */
  steps(tool: readonly string[], address: string, hasSecret?: boolean): readonly Step[];
  /** `first answer`: the steps query members that know the same. `all` (default) needs `merge`. */
  readonly until?: "all" | "first answer";
  /** Merges the readings of all steps, in order. */
  merge?(readings: readonly Reading[]): Reading;
  readonly commands: ManagerCommands;
  /** Returns the argv prefix of a utility, derived from `tool`, the prefix of the status query. */
  utility(tool: readonly string[], name: string): readonly string[];
  /**
   * True if the output contains the license server's time. Most tools print the clock of the host that runs
   * them.
   */
  readonly printsServerClock?: true;
  createParser(context: ParseContext): ReadingParser | TextParser;
  explain(error: ToolError): string | null;
  /** Number of members that must be up; 1 if members are independent. */
  quorum(members: number): number;
  readonly debugLog: DebugLog | null;
  /** Prints a reading as the tool would: `parse(render(reading))` equals the reading. */
  render(reading: Reading, options: RenderOptions): string;
  readonly simulatedTool: SimulatedTool | null;
}

export type Step = CommandStep | RequestStep;

export interface CommandStep {
  /** Name of the step, unique within a poll, e.g. the member's address. Passed to the parser. */
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Input of the tool. `{secret}` is replaced with the server's secret, which must not appear in argv. */
  readonly stdin?: string;
  readonly stream?: "stdout" | "stderr";
}

export interface RequestStep {
  readonly name: string;
  readonly request: HttpQuestion;
  /**
   * POST before the request. `token` extracts the token from the answer to this POST; headers of the
   * request may contain it as `{token}`.
   */
  readonly login?: HttpQuestion & { token(answer: string): string | null };
}

/**
 * A request. Query values, headers and body may contain `{secret}` and `{secret_base64}`; with a secret of
 * the form `user:password`, use the header `Basic {secret_base64}`. In JSON and form bodies the secret is
 * escaped. Redirects are not followed if a secret was sent.
 */
export interface HttpQuestion {
  readonly method: "GET" | "POST";
  /** URL that starts with `http:` or `https:` and has no query. */
  readonly url: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ParsedAddress {
  /** Members in the address; empty if the address is the path of a license file. */
  readonly members: readonly { readonly host: string; readonly port: number | null }[];
}

export interface AddressProblem {
  readonly problem: string;
}

export const BUILT_IN_COMMANDS = ["status", "diagnose", "reread", "remove"] as const;
export type BuiltInCommand = (typeof BUILT_IN_COMMANDS)[number];
export type ManagerCommands = Readonly<Partial<Record<BuiltInCommand, CommandTemplate>>>;

interface CommandTemplate {
  readonly utility: string;
  /** Argument lists to choose from. `remove` may have a list with the handle and a list with names. */
  readonly forms: readonly CommandForm[];
}

interface CommandForm {
  readonly by?: "handle" | "names";
  /**
   * Placeholders: `{address}`, `{server_host}` and `{server_port}` (of one member), and for a checkout
   * `{feature}`, `{user}`, `{host}`, `{display}`, `{handle}`, `{daemon}`, `{daemon_port}`.
   */
  readonly argv: readonly string[];
}

export interface ParseContext {
  readonly zone: string;
  /** Current time, epoch ms. If the output has no report time, missing years are derived from this time. */
  readonly now: number;
  /** Hosts seen in earlier outputs of this server. The parser adds those that it finds. */
  readonly knownHosts: KnownHosts;
  readonly step?: string;
  /** Maximum age in ms of an answer with a timestamp; absent = no limit. */
  readonly maxAgeMs?: number;
}

export type KnownHosts = Pick<ReturnType<typeof createKnownHosts>, "has" | "add">;

/** Never throws and takes linear time. The caller can yield to the event loop between lines. */
export interface ReadingParser {
  line(text: string): void;
  finish(end: OutputEnd): Reading;
}

/** For JSON and XML. Never throws and takes linear time. */
export interface TextParser {
  /** `truncated`: the text hit the collector's size limit, or may be cut. */
  text(whole: string, truncated: boolean): Reading;
}

export interface OutputEnd {
  /** Possibly cut line after the last line end; null if the text ends with a line end. */
  readonly rest: string | null;
  readonly truncated: boolean;
}

export interface RenderOptions {
  /** Address of the server, for lines that repeat it. */
  readonly address: string;
  readonly zone: string;
  readonly step?: string;
}

/**
 * Maximum number of known hosts per server. It covers the largest known sites, and bounds the memory that
 * an untrusted output can use.
 */
export const MAX_HOSTS = 50_000;

/** Number of hosts per slice; a slice takes well under a millisecond. */
const AT_ONCE = 500;

/**
 * A bounded set of client hosts; when the set is full, the older half is dropped. Added hosts are queued,
 * because few outputs read the set, and inserting each host at once makes parsing 57,000 lines a third
 * slower.
 */
export function createKnownHosts(initial: Iterable<string> = []) {
  let known = new Set<string>();
  let added: string[] = [];
  let learnt = 0;

  function learn(host: string): void {
    if (known.has(host)) return;
    const key = host.toLowerCase();
    if (known.has(key)) return;
    // Copy the string, because a slice would keep the whole output in memory, and hosts live for months.
    known.add(Buffer.from(key).toString());
    learnt++;
    if (known.size > MAX_HOSTS) known = new Set([...known].slice(MAX_HOSTS / 2));
  }

  function* learnAdded(): Generator<void, void> {
    for (let next = 0; next < added.length; next += AT_ONCE) {
      for (const host of added.slice(next, next + AT_ONCE)) learn(host);
      yield;
    }
    added = [];
  }

  function settle(): void {
    for (const _ of learnAdded());
  }

  for (const host of initial) learn(host);
  return {
    has(host: string): boolean {
      settle();
      return known.has(host.toLowerCase());
    },
    add: (host: string): void => void added.push(host),
    learnAdded,
    /** Number of hosts learnt so far. A different number means that the list has changed. */
    learnt: () => learnt,
    /** Returns the hosts, oldest first. Adding them to a new set in this order keeps their order of age. */
    list(): string[] {
      settle();
      return [...known];
    },
  };
}
