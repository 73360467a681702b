import { anonymousAlert } from "../../domain/alerts.ts";
import type { EventType, LogEvent, StoredEvent } from "../../domain/events.ts";
import { sortedBy } from "../../domain/order.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { NOT_SERVED } from "../../domain/polls/feature-picture.ts";
import type {
  AssignedReading,
  DaemonReading,
  MemberReading,
  QueueReading,
  ReservationReading,
} from "../../domain/reading.ts";
import type { Holder } from "../../domain/session.ts";

/** Stable substitutes for names of people and their hosts. */
export interface Pseudonyms {
  user(name: string): string;
  /** Ignores case. */
  host(name: string): string;
  /**
   * Replaces the id of an imported session, which contains a hash of its user that could be guessed. Other
   * ids reveal nothing and stay.
   */
  session(id: number): number;
  /** Caches checkouts with pseudonyms: most polls find the same checkouts. */
  readonly rows: WeakMap<readonly CheckoutPicture[], readonly CheckoutPicture[]>;
}

/**
 * Length of a pseudonym: 64 bits. Among a million names, the odds that any two get the same pseudonym are 1
 * in 40 million.
 */
const HEX_DIGITS = 16;
/** Length of the hex number that replaces an id: 52 bits, which a number represents exactly. */
const NUMBER_DIGITS = 13;
/** Maximum number of cached pseudonyms. A site has far fewer names. */
const MAX_KEPT = 100_000;

/**
 * HMAC-SHA256 of the kind and the name under a secret of the installation. Without the secret an attacker cannot try
 * names one by one, which a plain hash would allow.
 */
export function createPseudonyms(secret: Uint8Array): Pseudonyms {
  const kept = new Map<string, string>();
  const digestOf = (what: string): string =>
    new Bun.CryptoHasher("sha256", secret).update(what).digest("hex");
  const of = (kind: "user" | "host", name: string): string => {
    const what = `${kind}\0${name}`;
    if (kept.size >= MAX_KEPT) kept.clear();
    return kept.getOrInsertComputed(what, () => `${kind}-${digestOf(what).slice(0, HEX_DIGITS)}`);
  };
  return {
    user: (name) => of("user", name),
    host: (name) => of("host", name.toLowerCase()),
    rows: new WeakMap(),
    session: (id) =>
      id >= 0 ? id : -Number.parseInt(digestOf(`session\0${id}`).slice(0, NUMBER_DIGITS), 16),
  };
}

/** Translates names between stored rows and the caller's view. */
export interface NamesFor extends Pick<Pseudonyms, "session"> {
  /** Translates a filter to stored names, because an anonymized caller filters by pseudonyms. */
  wanted<Filter extends People>(filter: Filter): Filter;
  user(name: string | null): string | null;
  host(name: string | null): string | null;
  /** Hides free text about people. */
  text(words: string | null): string | null;
}

/** Null means any. */
interface People {
  readonly users: readonly string[] | null;
  readonly hosts: readonly string[] | null;
}

/**
 * `pseudonyms` is null for callers that may see names. `stored` returns all names that may have a
 * pseudonym, because pseudonyms cannot be reversed.
 */
export function namesFor(
  pseudonyms: Pseudonyms | null,
  stored: () => { readonly users: readonly string[]; readonly hosts: readonly string[] },
): NamesFor {
  if (pseudonyms === null) {
    const same = <T>(name: T): T => name;
    return { wanted: same, user: same, host: same, session: same, text: same };
  }
  const pick = (asked: readonly string[] | null, names: readonly string[], of: (name: string) => string) => {
    const wanted = asked && new Set(asked);
    return wanted && names.filter((name) => wanted.has(of(name)));
  };
  return {
    wanted(filter) {
      const { users, hosts } = filter;
      if (users === null && hosts === null) return filter;
      const all = stored();
      return {
        ...filter,
        users: pick(users, all.users, pseudonyms.user),
        hosts: pick(hosts?.map((host) => host.toLowerCase()) ?? null, all.hosts, pseudonyms.host),
      };
    },
    user: (name) => (name === null ? null : pseudonyms.user(name)),
    host: (name) => (name === null ? null : pseudonyms.host(name)),
    session: pseudonyms.session,
    text: () => null,
  };
}

/**
 * Returns a picture with pseudonyms. It must be made before filtering, sorting, searching or counting, so that no
 * answer depends on a real name. Order and numbers of servers and features stay.
 */
export function anonymousPicture(picture: ServerPicture, pseudonyms: Pseudonyms): ServerPicture {
  return {
    ...picture,
    members: picture.members.map(withoutWords),
    daemons: picture.daemons.map(withoutWords),
    error: picture.error && { ...picture.error, details: null },
    unparsed: [],
    features: picture.features.map((feature) => anonymousFeature(feature, pseudonyms)),
  };
}

/**
 * Returns the picture for callers that see no people. It is also without labels and vendor strings, which
 * describe the site.
 */
export function limitedPicture(picture: ServerPicture, pseudonyms: Pseudonyms): ServerPicture {
  const anonymous = anonymousPicture(picture, pseudonyms);
  return {
    ...anonymous,
    server: { ...anonymous.server, labels: {} },
    features: anonymous.features.map((feature) => ({
      ...feature,
      pools: feature.pools.map((pool) => ({ ...pool, vendorString: null })),
    })),
  };
}

/** Replaces a tool's text, which may name people. */
const TOOL_REPORTS_ERROR = "The tool reports an error";

function withoutWords<Part extends MemberReading | DaemonReading>(part: Part): Part {
  return part.error === null ? part : { ...part, error: { ...part.error, message: TOOL_REPORTS_ERROR } };
}

function anonymousFeature(feature: FeaturePicture, pseudonyms: Pseudonyms): FeaturePicture {
  const { error, checkouts, reservations, queue, alsoHeldBy = [], assigned = [] } = feature;
  const people = checkouts.length + reservations.length + queue.length + alsoHeldBy.length + assigned.length;
  if (error === null && people === 0) return feature;
  // Sort by pseudonym, because the tool's own order may be that of the real names.
  const anonymousRows = <Row extends CheckoutPicture | QueueReading>(
    real: readonly Row[],
  ): readonly Row[] => {
    const made = real.map((row) => ({ ...row, ...holder(row, pseudonyms), display: null, qualifier: null }));
    return sortedBy(made, "user", "host", "handle");
  };
  const named = reservations.map((row) => ({ ...row, name: reservedName(row, pseudonyms) }));
  return {
    ...feature,
    error: error === null || error === NOT_SERVED ? error : TOOL_REPORTS_ERROR,
    checkouts: pseudonyms.rows.getOrInsertComputed(checkouts, () => anonymousRows(checkouts)),
    ...(alsoHeldBy.length > 0 && { alsoHeldBy: alsoHeldBy.map((one) => holder(one, pseudonyms)) }),
    reservations: sortedBy(named, "type", "name"),
    queue: anonymousRows(queue),
    ...(assigned.length > 0 && { assigned: anonymousAssigned(assigned, pseudonyms) }),
  };
}

function anonymousAssigned(real: readonly AssignedReading[], { user, host }: Pseudonyms) {
  const made = real.map((one) => ({ ...one, user: user(one.user), host: one.host && host(one.host) }));
  return sortedBy(made, "user", "host");
}

function holder({ user, host }: Holder, pseudonyms: Pseudonyms): Holder {
  return {
    user: user === null ? null : pseudonyms.user(user),
    host: host === null ? null : pseudonyms.host(host),
  };
}

function reservedName({ type, name }: ReservationReading, pseudonyms: Pseudonyms): string {
  if (type === "user") return pseudonyms.user(name);
  if (type === "host" || type === "internet") return pseudonyms.host(name);
  // A reservation of any other type may name a person.
  return "not shown";
}

/** Form of each event for anonymized keys: unchanged, with pseudonyms, or not sent. */
export const ANONYMOUS_FORM = {
  log: "never",
  metrics: "same",
  checkout: "pseudonyms",
  checkin: "pseudonyms",
  server_status: "pseudonyms",
  alert: "pseudonyms",
  denial: "pseudonyms",
  picture: "pseudonyms",
} as const satisfies Record<EventType, "same" | "pseudonyms" | "never">;

/** Returns the JSON of a domain event with pseudonyms. */
export function anonymousEvent(event: StoredEvent | string, pseudonyms: Pseudonyms): string {
  const named = (typeof event === "string" ? JSON.parse(event) : event) as Exclude<StoredEvent, LogEvent>;
  if (named.type === "alert") return JSON.stringify(anonymousAlert(named));
  if (named.type === "server_status") {
    // Hide the reason of a daemon's state, because it is a text of the tool, unlike other reasons.
    return JSON.stringify({ ...named, reason: named.daemon === null ? named.reason : null });
  }
  return JSON.stringify({
    ...named,
    user: named.user === null ? null : pseudonyms.user(named.user),
    host: named.host === null ? null : pseudonyms.host(named.host),
    ...("display" in named && { display: null }),
    ...("reason" in named && { reason: null }),
  });
}
