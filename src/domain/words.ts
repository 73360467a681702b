/** The closed vocabularies of API and config: one list each, from which types, schemas and messages are made. */

/** Name of a license manager, as config and records have it; `managers/registry.ts` lists those that are built in. */
export type ManagerName = string;

/** Reachability of a server: `degraded` = some members or daemons up, its data is valid. */
export const SERVER_STATUSES = ["up", "degraded", "down", "unknown"] as const;
export type ServerStatus = (typeof SERVER_STATUSES)[number];

/** Reachability of one member host or one vendor daemon. */
export const PART_STATUSES = ["up", "down", "unknown"] as const;
export type PartStatus = (typeof PART_STATUSES)[number];

/** How far a feature's numbers can be trusted. */
export const DATA_STATES = ["ok", "partial", "stale", "failed"] as const;
export type DataState = (typeof DATA_STATES)[number];

/** What a row of `users[]` is: only a checkout holds seats of its own; `assigned` is a person who may use one. */
export const USER_KINDS = ["checkout", "reservation", "queued", "assigned"] as const;
export type UserKind = (typeof USER_KINDS)[number];

/** What a feature's counts count. Different units are never added up. */
export const UNITS = ["seats", "tokens", "credits"] as const;
export type Unit = (typeof UNITS)[number];

/** Whether denials of a server can be seen. */
export const DENIAL_STATES = ["on", "off", "unreadable"] as const;
export type DenialState = (typeof DENIAL_STATES)[number];

/** How a pool's seats are bound. */
export const POOL_KINDS = ["floating", "nodelocked", "uncounted", "token", "roam", "unknown"] as const;
export type PoolKind = (typeof POOL_KINDS)[number];

/**
 * Roles of API keys, weakest first except two that can do one thing alone: `calendar` reads the expiry calendar, `site`
 * pushes to a hub for the site that its key names.
 */
export const ROLES = ["calendar", "site", "viewer", "operator", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** What a caller may see of people, least first: only how many they are; pseudonyms; names. */
export const AUDIENCES = ["counts", "pseudonyms", "names"] as const;
export type Audience = (typeof AUDIENCES)[number];

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Components that write log events. */
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
/** Sources that a viewer may not see: they show who does what. */
export const HIDDEN_FROM_VIEWERS: readonly LogSource[] = ["auth", "audit", "http"];

/** The page's paths behind `/`: one segment each, so that relative links hold below any prefix of a proxy. */
export const PAGE_PATHS = [
  ...(["features", "feature", "people", "person", "servers", "server", "alerts"] as const),
  ...(["history", "denials", "expiry", "outages", "wall", "admin", "logs", "signin"] as const),
] as const;
export type PagePath = (typeof PAGE_PATHS)[number];
