import type { ConfiguredCommand } from "../../config/config.ts";
import { ARGUMENTS, PLACEHOLDER, placeholdersOf } from "../../config/forms.ts";
import { ApiError } from "../../domain/errors.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import { BUILT_IN_COMMANDS, type BuiltInCommand, type Manager } from "../../managers/manager.ts";
import { builtInManager } from "../../managers/registry.ts";

type ArgumentName = (typeof ARGUMENTS)[number];
export type Arguments = Readonly<Partial<Record<ArgumentName, string>>>;

export const MAX_ARGUMENT = 256;

/**
 * Returns why a value must not be passed to a program, or null. Values from license servers are checked,
 * too, because a user named `-all` must not become an option.
 */
export function argumentProblem(value: string): string | null {
  if (value.trim() === "") return "is empty";
  if (value.length > MAX_ARGUMENT) return `has more than ${MAX_ARGUMENT} characters`;
  // Half a surrogate pair cannot be encoded.
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(value)) return "contains control characters";
  if (value.startsWith("-")) return "starts with -, like an option";
  return null;
}

/**
 * Fills in a template. Each value stays within its element, and placeholders in values are ignored. Returns
 * null if a value is missing. Expects values without an {@link argumentProblem}.
 */
export function fill(argv: readonly string[], values: ReadonlyMap<string, string>): readonly string[] | null {
  if (!placeholdersOf(argv).every((name) => values.has(name))) return null;
  return argv.map((element) => element.replaceAll(PLACEHOLDER, (_, name: string) => values.get(name) ?? ""));
}

/** Matches options with a secret value, and `-z`, which is RLM's password. */
const SECRET_OPTION =
  /^(-z|--?(?:[a-z]+[-_])*(?:password|passwd|pass|pwd|secret|token|api[-_]?key))(=.*)?$/is;

/** Masks secrets in an argv. */
export function maskArgv(argv: readonly string[]): readonly string[] {
  return argv.map((element, index) => {
    const [, option, value] = SECRET_OPTION.exec(element) ?? [];
    if (option !== undefined && value !== undefined) return `${option}=***`;
    const before = SECRET_OPTION.exec(argv[index - 1] ?? "");
    if (before !== null && before[2] === undefined && !element.startsWith("-")) return "***";
    return maskSecrets(element);
  });
}

/** A built-in command, or a command of the config with its argv template. */
export type CatalogueEntry = {
  readonly role: "operator" | "admin";
  /** Default time limit of the command. */
  readonly timeoutMs: number;
  readonly needsServer: boolean;
  readonly takes: readonly ArgumentName[];
} & (
  | { readonly name: BuiltInCommand; readonly template: null }
  | { readonly name: string; readonly template: readonly string[] }
);

const BUILT_IN = {
  status: { role: "operator", timeoutMs: 30_000, takes: [] },
  // Allow two minutes, because lmdiag tries every feature.
  diagnose: { role: "operator", timeoutMs: 120_000, takes: [] },
  reread: { role: "admin", timeoutMs: 60_000, takes: [] },
  remove: { role: "admin", timeoutMs: 60_000, takes: ARGUMENTS },
} as const satisfies Record<BuiltInCommand, Pick<CatalogueEntry, "role" | "timeoutMs" | "takes">>;

/** Returns all commands by name: built-in ones that at least one of `managers` has, and the config's. */
export function catalogueOf(
  configured: readonly ConfiguredCommand[],
  managers: readonly Pick<Manager, "commands">[],
): ReadonlyMap<string, CatalogueEntry> {
  const had = BUILT_IN_COMMANDS.filter((name) => managers.some(({ commands }) => name in commands));
  const builtIn = had.map((name): CatalogueEntry => {
    return { name, template: null, needsServer: true, ...BUILT_IN[name] };
  });
  const own = configured.map(({ name, argv: template, role, timeoutMs }): CatalogueEntry => {
    const open = placeholdersOf(template);
    const needsServer = open.includes("server") || open.includes("address");
    return { name, template, role, timeoutMs, needsServer, takes: ARGUMENTS.filter((a) => open.includes(a)) };
  });
  return new Map([...builtIn, ...own].map((entry) => [entry.name, entry]));
}

export interface CommandPlan {
  readonly command: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly encoding: string | null;
}

export interface PlanRequest {
  /** Picture of the server; null if the request names no server. */
  readonly picture: ServerPicture | null;
  readonly args: Arguments;
  readonly timeoutMs: number | null;
}

/** Finds the first of these programs in $PATH. */
export type FindTool = (names: readonly string[]) => string;

/**
 * Builds the argv of a command from a request's arguments. Throws ApiError MISSING_FIELD or INVALID_FIELD,
 * and the errors of {@link findCheckout}. Messages never quote values of the request.
 */
export function planCommand(entry: CatalogueEntry, request: PlanRequest, findTool: FindTool): CommandPlan {
  const { picture, args } = request;
  const { name: command, takes, template, needsServer } = entry;
  checkArguments(command, takes, args);
  const timeoutMs = request.timeoutMs ?? entry.timeoutMs;
  const encoding = picture?.server.encoding ?? null;
  if (needsServer && picture === null) throw missing("server", `${command} acts on a license server`);
  if (template === null) {
    if (picture === null) throw new Error("A built-in command acts on a server");
    const argv = planBuiltIn(entry.name, picture, args, findTool);
    return { command, timeoutMs, env: { TZ: picture.server.timezone }, argv, encoding };
  }
  const values = new Map(Object.entries(args));
  if (picture !== null) values.set("server", picture.server.id).set("address", picture.server.address);
  for (const name of takes) if (!values.has(name)) throw missing(`args.${name}`, `${command} needs it`);
  const argv = fill(template, values);
  if (argv === null) throw new Error(`The template of ${command} has an unknown placeholder`);
  return { command, timeoutMs, env: {}, argv, encoding };
}

function checkArguments(command: string, takes: CatalogueEntry["takes"], args: Arguments): void {
  for (const name of ARGUMENTS) {
    const value = args[name];
    if (value === undefined) continue;
    const taken = takes.join(", ") || "no arguments";
    const problem = takes.includes(name)
      ? argumentProblem(value)
      : `is not supported: ${command} accepts ${taken}`;
    if (problem !== null) throw new ApiError("INVALID_FIELD", `Field "args.${name}" ${problem}.`);
  }
}

function missing(field: string, why: string): ApiError {
  return new ApiError("MISSING_FIELD", `Field "${field}" is missing: ${why}.`);
}

function planBuiltIn(
  command: BuiltInCommand,
  picture: ServerPicture,
  args: Arguments,
  findTool: FindTool,
): readonly string[] {
  const { server } = picture;
  const manager = builtInManager(server.manager);
  const template = manager?.commands[command];
  if (manager === null || template === undefined) {
    const there = Object.keys(manager?.commands ?? {}).join(", ") || "no built-in commands";
    const title = manager?.title ?? server.manager;
    const message = `Field "command": ${title} does not support it; supported are ${there}.`;
    throw new ApiError("INVALID_FIELD", message);
  }
  const { utility, forms } = template;
  const tool = server.tool ?? [findTool([manager.tools[0] ?? utility, utility])];
  const values = command === "remove" ? checkoutValues(picture, args) : memberValues(picture, manager);
  values.set("address", server.address);
  // Try the form that suits the request's arguments first.
  const preferred = args.handle === undefined ? "names" : "handle";
  const inOrder = forms.toSorted((a, b) => Number(b.by === preferred) - Number(a.by === preferred));
  const filled = inOrder.map(({ argv }) => fill(argv, values)).find((argv) => argv !== null);
  if (filled != null) return [...manager.utility(tool, utility), ...filled];
  throw new ApiError(
    "INVALID_FIELD",
    `Field "args" matches a checkout that ${utility} cannot distinguish from others.`,
  );
}

/** Returns host and port of the first configured member that is up, for tools that take a single member. */
function memberValues({ server, members }: ServerPicture, manager: Manager): Map<string, string> {
  const address = manager.parseAddress(server.address);
  const configured = "problem" in address ? [] : address.members;
  const up = members.filter(({ status }) => status === "up").map(({ host }) => host.toLowerCase());
  const member = configured.find(({ host }) => up.includes(host.toLowerCase())) ?? configured[0];
  const values = new Map<string, string>();
  if (member !== undefined) values.set("server_host", member.host);
  if (member?.port != null) values.set("server_port", String(member.port));
  return values;
}

/**
 * Returns the placeholders of a checkout. Leaves out a handle, or names, that several checkouts share, so
 * that no command uses them.
 */
function checkoutValues(picture: ServerPicture, args: Arguments): Map<string, string> {
  const { feature, checkout, byHandle, byNames } = findCheckout(picture, args);
  const up = picture.members.filter(({ status }) => status === "up");
  const member = up.find(({ master }) => master) ?? up[0];
  const { user, host, display, handle } = checkout;
  const known = {
    feature: feature.name,
    daemon: feature.daemon,
    ...(byHandle && { handle }),
    ...(byNames && { user, host, display }),
    server_host: member?.host,
    server_port: member?.port,
    daemon_port: picture.daemons.find(({ name }) => name === feature.daemon)?.port,
  };
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(known)) {
    if (value === null || value === undefined || value === "") continue;
    const problem = argumentProblem(String(value));
    // Values from the license server are as untrusted as a request's.
    if (problem !== null)
      throw new ApiError("INVALID_FIELD", `Field "args" matches a checkout whose ${name} ${problem}.`);
    values.set(name, String(value));
  }
  return values;
}

const MAX_LISTED = 10;

/**
 * Returns the checkout that the arguments identify in a server's last picture. Throws MISSING_FIELD if they
 * are insufficient, NOT_FOUND if nothing matches, INVALID_FIELD if several match (listed in `details`), and
 * CONFLICT if the picture is stale: handles are reused, so the seat may belong to another user now.
 */
function findCheckout({ server, features }: ServerPicture, wanted: Arguments) {
  const lacking = (["feature", "user", "host"] as const).find((name) => wanted[name] === undefined);
  if (wanted.handle === undefined && lacking !== undefined) {
    const how = "by its handle, or by feature, user, host and, where several match, display";
    throw missing(`args.${lacking}`, `select a checkout ${how}`);
  }
  const matches = features
    .filter(({ name }) => wanted.feature === undefined || name === wanted.feature)
    .flatMap((feature) => feature.checkouts.map((checkout) => ({ feature, checkout })))
    .filter(({ checkout }) => fits(checkout, wanted));
  const [only] = matches;
  if (only === undefined) {
    const list = `/api/licenses/users?server=${server.id} lists them`;
    throw new ApiError("NOT_FOUND", `No checkout on ${server.id} matches "args"; ${list}.`);
  }
  if (matches.length > 1) {
    const listed = matches.slice(0, MAX_LISTED).map(describe);
    if (matches.length > MAX_LISTED) listed.push(`and ${matches.length - MAX_LISTED} more`);
    throw new ApiError(
      "INVALID_FIELD",
      `Field "args" matches ${matches.length} checkouts; add feature, user, host, display or handle to match one.`,
      { details: listed.join("; ") },
    );
  }
  const { feature, checkout } = only;
  if (feature.state !== "ok" && feature.state !== "partial") {
    throw new ApiError(
      "CONFLICT",
      `The last poll of ${server.id} did not list this checkout, so it may belong to another user now. Rescan the server first.`,
    );
  }
  const { user, host, display, handle } = checkout;
  // The tool only takes a feature's name, so its command affects the features of this name on all daemons.
  const seats = features.filter(({ name }) => name === feature.name).flatMap(({ checkouts }) => checkouts);
  const isOnly = (names: Arguments) => seats.filter((seat) => fits(seat, names)).length === 1;
  return {
    feature,
    checkout,
    byHandle: handle !== null && isOnly({ handle }),
    byNames: user !== null && host !== null && display !== null && isOnly({ user, host, display }),
  };
}

function fits(checkout: CheckoutPicture, { user, host, display, handle }: Arguments): boolean {
  return (
    (handle === undefined || checkout.handle === handle) &&
    (user === undefined || checkout.user === user) &&
    (host === undefined || checkout.host?.toLowerCase() === host.toLowerCase()) &&
    (display === undefined || checkout.display === display)
  );
}

function describe({ feature, checkout }: { feature: FeaturePicture; checkout: CheckoutPicture }): string {
  const { user, host, display, handle } = checkout;
  const parts = { feature: feature.name, daemon: feature.daemon, user, host, display, handle };
  return Object.entries(parts)
    .filter(([, value]) => value !== null && value !== "")
    .map(([key, value]) => `${key} ${escapeControls(String(value))}`)
    .join(", ");
}
