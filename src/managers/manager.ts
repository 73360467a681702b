import type { Reading, ToolError } from "../domain/reading.ts";
import type { ManagerName } from "../domain/words.ts";
import type { DebugLog } from "./debug-log/debug-log.ts";
import type { Profile } from "./profile.ts";

/**
 * argv prefix of a manager's utility, where `tool` runs its status query: an all-in-one program takes the utility's
 * name as its first word; beside the programs of `single`, which are utilities themselves, lies each of the others.
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

/**
 * A license manager: what to ask, text → Reading, Reading → text. Everything that differs between license managers
 * stands behind this interface; to add one is to add a folder and a line in `registry.ts`.
 */
export interface Manager {
  readonly name: ManagerName;
  /** For people: `FlexNet`, `RLM`. */
  readonly title: string;
  /** Set where no real output of all that it reads was seen: records, `check` and the page say so. */
  readonly experimental?: true;
  /** The rules of one that is written as data: what they read is parsed in a worker, under a time limit. */
  readonly profile?: Profile;
  /** Names of the tool on $PATH, the preferred first; none where every step is a request. */
  readonly tools: readonly string[];
  /** Takes an address apart, or says what is wrong with it and what would be right. */
  parseAddress(address: string): ParsedAddress | AddressProblem;
  /**
   * The status query: what to ask, in this order. `tool` is an argv prefix of at least one element where `tools` has a
   * name; `hasSecret`: the server has a `secret_file`, so that a step may be asked with `{secret}`.
   */
  steps(tool: readonly string[], address: string, hasSecret?: boolean): readonly Step[];
  /**
   * `all` (default): each step is asked, and `merge` makes one reading of theirs. `first answer`: the steps are members
   * that know the same, and the first whose reading is usable is the answer.
   */
  readonly until?: "all" | "first answer";
  /** The readings of all steps, in their order, as one; only a manager with several steps to be asked needs it. */
  merge?(readings: readonly Reading[]): Reading;
  /** What `POST /api/execute` can run of this manager's tools. */
  readonly commands: ManagerCommands;
  /** argv prefix of one of the manager's utilities, where `tool` runs the status query. */
  utility(tool: readonly string[], name: string): readonly string[];
  /** Set where outputs state the license server's time. Most tools print the clock of the host that runs them. */
  readonly printsServerClock?: true;
  /** A fresh parser for one output. */
  createParser(context: ParseContext): ReadingParser | TextParser;
  /**
   * What an error of this manager's tool means, in words that continue `The license server at 27000@lic1`; null
   * when the tool's own words say enough.
   */
  explain(error: ToolError): string | null;
  /** Members that must be up of so many for the service to work; 1 where members stand alone. */
  quorum(members: number): number;
  /** The daemons' debug log; null when the manager has none that licmond can read. */
  readonly debugLog: DebugLog | null;
  /** Text that the manager's tool would print for this reading: `parse(render(reading))` equals the reading. */
  render(reading: Reading, options: RenderOptions): string;
  /** The manager's tool, played for the demo and `licmond simulate`; null when nobody plays it. */
  readonly fake: FakeTool | null;
}

/** One question of a status query. */
export type Step = CommandStep | RequestStep;

export interface CommandStep {
  /** Tells steps of one query apart: a member's host, or what is asked. The parser gets it. */
  readonly name: string;
  readonly argv: readonly string[];
  /** Additions to the scrubbed environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What the tool reads on stdin; `{secret}` in it is the server's secret, which no argv may hold. */
  readonly stdin?: string;
  /** Where the tool prints its answer; default stdout. */
  readonly stream?: "stdout" | "stderr";
}

export interface RequestStep {
  readonly name: string;
  readonly request: HttpQuestion;
  /** One POST before the request: what `token` finds in its answer fills `{token}` in the request's headers. */
  readonly login?: HttpQuestion & { token(answer: string): string | null };
}

/**
 * `{secret}` in a query value, a header or the body is the server's secret, `{secret_base64}` its base64: a secret
 * `user:password` makes `Basic {secret_base64}`. In a body of JSON or of a form, by its content-type, the secret is
 * escaped. Redirects with a secret are not followed.
 */
export interface HttpQuestion {
  readonly method: "GET" | "POST";
  /** `http:` or `https:`, without the query. */
  readonly url: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Plays a manager's tool: what it is asked, in its own dialect, and what it prints for that. */
export interface FakeTool {
  /** Whether it waits for words on stdin when it is run with these arguments; absent = never. */
  readsStdin?(args: readonly string[]): boolean;
  /** `args` are those after the tool's own path; `stdin` is what it is told there. */
  answer(args: readonly string[], stdin: string, server: FakeServer): FakeAnswer;
}

/** The simulated server behind a fake tool. */
export interface FakeServer {
  readonly address: string;
  /** Version of its tool. */
  readonly version: string;
  readonly zone: string;
  readonly members: readonly FakeMember[];
  /** What it would say now if it were asked under these names. */
  reading(members: readonly FakeMember[]): Reading;
}

export interface FakeMember {
  readonly host: string;
  readonly port: number;
}

export interface FakeAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export interface ParsedAddress {
  /** Empty when the address is the path of a license file. */
  readonly members: readonly { readonly host: string; readonly port: number | null }[];
}

export interface AddressProblem {
  readonly problem: string;
}

/** Commands that a manager may have for `POST /api/execute`, by the names under which it knows them. */
export const BUILT_IN_COMMANDS = ["status", "diagnose", "reread", "remove"] as const;
export type BuiltInCommand = (typeof BUILT_IN_COMMANDS)[number];
export type ManagerCommands = Readonly<Partial<Record<BuiltInCommand, CommandTemplate>>>;

interface CommandTemplate {
  /** The utility that does it, e.g. `lmremove`. */
  readonly utility: string;
  /** Ways to say it to the utility; `remove` may have one by handle and one by names. */
  readonly forms: readonly CommandForm[];
}

interface CommandForm {
  /** By what it names a checkout. */
  readonly by?: "handle" | "names";
  /**
   * Arguments after the utility. `{address}`, `{server_host}` and `{server_port}` (of one member), and for a checkout
   * `{feature}`, `{user}`, `{host}`, `{display}`, `{handle}`, `{daemon}`, `{daemon_port}` are filled in, each within its
   * element.
   */
  readonly argv: readonly string[];
}

export interface ParseContext {
  /** IANA zone in which the server prints its times. */
  readonly zone: string;
  /** Our own clock, epoch ms: the reference for years where the output has no report time. */
  readonly now: number;
  /** Hosts learnt in earlier outputs of this server; the parser adds what it learns. */
  readonly knownHosts: KnownHosts;
  /** Name of the step whose answer is read; absent where the text came from a file. */
  readonly step?: string;
  /** How old an answer may be that says when it was made, in ms; absent = as old as it likes. */
  readonly maxAgeMs?: number;
}

/** Client host names, compared case-insensitively. */
export type KnownHosts = Pick<ReturnType<typeof createKnownHosts>, "has" | "add">;

/**
 * A resumable parser: lines go in one by one, so that the caller can yield to the event loop between them.
 * It never throws, whatever the lines hold, and takes time linear in their length.
 */
export interface ReadingParser {
  /** One line without its line end. */
  line(text: string): void;
  finish(end: OutputEnd): Reading;
}

/** A parser of the whole text at once, for JSON and XML. It never throws, and takes time linear in the text's length. */
export interface TextParser {
  /** `truncated`: the text hit the collector's cap, or may be cut. */
  text(whole: string, truncated: boolean): Reading;
}

export interface OutputEnd {
  /** The text after the last line end, which may be a line that was cut; null when there is none. */
  readonly rest: string | null;
  /** The output hit the collector's cap and goes on unseen. */
  readonly truncated: boolean;
}

export interface RenderOptions {
  /** The address as given to the tool, for the lines that repeat it. */
  readonly address: string;
  readonly zone: string;
  /** Name of the step that is answered; absent = the only one. */
  readonly step?: string;
}

/** Enough for the largest sites seen (some 10,000 workstations) and still a bound on what a stranger can feed us. */
export const MAX_HOSTS = 50_000;

/** Hosts learnt at once, well under a millisecond. */
const AT_ONCE = 500;

/**
 * A bounded set of client hosts: a full one forgets the half that was learnt first. Added ones are learnt when the set
 * is asked: few outputs hold a name that needs it, and a large one's 57,000 lines would take a third longer to read.
 */
export function createKnownHosts(initial: Iterable<string> = []) {
  let known = new Set<string>();
  let added: string[] = [];
  let learnt = 0;

  function learn(host: string): void {
    // Most are in lower case, and known.
    if (known.has(host)) return;
    const key = host.toLowerCase();
    if (known.has(key)) return;
    // A slice of a line keeps its whole output in memory as long as it lives, and hosts live for months.
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
    /** Learns what was added, in steps. */
    learnAdded,
    /** How many were learnt so far: the list is another one when this is another number. */
    learnt: () => learnt,
    /** Oldest first: put in again in this order, they are as old as they were. */
    list(): string[] {
      settle();
      return [...known];
    },
  };
}
