import {
  type CheckoutReading,
  type Expiry,
  type FeatureReading,
  type QueueReading,
  UNKNOWN_EXPIRY,
} from "../../domain/reading.ts";
import { checkoutReading, compareCounts, singlePoolFeature, sumOfCounts } from "../reading-parts.ts";

import { type createTimeReader, parseCount, parseExpiry, parseLimit, parseStatus, unquote } from "./lines.ts";

export type FeatureDraft = ReturnType<typeof createFeatureDraft>;
export type ClientDraft = ReturnType<typeof createClientDraft>;

export function createClientDraft() {
  return {
    user: undefined as string | null | undefined,
    host: undefined as string | null | undefined,
    display: null as string | null,
    /** Id of a shared token; the clients that share it have the same id. */
    sharingId: null as string | null,
    count: 1,
    startedAt: undefined as number | null | undefined,
    borrowed: false,
    /** True once the client's last line, about commuter tokens, was read. */
    isWhole: false,
  };
}

export function createFeatureDraft() {
  return {
    name: null as string | null,
    version: null as string | null,
    limit: null as ReturnType<typeof parseLimit>,
    unreserved: null as number | null,
    reserved: null as number | null,
    availableReserved: null as number | null,
    expiry: null as Expiry | null,
    clients: [] as ClientDraft[],
    queued: [] as ClientDraft[],
    /** True if the output ended inside this block, or if a line of the block was not understood. */
    cut: false,
  };
}

/** Sets a field; returns false if the value is invalid. */
type Put<Draft, Context> = (draft: Draft, value: string, context: Context) => boolean;

function field<Name extends keyof FeatureDraft>(
  name: Name,
  parse: (value: string, zone: string) => FeatureDraft[Name],
): Put<FeatureDraft, string> {
  return (draft, value, zone) => {
    const parsed = parse(value, zone);
    if (parsed !== null) draft[name] = parsed;
    return parsed !== null;
  };
}

export const FEATURE_KEYS: ReadonlyMap<string, Put<FeatureDraft, string>> = new Map([
  ["Feature name", field("name", unquote)],
  ["Feature version", field("version", unquote)],
  ["Maximum concurrent user(s)", field("limit", parseLimit)],
  ["Unreserved tokens in use", field("unreserved", parseCount)],
  ["Reserved tokens in use", field("reserved", parseCount)],
  ["Available reserved", field("availableReserved", parseCount)],
  ["Expiration date", field("expiry", parseExpiry)],
]);

function word(name: "user" | "host" | "display" | "sharingId"): Put<ClientDraft, unknown> {
  return (draft, value) => {
    draft[name] = value || null;
    return true;
  };
}

function putCount(draft: ClientDraft, value: string): boolean {
  const count = parseCount(value);
  // Reject a client without tokens, because the tool never prints one.
  if (count === null || count === 0) return false;
  draft.count = count;
  return true;
}

type TimeReader = ReturnType<typeof createTimeReader>;

export const CLIENT_KEYS = new Map(
  Object.entries<Put<ClientDraft, TimeReader>>({
    "User name": word("user"),
    "Host name": word("host"),
    "X display name": word("display"),
    "ID for token sharing": word("sharingId"),
    "Number of tokens used": putCount,
    "No of tokens requested": putCount,
    Status(draft, value, timeOf) {
      const since = parseStatus(value);
      if (since === null) return false;
      draft.startedAt = since === "" ? null : timeOf(since);
      return since === "" || draft.startedAt !== null;
    },
    "Is commuter token": (draft, value) => {
      draft.isWhole = true;
      draft.borrowed = value === "YES";
      return value === "YES" || value === "NO";
    },
  }),
);

/** Reports whether an entry is missing that lsmon prints for every feature and client. */
function lacksEntry(draft: FeatureDraft, endsClients: boolean): boolean {
  const { version, limit, unreserved, reserved, expiry, clients, queued } = draft;
  if ([version, limit, unreserved, reserved, expiry].includes(null)) return true;
  const lacksHost = ({ user, host }: ClientDraft) => user === undefined || host === undefined;
  const isCut = (client: ClientDraft) =>
    lacksHost(client) || client.startedAt === undefined || !client.isWhole;
  return endsClients && (queued.some(lacksHost) || clients.some(isCut));
}

/**
 * License Information blocks describe single licenses, some of them inactive, so only the feature's own
 * counts are used. `endsClients`: this version of lsmon ends each client with a line about commuter tokens.
 */
export function readFeature(draft: FeatureDraft, name: string, endsClients: boolean): FeatureReading {
  const { version, limit, unreserved, reserved, availableReserved, expiry, clients, queued } = draft;
  const unlimited = limit?.unlimited ?? false;
  const used = unreserved === null || reserved === null ? null : unreserved + reserved;
  const more =
    reserved === null || availableReserved === null ? {} : { reserved: reserved + availableReserved };
  const printed = { daemon: "", name, total: limit?.total ?? null, used, unlimited, ...more };
  const checkouts = clients.map(readClient);
  return singlePoolFeature(
    {
      ...printed,
      checkouts,
      queue: queued.map(readQueued),
      consistency: compareCounts(used, sumOfCounts(checkouts)),
      cut: draft.cut || lacksEntry(draft, endsClients),
    },
    {
      version: version || null,
      kind: unlimited ? "uncounted" : "floating",
      expiry: expiry ?? UNKNOWN_EXPIRY,
    },
  );
}

function readClient({
  user = null,
  host = null,
  sharingId: qualifier,
  startedAt = null,
  isWhole: _,
  ...client
}: ClientDraft): CheckoutReading {
  return checkoutReading({ ...client, user, host, qualifier, startedAt, pool: 0 });
}

function readQueued({ user = null, host = null, display, sharingId, count }: ClientDraft): QueueReading {
  return { user, host, display, qualifier: sharingId, version: null, handle: null, pool: 0, count };
}
