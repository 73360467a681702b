/** `managers/registry.ts` lists the built-in managers. */
export type ManagerName = string;

/** `degraded`: some members or daemons are up; the data is valid. */
export const SERVER_STATUSES = ["up", "degraded", "down", "unknown"] as const;
export type ServerStatus = (typeof SERVER_STATUSES)[number];

export const PART_STATUSES = ["up", "down", "unknown"] as const;
export type PartStatus = (typeof PART_STATUSES)[number];

/** How far a feature's numbers can be trusted. */
export const DATA_STATES = ["ok", "partial", "stale", "failed"] as const;
export type DataState = (typeof DATA_STATES)[number];

/** Kinds of users. Only a checkout holds seats; `assigned` is a person who may use a seat. */
export const USER_KINDS = ["checkout", "reservation", "queued", "assigned"] as const;
export type UserKind = (typeof USER_KINDS)[number];

/** Units of counts, which are never added up with each other. */
export const UNITS = ["seats", "tokens", "credits"] as const;
export type Unit = (typeof UNITS)[number];

export const DENIAL_STATES = ["on", "off", "unreadable"] as const;
export type DenialState = (typeof DENIAL_STATES)[number];

/** How a pool's seats are bound. */
export const POOL_KINDS = ["floating", "nodelocked", "uncounted", "token", "roam", "unknown"] as const;
export type PoolKind = (typeof POOL_KINDS)[number];

/**
 * Weakest first, except two with a single purpose: `calendar` reads the expiry calendar, `site` pushes to a
 * hub for one site.
 */
export const ROLES = ["calendar", "site", "viewer", "operator", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** How much a caller sees of people, least first: their number, pseudonyms, or names. */
export const AUDIENCES = ["counts", "pseudonyms", "names"] as const;
export type Audience = (typeof AUDIENCES)[number];

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_SOURCES = [
  "collector",
  "http",
  "auth",
  "audit",
  "store",
  "alerts",
  "config",
  "system",
] as const;
export type LogSource = (typeof LOG_SOURCES)[number];
/** Sources hidden from viewers, because they show who does what. */
export const HIDDEN_FROM_VIEWERS: readonly LogSource[] = ["auth", "audit", "http"];

/** Paths of the page. Each is one segment, so that relative links work under any proxy prefix. */
export const PAGE_PATHS = [
  ...(["features", "feature", "people", "person", "servers", "server", "alerts"] as const),
  ...(["history", "denials", "expiry", "outages", "wall", "admin", "logs", "signin"] as const),
] as const;
export type PagePath = (typeof PAGE_PATHS)[number];

/**
 * FlexNet's error codes for a request without a free seat: all are in use, others wait, or the rest is
 * reserved. Denials from other managers and from counters have no code (null); they count as denials
 * without a free seat, too.
 */
export const NO_SEAT_CODES: readonly number[] = [-4, -24, -101];
