import type { Config } from "../config/config.ts";
import { ApiError } from "../domain/errors.ts";
import type { KeyRecord } from "../domain/keys.ts";
import { type Audience, ROLES } from "../domain/words.ts";

/**
 * Stand-in records for callers without a key: a Unix socket, a trusted proxy's user, or the viewer of `[page]
 * public`.
 */

const KINDS = ["socket", "proxy", "public"] as const;
/** Returns the kind of a caller by its id. The ids of keys contain no dash. */
export function kindOf(id: string): (typeof KINDS)[number] | "key" {
  return KINDS.find((kind) => id.startsWith(`${kind}-`)) ?? "key";
}

type PageSettings = Config["page"];

function keyless(id: string, name: string, role: KeyRecord["role"], audience: Audience = "names"): KeyRecord {
  return {
    id,
    name,
    role,
    state: "active",
    anonymize: audience !== "names",
    countsOnly: audience === "counts",
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    dailyQuota: null,
    monthlyQuota: null,
    requestsPerMinute: null,
  };
}

export function socketCaller(role: "admin" | "viewer"): KeyRecord {
  return keyless(`socket-${role}`, `socket (${role})`, role);
}

export function socketCallerOf(id: string): KeyRecord | null {
  const role = (["admin", "viewer"] as const).find((each) => id === `socket-${each}`);
  return role === undefined ? null : socketCaller(role);
}

/**
 * Returns the built-in viewer, or null if it is off. The viewer's id contains the client's address, so that
 * each address has its own limits.
 */
export function publicCaller({ public: shows }: PageSettings, address: string): KeyRecord | null {
  return shows === "off" ? null : keyless(`public-${shows}-${address}`, "public", "viewer", shows);
}

/** Reports whether the stream of a caller without a key may continue after a reload. */
export function keylessHolds(id: string, { public: shows, userHeader }: PageSettings): boolean {
  const kind = kindOf(id);
  if (kind === "public") return id.startsWith(`public-${shows}-`);
  return kind === "proxy" ? userHeader !== null : kind === "socket";
}

const MAX_NAME = 100;

/**
 * Returns the person that a trusted proxy names in its headers; null without such headers. Throws AUTH_INVALID for
 * an invalid name, AUTH_INSUFFICIENT without a role.
 */
export function proxyCaller(
  headers: Headers,
  { userHeader, roleHeader, roles }: PageSettings,
): KeyRecord | null {
  const name = userHeader === null ? "" : (headers.get(userHeader)?.trim() ?? "");
  if (name === "") return null;
  if (name.length > MAX_NAME || /[\p{Cc}\p{Cs}]/u.test(name))
    throw new ApiError(
      "AUTH_INVALID",
      `The proxy's header ${userHeader} must be a name of 1 to ${MAX_NAME} characters.`,
    );
  const said = roleHeader === null ? name : (headers.get(roleHeader) ?? "");
  const groups = [said, ...(roleHeader === null ? [] : said.split(/[,;|]/))].map((one) => one.trim());
  const people = ROLES.filter((role) => role !== "calendar" && role !== "site");
  const own = roleHeader === null ? [] : people.filter((role) => groups.includes(role));
  const mapped = roles === null ? own : groups.flatMap((group) => roles[group] ?? []);
  const rest = roles?.["*"] ?? (roleHeader === null && roles === null ? "viewer" : undefined);
  const role = ROLES.findLast((each) => mapped.some((one) => one === each)) ?? rest;
  if (role !== undefined) return keyless(`proxy-${role}-${name}`, name, role);
  const why =
    roleHeader === null
      ? "[page] roles does not name this person"
      : `the header ${roleHeader} contains no role`;
  throw new ApiError(
    "AUTH_INSUFFICIENT",
    `The person whom the proxy has signed in has no role here: ${why}.`,
  );
}
