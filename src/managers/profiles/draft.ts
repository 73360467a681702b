import { expiryOn } from "../../domain/expiry.ts";
import {
  type CheckoutReading,
  type DaemonReading,
  type Expiry,
  type MemberReading,
  PERMANENT,
  type Reading,
  type ToolError,
  UNKNOWN_EXPIRY,
} from "../../domain/reading.ts";
import { createCopies } from "../copies.ts";
import type { ParseContext } from "../manager.ts";
import { type Facts, type LineKind, listOf, type Profile } from "../profile.ts";
import { createUnparsed } from "../read-output.ts";
import { checkoutReading, daemonUp, type Mutable, memberReading, toolError } from "../reading-parts.ts";
import { type Block, blockReader, createBlock } from "./block.ts";
import { dateReader, type Moment } from "./dates.ts";

type Kind = Exclude<LineKind, "ignore">;

/** Counts of a group of features that share seats. */
interface Group {
  readonly used: number | null;
  readonly expiry: Expiry;
  /**
   * Features of an unnamed group: those between the previous closing line and its own. Empty for a named
   * group, whose features name it.
   */
  readonly members: readonly Block[];
}

/** Other text (`-`, `n/a`, empty) means unknown, not 0. */
export function countOf(text: string | undefined): number | null {
  const digits = text?.trim() ?? "";
  const count = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  return Number.isSafeInteger(count) ? count : null;
}

const nameOf = (text: string | undefined) => (text === undefined || text === "" ? null : text);

const NO_DATE = ["", "-", "n/a"];

/** Collects the facts of a text, for all formats, and builds the reading. */
export function createDraft(profile: Profile, { zone, now, step }: ParseContext) {
  const unlimited = new Set((profile.unlimited ?? ["unlimited"]).map((each) => String(each).toLowerCase()));
  const permanent = new Set((profile.permanent ?? ["permanent"]).map((each) => each.toLowerCase()));
  const readExpiry = dateReader(listOf(profile.dates?.expires));
  const readStart = dateReader(listOf(profile.dates?.start));
  const readUntil = dateReader(listOf(profile.dates?.until));
  const readBlock = blockReader(profile);
  const members = new Map<string, Mutable<MemberReading>>();
  const daemons = new Map<string, DaemonReading>();
  const blocks: Block[] = [];
  const byName = new Map<string, Block[]>();
  const copies = createCopies<Block>();
  const groups = new Map<string, Group>();
  /** Rows of users that name a feature, which may be listed later in the text. */
  const elsewhere: { readonly kind: Kind; readonly facts: Facts }[] = [];
  const errors: ToolError[] = [];
  const unparsed = createUnparsed();
  let toolVersion: string | null = null;
  let recognised = false;
  let isAnswer = false;
  let stray = false;
  let daemon = "";
  let member: Mutable<MemberReading> | null = null;
  let block: Block | null = null;
  let closed = 0;
  /** False after an unreadable date. The row is then kept without the date, but counts as not understood. */
  let isWhole = true;

  function moment(read: typeof readStart, value: string | undefined): Moment | null {
    if (value === undefined || NO_DATE.includes(value.trim().toLowerCase())) return null;
    const found = read(value, zone);
    if (found === null) isWhole = false;
    return found;
  }

  function expiryOf(value: string | undefined): Expiry {
    if (value !== undefined && permanent.has(value.trim().toLowerCase())) return PERMANENT;
    const found = moment(readExpiry, value);
    if (found === null) return UNKNOWN_EXPIRY;
    return expiryOn(zone, ...found.day);
  }

  function addMember(facts: Facts): boolean {
    const host = nameOf(facts.host);
    if (host === null) return false;
    const port = countOf(facts.port);
    const name = `${port}@${host.toLowerCase()}`;
    member = members.getOrInsertComputed(name, () => memberReading(host, port, "up", nameOf(facts.version)));
    copies.begin(name);
    return true;
  }

  function fail(kind: ToolError["kind"], message = "no error message"): true {
    const error = toolError(message, kind);
    if (kind === "unreachable" && member !== null) Object.assign(member, { status: "down", error });
    else errors.push(error);
    return true;
  }

  function addFeature(facts: Facts): boolean {
    const name = nameOf(facts.name);
    if (name === null) return false;
    block = createBlock(facts.daemon ?? daemon, name);
    if (!copies.isCopy(JSON.stringify([daemon, facts]), block)) {
      blocks.push(block);
      byName.getOrInsert(name, []).push(block);
    }
    return describe(block, facts);
  }

  function describe(own: Block, facts: Facts): true {
    const isUnlimited =
      (facts.total !== undefined && unlimited.has(facts.total.trim().toLowerCase())) ||
      facts.unlimited?.trim().toLowerCase() === "true";
    own.unlimited ||= isUnlimited;
    own.total = (isUnlimited ? null : countOf(facts.total)) ?? own.total;
    own.free = countOf(facts.free) ?? own.free;
    own.reserved = countOf(facts.reserved) ?? own.reserved;
    own.queued = countOf(facts.queued) ?? own.queued;
    own.denied = countOf(facts.denied) ?? own.denied;
    own.version = nameOf(facts.version) ?? own.version;
    own.kind = nameOf(facts.kind) ?? own.kind;
    own.group = nameOf(facts.group) ?? own.group;
    if (facts.expires !== undefined) own.expiry = expiryOf(facts.expires);
    return addUse(own, facts);
  }

  /** Adds to a feature's use, because several lines may each print a part of it. */
  function addUse(own: Block, facts: Facts): true {
    const used = countOf(facts.used);
    if (used !== null) own.used = (own.used ?? 0) + used;
    return true;
  }

  function addGroup(facts: Facts): true {
    const name = nameOf(facts.name) ?? nameOf(facts.group);
    const own = { used: countOf(facts.used), expiry: expiryOf(facts.expires) };
    if (name !== null) groups.set(name, { ...own, members: [] });
    else {
      groups.set(nextGroup(), { ...own, members: blocks.slice(closed) });
      closeGroup();
    }
    return true;
  }

  const nextGroup = () => (groups.size === 0 ? profile.name : `${profile.name} ${groups.size + 1}`);

  function closeGroup(): void {
    const name = [...groups.keys()].at(-1) ?? profile.name;
    for (const each of blocks.slice(closed)) each.group ??= name;
    closed = blocks.length;
    block = null;
  }

  function addPerson(kind: Kind, facts: Facts): boolean {
    if (facts.name !== undefined) elsewhere.push({ kind, facts });
    else if (block === null) return false;
    else return seat(block, kind, facts);
    return true;
  }

  function seat(own: Block, kind: Kind, facts: Facts): boolean {
    const count = facts.count === undefined ? 1 : countOf(facts.count);
    if (count === null) return false;
    addUse(own, facts);
    own.everyCount &&= facts.count !== undefined;
    if (count === 0) return true;
    const row = rowOf(facts, count);
    if (kind === "checkout") own.checkouts.push(row);
    else if (kind === "queued") own.queue.push(row);
    else if (row.user === null) return false;
    else own.assigned.push({ user: row.user, host: row.host, since: row.startedAt });
    return true;
  }

  function rowOf(facts: Facts, count: number): CheckoutReading {
    const until = moment(readUntil, facts.until);
    return checkoutReading({
      user: nameOf(facts.user),
      host: nameOf(facts.host),
      display: nameOf(facts.display),
      version: nameOf(facts.version),
      count,
      handle: nameOf(facts.handle),
      pid: countOf(facts.pid),
      startedAt: moment(readStart, facts.start)?.at ?? null,
      lingerSeconds: until === null ? null : Math.max(0, Math.floor((until.at - now) / 1000)),
      borrowed: nameOf(facts.until) !== null,
      pool: 0,
    });
  }

  /**
   * Adds the rows that name their feature to the feature's first block with free room, else to the
   * feature's first block.
   */
  function seatThoseElsewhere(): void {
    for (const { kind, facts } of elsewhere) {
      const own = byName.get(facts.name ?? "") ?? [];
      const found = own.find(({ used, checkouts }) => used !== null && checkouts.length < used) ?? own[0];
      if (found === undefined) {
        // The text does not list this feature, so its seats are unknown.
        addFeature({ name: facts.name });
        if (block !== null) block.cut = true;
      }
      const target = found ?? block;
      if (target !== null && !seat(target, kind, facts)) target.cut = true;
    }
  }

  const takers: Readonly<Record<Kind, (facts: Facts) => boolean>> = {
    tool: (facts) => {
      toolVersion ??= nameOf(facts.version);
      return true;
    },
    member: addMember,
    daemon: (facts) => {
      daemon = facts.name ?? facts.daemon ?? "";
      daemons.set(daemon, daemonUp(daemon, nameOf(facts.version)));
      return daemon !== "";
    },
    group: addGroup,
    feature: addFeature,
    detail: (facts) => block !== null && describe(block, facts),
    checkout: (facts) => addPerson("checkout", facts),
    queued: (facts) => addPerson("queued", facts),
    assigned: (facts) => addPerson("assigned", facts),
    down: (facts) => fail("unreachable", facts.error),
    error: (facts) => fail("query", facts.error),
  };

  return {
    /** Adds the facts of a line or an object. Returns false if a part was not understood. */
    take(kind: Kind, facts: Facts): boolean {
      isWhole = true;
      const isTaken = takers[kind](facts);
      recognised ||= isTaken;
      return isTaken && isWhole;
    },
    recognise(): void {
      recognised = true;
      isAnswer = true;
    },
    /**
     * Records a line that was not understood. The last feature may then be incomplete; before the first
     * feature, the whole answer may be.
     */
    lose(text: string, line: number): void {
      unparsed.add(text, line);
      if (block === null) stray = true;
      else block.cut = true;
    },
    /** Reports whether the text contains only an error. Such a text needs no end mark. */
    isFailure: () => blocks.length === 0 && (errors.length > 0 || [...members.values()].some(isDown)),
    /** `cut`: the end of the text is missing. `problem`: why the text could not be parsed. */
    read(cut: boolean, problem?: string): Reading {
      if (cut && block !== null) block.cut = true;
      seatThoseElsewhere();
      if (profile.group === true) closeGroup();
      for (const own of blocks) {
        const group = groups.get(own.group ?? own.name);
        if (own.expiry === UNKNOWN_EXPIRY && group !== undefined) own.expiry = group.expiry;
      }
      const features = new Map(blocks.map((own) => [own, readBlock(own)]));
      for (const { used, members: own } of groups.values()) {
        const sum = own.reduce<number | null>((all, each) => add(all, features.get(each)?.used ?? null), 0);
        if (used === null || used === sum) continue;
        for (const each of own) {
          const feature = features.get(each);
          if (feature?.consistency === "ok") features.set(each, { ...feature, consistency: "short" });
        }
      }
      const hosts = [...members.values()];
      if (hosts.length === 0 && (isAnswer || blocks.length > 0) && errors.length === 0)
        hosts.push(...membersOf(step));
      const answered = hosts.length === 0 || hosts.some(({ status }) => status === "up");
      const failed = answered ? [] : hosts.flatMap(({ error }) => error ?? []);
      return {
        manager: profile.name,
        reportTime: null,
        toolVersion,
        members: hosts,
        daemons: [...daemons.values()],
        features: [...features.values()],
        errors: [...errors, ...failed],
        ...unparsed.read(),
        cut,
        ...(stray && { stray: true as const }),
        recognised: recognised && problem === undefined,
        ...(problem !== undefined && { problem }),
      };
    },
  };
}

const isDown = ({ status }: Pick<MemberReading, "status">) => status === "down";

function add(sum: number | null, value: number | null): number | null {
  return sum === null || value === null ? null : sum + value;
}

/** Most answers do not name their server, but the step's name does (`port@host`). */
function* membersOf(step: string | undefined): Generator<MemberReading> {
  const [, port, host] = /^(?:(\d+)@)?([^@]+)$/.exec(step ?? "") ?? [];
  if (host === undefined) return;
  yield memberReading(host, countOf(port), "up");
}
