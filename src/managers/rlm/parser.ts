import { DAY_MS } from "../../domain/time/clock.ts";
import { skipBlanks } from "../blanks-and-digits.ts";
import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { createYearlessTimes } from "../yearless.ts";
import { createReport, type DaemonDraft, type MemberDraft, type ProductDraft } from "./draft.ts";
import {
  createHeaders,
  isPoolDetail,
  type PoolCounts,
  type PoolHeader,
  parsePoolCounts,
  parsePoolHeader,
  parseUsageLine,
} from "./license-lines.ts";
import {
  ADVICE,
  ADVICE_POINT,
  BANNER,
  beginErrorBlock,
  type ErrorBlock,
  extendErrorBlock,
  isServerFact,
  parseCounter,
  parseSectionHeader,
  parseStatistics,
  SEPARATOR,
  SERVER_ROW,
  SERVER_TABLE_HEAD,
  SERVER_TABLE_TITLE,
  type SectionHeader,
  SOFTWARE_VERSION,
  TOOL_VERSION,
} from "./sections.ts";

const NO_HEADERS = createHeaders();

type State = "top" | "rlm" | "table" | "isv" | "pools" | "usage" | "repeated" | "error" | "advice";

/**
 * Parses `rlmstat -a`. The meaning of a line depends on its section; indentation is ignored (a tab, blanks or
 * nothing, by version). Parts may be missing at either end, because each section names its ISV server.
 *
 * rlmstat prints no end mark. A text is known to be cut if its last line has no line end, a running ISV server of the
 * table has no section, a pool lacks its second line, or seats are in use but the usage section is missing. If such a
 * text ends within a pool section, every product of that section is partial. A line without line end counts only if
 * it is complete by its grammar. A cut between two complete pools cannot be detected if no earlier pool is in use:
 * the output of an idle ISV server ends with its pools.
 */
export function createRlmParser({ zone, now }: ParseContext): ReadingParser {
  const report = createReport();
  // Usage lines print `MM/DD HH:MM`. Allow a day ahead and eight years back, for a 29th of February.
  const times = createYearlessTimes(zone, now, DAY_MS, 8);

  let state: State = "top";
  let lastSection: State | null = null;
  let daemon: DaemonDraft | null = null;
  let member: MemberDraft | null = null;
  let product: ProductDraft | null = null;
  /** Header of a pool whose line of counts has not been read yet. */
  let pending: (PoolHeader & { readonly line: number; readonly text: string }) | null = null;
  /** Counted pool whose `obsolete: …` line has not been read yet. */
  let openPool = false;
  let block: ErrorBlock | null = null;
  let lineNumber = 0;

  function addPool(header: PoolHeader, counts: PoolCounts | null): void {
    if (daemon === null) return;
    daemon.headers.add(header);
    product = daemon.product(header.product);
    product.addPool(header, counts);
    openPool = counts?.kind === "counted";
  }

  function settlePending(): void {
    if (pending?.certain === true) addPool(pending, null);
    else if (pending !== null) lose(pending.text, pending.line);
    pending = null;
  }

  /**
   * Records a line that no rule matched. The product of the line may then be incomplete, or the whole
   * answer.
   */
  function lose(text: string, line: number): void {
    report.reject(text, line);
    const own = state === "usage" ? productOfUsage(text) : product;
    if (own === null) report.stray = true;
    else own.cut = true;
    // The section's heading is missing, so lines after it may be missing too.
    const isPoolRow = parsePoolCounts(text, zone) !== null || isPoolDetail(text);
    if (isPoolRow ? state !== "pools" : state === "top" && needsHeading(text)) report.cut = true;
  }

  function productOfUsage(text: string): ProductDraft | null {
    const owner = daemon?.headers.find(text, skipBlanks(text, 0), text.length, ":");
    return owner === undefined || daemon === null ? null : daemon.product(owner.product);
  }

  function needsHeading(text: string): boolean {
    return takeServerLine(text) || SERVER_ROW.test(text) || parseUsageLine(text, NO_HEADERS) !== null;
  }

  function leave(next: State): true {
    settlePending();
    if (block !== null) report.addError(block);
    block = null;
    state = next;
    product = null;
    openPool = false;
    return true;
  }

  function enter(header: SectionHeader): true {
    leave(header.kind);
    lastSection = header.kind;
    if (header.kind === "rlm") {
      member = Object.assign(report.member(header.host, header.port, "up"), { status: "up" as const });
      return true;
    }
    daemon = report.daemon(header.server);
    Object.assign(daemon, { status: "up", awaited: false, port: header.port });
    const heading = `${header.kind} ${header.port}@${header.host.toLowerCase()}`;
    if (daemon.sections.has(heading)) {
      daemon.inDoubt = true;
      state = "repeated";
      return true;
    }
    daemon.sections.add(heading);
    if (header.kind === "pools") daemon.poolSection = true;
    if (header.kind === "usage") daemon.usageSection = true;
    return true;
  }

  function takeAnywhere(text: string): boolean {
    const header = parseSectionHeader(text);
    if (header !== null) return enter(header);
    if (SEPARATOR.test(text)) return leave("top");
    if (SERVER_TABLE_TITLE.test(text)) {
      lastSection = "table";
      return leave("table");
    }
    const failure = beginErrorBlock(text);
    return failure !== null && failure.server !== null && begin(failure);
  }

  function begin(failure: ErrorBlock): true {
    leave("error");
    block = failure;
    return true;
  }

  function takeServerLine(text: string): boolean {
    const clock = parseStatistics(text, zone);
    if (clock !== undefined) {
      if (clock !== null && report.reportTime === null) times.setReference(clock);
      report.reportTime ??= clock;
      return clock !== null;
    }
    const counter = parseCounter(text);
    if (counter !== null) {
      if (counter.name !== undefined && counter.total !== null && state === "isv" && daemon !== null) {
        daemon.totals ??= { checkouts: null, denials: null, removals: null };
        daemon.totals[counter.name] = counter.total;
      }
      return true;
    }
    const version = SOFTWARE_VERSION.exec(text)?.[1];
    if (version === undefined) return isServerFact(text);
    if (state === "rlm" && member !== null) member.version = version;
    if (state === "isv" && daemon !== null) daemon.version = version;
    return true;
  }

  function takeTableLine(text: string): boolean {
    if (SERVER_TABLE_HEAD.test(text)) return true;
    const [, name, running] = SERVER_ROW.exec(text) ?? [];
    if (name === undefined) return false;
    const awaited = running === "Yes";
    Object.assign(report.daemon(name), { awaited, status: awaited ? "up" : "down" });
    return true;
  }

  function takePoolLine(text: string): boolean {
    const counts = parsePoolCounts(text, zone);
    if (counts !== null) {
      if (pending === null) return false;
      addPool(pending, counts);
      pending = null;
      // Keep the known parts of the row, but report its line.
      if (counts.unknownRest) report.reject(text, lineNumber);
      return true;
    }
    const isDetail = isPoolDetail(text);
    settlePending();
    const header = isDetail ? null : parsePoolHeader(text);
    if (isDetail || header !== null) openPool = false;
    if (header !== null) pending = { ...header, line: lineNumber, text };
    return isDetail ? product !== null : header !== null;
  }

  function takeUsageLine(text: string): boolean {
    const usage = daemon === null ? null : parseUsageLine(text, daemon.headers);
    if (daemon === null || usage === null) return false;
    const { seats, reserved, month, day, minutes } = usage.counts;
    if (seats + reserved === 0) return false;
    const startedAt = times.read(month, day, minutes, null);
    product = daemon.product(usage.owner.product);
    product.addUsage(usage, startedAt);
    if (startedAt === null) report.reject(text, lineNumber);
    return true;
  }

  function takeLoose(text: string): boolean {
    const version = TOOL_VERSION.exec(text)?.[1];
    if (version !== undefined) report.toolVersion ??= version;
    if (version !== undefined || BANNER.test(text)) return true;
    const begun = beginErrorBlock(text);
    return begun !== null && begin(begun);
  }

  /** Reads the tool's banner, which may start a second output. */
  function takeBanner(text: string): boolean {
    if (!BANNER.test(text) && !TOOL_VERSION.test(text)) return false;
    leave("top");
    return takeLoose(text);
  }

  function takeErrorLine(text: string): boolean {
    if (ADVICE.test(text)) return leave("advice");
    if (takeBanner(text)) return true;
    return block !== null && extendErrorBlock(block, text);
  }

  const inState: Record<State, (text: string) => boolean> = {
    top: takeLoose,
    rlm: (text) => takeServerLine(text) || takeLoose(text),
    isv: (text) => takeServerLine(text) || takeLoose(text),
    table: (text) => takeTableLine(text) || takeLoose(text),
    pools: (text) => takeBanner(text) || takePoolLine(text),
    usage: takeBanner,
    repeated: () => true,
    error: takeErrorLine,
    advice: (text) => ADVICE_POINT.test(text) || takeLoose(text),
  };

  function take(text: string): void {
    lineNumber++;
    // Try usage lines first, because they are the most frequent.
    if (state === "usage" && takeUsageLine(text)) report.recognised = true;
    else if (text.trim() === "") return;
    else if (takeAnywhere(text)) report.recognised ||= !SEPARATOR.test(text);
    else if (inState[state](text)) report.recognised = true;
    else lose(text, lineNumber);
  }

  function closesItself(text: string): boolean {
    if (text.trim() === "" || state === "error" || state === "advice") return true;
    if (state === "usage" && daemon !== null)
      return text.trimEnd().endsWith(")") && typeof parseUsageLine(text, daemon.headers)?.handle === "string";
    if (state !== "pools") return false;
    return text.includes("total checkouts:") || parsePoolCounts(text, zone)?.kind === "token";
  }

  function markCut(): void {
    report.cut = true;
    if (state === "pools" && daemon !== null) daemon.inDoubt = true;
    if (product !== null) product.cut = true;
  }

  return {
    line: take,
    finish({ rest, truncated }: OutputEnd) {
      if (rest !== null && closesItself(rest)) take(rest);
      else if (rest !== null) markCut();
      if (truncated || (state === "pools" && openPool)) markCut();
      if (pending !== null) {
        settlePending();
        markCut();
      }
      if (state === "pools" && daemon !== null) daemon.poolsOpen = true;
      leave("top");
      const begun = lastSection === "rlm" || lastSection === "isv";
      if (report.recognised && (begun || report.isEmpty())) report.cut = true;
      return report.read();
    },
  };
}
