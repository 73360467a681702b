import { ApiError } from "../../domain/errors.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { escapeControls } from "../../domain/plain-text.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import type { Manager } from "../../managers/manager.ts";
import {
  ARGUMENTS,
  type Arguments,
  argumentProblem,
  type BuiltInEntry,
  type CatalogueEntry,
  type ConfiguredEntry,
  fill,
} from "./catalogue.ts";

/** What would be run, and nothing else. */
export interface CommandPlan {
  readonly command: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface PlanRequest {
  /** The picture of the named server; null when none is named. */
  readonly picture: ServerPicture | null;
  readonly args: Arguments;
  /** Null = the command's own. */
  readonly timeoutMs: number | null;
}

export interface PlanDeps {
  readonly managerOf: (name: MonitoredServer["manager"]) => Pick<Manager, "tools" | "commands" | "utility">;
  /** The program to try of several names, from $PATH. */
  readonly findTool: (names: readonly string[]) => string;
}

/**
 * A command of the catalogue with a request's arguments → the argv to run. Throws ApiError: MISSING_FIELD,
 * INVALID_FIELD, and what {@link findCheckout} throws. No message holds a value of the request.
 */
export function planCommand(entry: CatalogueEntry, request: PlanRequest, deps: PlanDeps): CommandPlan {
  const { picture, args, timeoutMs } = request;
  checkArguments(entry, args);
  if (entry.needsServer && picture === null) {
    throw new ApiError("MISSING_FIELD", `Field "server" is missing: ${entry.name} acts on a license server.`);
  }
  const common = { command: entry.name, timeoutMs: timeoutMs ?? entry.timeoutMs };
  if (entry.kind === "configured") {
    return { ...common, env: {}, argv: planConfigured(entry, picture?.server ?? null, args) };
  }
  if (picture === null) throw new Error("A built-in command acts on a server");
  const env = { TZ: picture.server.timezone };
  return { ...common, env, argv: planBuiltIn(entry, picture, args, deps) };
}

function checkArguments({ name: command, takes }: CatalogueEntry, args: Arguments): void {
  for (const name of ARGUMENTS) {
    const value = args[name];
    if (value === undefined) continue;
    if (!takes.includes(name)) {
      throw new ApiError(
        "INVALID_FIELD",
        `Field "args.${name}" is not known here: ${command} takes ${takes.join(", ") || "no arguments"}.`,
      );
    }
    const problem = argumentProblem(value);
    if (problem !== null) throw new ApiError("INVALID_FIELD", `Field "args.${name}" ${problem}.`);
  }
}

function planConfigured(
  { name: command, argv, takes }: ConfiguredEntry,
  server: MonitoredServer | null,
  args: Arguments,
): readonly string[] {
  const values = new Map<string, string>();
  if (server !== null) values.set("server", server.id).set("address", server.address);
  for (const name of takes) {
    const value = args[name];
    if (value === undefined) {
      throw new ApiError("MISSING_FIELD", `Field "args.${name}" is missing: ${command} needs it.`);
    }
    values.set(name, value);
  }
  const filled = fill(argv, values);
  if (filled === null) throw new Error(`The template of ${command} has a placeholder that nobody fills`);
  return filled;
}

function planBuiltIn(
  { name }: BuiltInEntry,
  picture: ServerPicture,
  args: Arguments,
  { managerOf, findTool }: PlanDeps,
): readonly string[] {
  const { server } = picture;
  const manager = managerOf(server.manager);
  const { utility, forms } = manager.commands[name];
  const tool = server.tool ?? [findTool([manager.tools[0] ?? utility, utility])];
  const base = new Map([["address", server.address]]);
  const values = name === "remove" ? new Map([...base, ...checkoutValues(picture, args)]) : base;
  // By handle when the request says a handle, else by names, and by the other where that one cannot be said.
  const preferred = args.handle === undefined ? "names" : "handle";
  const inOrder = forms.toSorted((a, b) => Number(b.by === preferred) - Number(a.by === preferred));
  for (const { argv } of inOrder) {
    const filled = fill(argv, values);
    if (filled !== null) return [...manager.utility(tool, utility), ...filled];
  }
  throw new ApiError(
    "INVALID_FIELD",
    `Field "args" names a checkout that ${utility} cannot be told of without meaning others too, or of which too little is known.`,
  );
}

/** What a template may say of one checkout. A name that others share is left out: no form may use it. */
function checkoutValues(picture: ServerPicture, args: Arguments): ReadonlyMap<string, string> {
  const { feature, checkout, byHandle, byNames } = findCheckout(picture, args);
  const member =
    picture.members.find(({ master, status }) => master && status === "up") ??
    picture.members.find(({ status }) => status === "up");
  const port = picture.daemons.find(({ name }) => name === feature.daemon)?.port;
  const known: Readonly<Record<string, string | number | null | undefined>> = {
    feature: feature.name,
    daemon: feature.daemon,
    ...(byHandle && { handle: checkout.handle }),
    ...(byNames && { user: checkout.user, host: checkout.host, display: checkout.display }),
    server_host: member?.host,
    server_port: member?.port,
    daemon_port: port,
  };
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(known)) {
    if (value === null || value === undefined || value === "") continue;
    const text = String(value);
    const problem = argumentProblem(text);
    // The license server's own words: no more to be trusted than a request's.
    if (problem !== null)
      throw new ApiError("INVALID_FIELD", `Field "args" names a checkout whose ${name} ${problem}.`);
    values.set(name, text);
  }
  return values;
}

/** Matches listed when the arguments fit several checkouts. */
const MAX_LISTED = 10;

/** A checkout that a request named, with the ways in which a tool can be told of it and of no other. */
interface FoundCheckout {
  readonly feature: FeaturePicture;
  readonly checkout: CheckoutPicture;
  /** No other seat of the feature has its handle. */
  readonly byHandle: boolean;
  /** No other seat of the feature has its user, host and display. */
  readonly byNames: boolean;
}

/**
 * The one checkout of a server's last picture that the arguments name. Throws MISSING_FIELD when they name too
 * little, NOT_FOUND when there is none, INVALID_FIELD when there are several (listed in `details`), CONFLICT when the
 * picture is not fresh: handles are given out anew, and the seat could be another's by now.
 */
function findCheckout(picture: ServerPicture, wanted: Arguments): FoundCheckout {
  if (wanted.handle === undefined) {
    for (const name of ["feature", "user", "host"] as const) {
      if (wanted[name] !== undefined) continue;
      throw new ApiError(
        "MISSING_FIELD",
        `Field "args.${name}" is missing: a checkout is named by its handle, or by feature, user, host and, where several match, display.`,
      );
    }
  }
  const matches = picture.features.flatMap((feature) =>
    wanted.feature !== undefined && feature.name !== wanted.feature
      ? []
      : feature.checkouts.filter((one) => fits(one, wanted)).map((checkout) => ({ feature, checkout })),
  );
  const [only] = matches;
  if (only === undefined) {
    throw new ApiError(
      "NOT_FOUND",
      `No checkout on ${picture.server.id} is what "args" names; /api/licenses/users?server=${picture.server.id} lists them.`,
    );
  }
  if (matches.length > 1) {
    const listed = matches.slice(0, MAX_LISTED).map(({ feature, checkout }) => describe(feature, checkout));
    if (matches.length > MAX_LISTED) listed.push(`and ${matches.length - MAX_LISTED} more`);
    throw new ApiError(
      "INVALID_FIELD",
      `Field "args" names ${matches.length} checkouts, and it must name one: add feature, user, host, display or handle.`,
      { details: listed.join("; ") },
    );
  }
  if (only.feature.state !== "ok" && only.feature.state !== "partial") {
    throw new ApiError(
      "CONFLICT",
      `The last poll of ${picture.server.id} did not see this checkout, so it may be another's by now. Rescan the server first.`,
    );
  }
  const { feature, checkout } = only;
  // A tool acts on the feature's name, whichever daemon it is of.
  const seats = picture.features.filter(({ name }) => name === feature.name);
  const count = (same: (one: CheckoutPicture) => boolean) =>
    seats.reduce((sum, { checkouts }) => sum + checkouts.filter(same).length, 0);
  return {
    feature,
    checkout,
    byHandle: checkout.handle !== null && count(({ handle }) => handle === checkout.handle) === 1,
    byNames:
      checkout.host !== null &&
      checkout.display !== null &&
      count(
        ({ user, host, display }) =>
          user === checkout.user && isHost(host, checkout.host) && display === checkout.display,
      ) === 1,
  };
}

function fits(checkout: CheckoutPicture, { user, host, display, handle }: Arguments): boolean {
  return (
    (handle === undefined || checkout.handle === handle) &&
    (user === undefined || checkout.user === user) &&
    (host === undefined || isHost(checkout.host, host)) &&
    (display === undefined || checkout.display === display)
  );
}

function isHost(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && a.toLowerCase() === b.toLowerCase();
}

function describe({ daemon, name }: FeaturePicture, checkout: CheckoutPicture): string {
  const { user, host, display, handle } = checkout;
  const parts = { feature: name, daemon, user, host, display, handle };
  return Object.entries(parts)
    .filter(([, value]) => value !== null && value !== "")
    .map(([key, value]) => `${key} ${escapeControls(String(value))}`)
    .join(", ");
}
