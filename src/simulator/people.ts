import { MINUTE } from "./calendar.ts";
import { draws } from "./random.ts";

/** Who can hold a seat: a person at a workstation, or a batch account on a compute node. */
export interface Actor {
  readonly user: string;
  readonly host: string;
  readonly display: string;
  /** Department, for reservations. */
  readonly group: string;
}

/** Somebody with working hours. Times of day are ms after midnight. */
export interface Person extends Actor {
  readonly key: string;
  readonly arrives: number;
  readonly leaves: number;
  readonly lunchAt: number;
  readonly lunchMs: number;
}

export interface StaffSpec {
  readonly people: number;
  /** Site code in host names, e.g. `muc`. */
  readonly site: string;
  readonly groups: readonly [string, ...string[]];
  /** Workstations with Windows show their own name as display. */
  readonly windows: boolean;
}

const FIRST = words(
  "anna ben carla david elena farid greta hugo ines jonas kira luis mara nils olga paul qiang rosa sven tara umar vera wei yusuf zoe",
);
const LAST = words(
  "adler baker costa dimitrov eriksen fischer garcia huang ivanova jansen kovacs lindberg moreau nakamura okafor petrov quinn rossi schmidt tanaka urban vogel weber xu yilmaz zimmer",
);

/** The staff of a server: equal seeds give equal people. User names are unique within the staff. */
export function staffOf(seed: number, server: string, spec: StaffSpec): readonly Person[] {
  const taken = new Set<string>();
  return Array.from({ length: spec.people }, (_, index) => {
    const draw = draws(seed, server, "person", index);
    const first = draw.pick(FIRST);
    const last = draw.pick(LAST);
    const number = String(index + 1).padStart(3, "0");
    let user = `${first.charAt(0)}${last}`;
    if (taken.has(user)) user = `${first}.${last}`;
    if (taken.has(user)) user = `${user}${index + 1}`;
    taken.add(user);
    const host = spec.windows ? `PC-${spec.site.toUpperCase()}-${number}` : `ws-${spec.site}-${number}`;
    return {
      key: `${user}@${host}`,
      user,
      host,
      display: spec.windows
        ? host
        : draw.pick([":0", ":0.0", ":1", `${host}:10.0`, "/dev/pts/1", "/dev/pts/3"]),
      group: draw.pick(spec.groups),
      arrives: draw.between(7 * 60, 9.5 * 60) * MINUTE,
      leaves: draw.between(16 * 60, 18.75 * 60) * MINUTE,
      lunchAt: draw.between(11.5 * 60, 12.75 * 60) * MINUTE,
      lunchMs: draw.between(30, 60) * MINUTE,
    };
  });
}

/** Where a batch job of a server runs. */
export function computeNode(spec: StaffSpec, number: number): Pick<Actor, "host" | "display"> {
  return { host: `cn-${spec.site}-${String(number).padStart(4, "0")}`, display: "/dev/tty" };
}

function words(text: string): readonly [string, ...string[]] {
  const [first = "", ...rest] = text.split(" ");
  return [first, ...rest];
}
