import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { skipBlanks } from "../scan.ts";
import { createYearlessTimes } from "../yearless.ts";
import { parseStatistics, USAGE_TIMES } from "./dates.ts";
import { createReport, type DaemonDraft, type MemberDraft, type ProductDraft } from "./draft.ts";
import { isPoolDetail, type PoolHeader, parsePoolCounts, parsePoolHeader } from "./pool-lines.ts";
import {
  beginErrorBlock,
  beginsAdvice,
  type ErrorBlock,
  extendErrorBlock,
  isAdvice,
  isBanner,
  isSeparator,
  isServerFact,
  isServerTableHead,
  isServerTableTitle,
  parseCounter,
  parseSectionHeader,
  parseServerRow,
  parseSoftwareVersion,
  parseToolVersion,
  type SectionHeader,
} from "./sections.ts";

import { createHeaders, parseUsageLine } from "./usage-line.ts";

/** For lines that stand in no section: there are no headers to know them by. */
const NO_HEADERS = createHeaders();

type State = "top" | "rlm" | "table" | "isv" | "pools" | "usage" | "error" | "advice";

/** A header of the pool section whose line of counts has not come yet. */
interface PendingPool extends PoolHeader {
  readonly line: number;
  readonly text: string;
}

/**
 * Parser of `rlmstat -a`. What a line means depends on the section it stands in; indentation means nothing (it is a
 * tab, blanks or nothing, by version). Parts may be missing at either end: each section names its ISV server.
 *
 * The end of the output. rlmstat prints no end mark, so a text is known to be cut when its last line has no line
 * end, a running ISV server of the table has no section, a pool lacks its second line, or seats are in use and the
 * usage section is missing. A line without its end is not believed unless its own grammar closes it. What cannot
 * be seen: a cut between two whole pools of an ISV server none of whose pools so far is in use.
 */
export function createRlmParser(context: ParseContext): ReadingParser {
  const report = createReport();

  let state: State = "top";
  let lastSection: SectionHeader["kind"] | "table" | null = null;
  let daemon: DaemonDraft | null = null;
  let member: MemberDraft | null = null;
  let product: ProductDraft | null = null;
  let pending: PendingPool | null = null;
  /** A counted pool whose `obsolete: …` line has not come yet. */
  let openPool = false;
  let block: ErrorBlock | null = null;

  let lineNumber = 0;
  const times = createYearlessTimes(context.zone, context.now, USAGE_TIMES);

  const addPool = (header: PoolHeader, counts: ReturnType<typeof parsePoolCounts>) => {
    if (daemon === null) return;
    daemon.headers.add(header);
    product = daemon.product(header.product);
    product.addPool(header, counts);
    openPool = counts?.kind === "counted";
  };

  const settlePending = () => {
    if (pending?.certain === true) addPool(pending, null);
    else if (pending !== null) lose(pending.text, pending.line);
    pending = null;
  };

  /** A line that no rule knew, and whose facts are missing: of the product it stands under, else of the server. */
  const lose = (text: string, line: number) => {
    report.reject(text, line);
    const own = state === "usage" ? productOfUsage(text) : product;
    if (own === null) report.stray = true;
    else own.cut = true;
    // The heading is missing, and with it whatever stood between.
    if (isPoolRow(text) ? state !== "pools" : state === "top" && needsHeading(text)) report.cut = true;
  };

  const productOfUsage = (text: string): ProductDraft | null => {
    const owner = daemon?.headers.find(text, skipBlanks(text, 0), text.length, ":");
    return owner === undefined || daemon === null ? null : daemon.product(owner.product);
  };

  const isPoolRow = (text: string) => parsePoolCounts(text, context.zone) !== null || isPoolDetail(text);

  const needsHeading = (text: string) =>
    takeServerLine(text) || parseServerRow(text) !== null || parseUsageLine(text, NO_HEADERS) !== null;

  const leave = (next: State) => {
    settlePending();
    if (block !== null) report.addError(block);
    block = null;
    state = next;
    product = null;
    openPool = false;
  };

  const enter = (header: SectionHeader) => {
    leave(header.kind);
    lastSection = header.kind;
    if (header.kind === "rlm") {
      member = report.member(header.host, header.port, "up");
      member.status = "up";
      return;
    }
    daemon = report.daemon(header.server);
    daemon.status = "up";
    daemon.awaited = false;
    daemon.port = header.port;
    if (header.kind === "pools") daemon.poolSection = true;
    if (header.kind === "usage") daemon.usageSection = true;
  };

  /** Lines that mean the same wherever they stand. */
  const takeAnywhere = (text: string): boolean => {
    const header = parseSectionHeader(text);
    if (header !== null) {
      enter(header);
      return true;
    }
    if (isSeparator(text)) {
      leave("top");
      return true;
    }
    if (isServerTableTitle(text)) {
      leave("table");
      lastSection = "table";
      return true;
    }
    const failure = beginErrorBlock(text);
    if (failure === null || failure.server === null) return false;
    leave("error");
    block = failure;
    return true;
  };

  const takeServerLine = (text: string): boolean => {
    const clock = parseStatistics(text, context.zone);
    if (clock !== undefined) {
      if (clock !== null && report.reportTime === null) {
        report.reportTime = clock;
        times.setReference(clock);
      }
      return clock !== null;
    }
    const counter = parseCounter(text);
    if (counter !== null) {
      if (counter.name !== null && counter.total !== null && state === "isv" && daemon !== null) {
        daemon.totals ??= { checkouts: null, denials: null, removals: null };
        daemon.totals[counter.name] = counter.total;
      }
      return true;
    }
    const version = parseSoftwareVersion(text);
    if (version !== null) {
      if (state === "rlm" && member !== null) member.version = version;
      if (state === "isv" && daemon !== null) daemon.version = version;
      return true;
    }
    return isServerFact(text);
  };

  const takeTableLine = (text: string): boolean => {
    if (isServerTableHead(text)) return true;
    const row = parseServerRow(text);
    if (row === null) return false;
    const draft = report.daemon(row.name);
    draft.status = row.running ? "up" : "down";
    draft.awaited = row.running;
    return true;
  };

  const takePoolLine = (text: string): boolean => {
    const counts = parsePoolCounts(text, context.zone);
    if (counts !== null) {
      if (pending === null) return false;
      addPool(pending, counts);
      pending = null;
      // The row is kept with what is known.
      if (counts.unknownRest) report.reject(text, lineNumber);
      return true;
    }
    if (isPoolDetail(text)) {
      if (pending !== null) settlePending();
      openPool = false;
      return product !== null;
    }
    settlePending();
    const header = parsePoolHeader(text);
    if (header === null) return false;
    openPool = false;
    pending = { ...header, line: lineNumber, text };
    return true;
  };

  const takeUsageLine = (text: string): boolean => {
    if (daemon === null) return false;
    const usage = parseUsageLine(text, daemon.headers);
    if (usage === null || usage.counts.seats + usage.counts.reserved === 0) return false;
    const startedAt = times.read(usage.counts.month, usage.counts.day, usage.counts.minutes, null);
    product = daemon.product(usage.owner.product);
    product.addUsage(usage, startedAt);
    if (startedAt === null) report.reject(text, lineNumber);
    return true;
  };

  const takeLoose = (text: string): boolean => {
    const version = parseToolVersion(text);
    if (version !== null) {
      report.toolVersion ??= version;
      return true;
    }
    if (isBanner(text)) return true;
    const begun = beginErrorBlock(text);
    if (begun === null) return false;
    leave("error");
    block = begun;
    return true;
  };

  const inState: Record<State, (text: string) => boolean> = {
    top: takeLoose,
    rlm: (text) => takeServerLine(text) || takeLoose(text),
    isv: (text) => takeServerLine(text) || takeLoose(text),
    table: (text) => takeTableLine(text) || takeLoose(text),
    pools: takePoolLine,
    usage: takeUsageLine,
    error: (text) => {
      if (beginsAdvice(text)) {
        leave("advice");
        return true;
      }
      if (isBanner(text) || parseToolVersion(text) !== null) {
        leave("top");
        return takeLoose(text);
      }
      return block !== null && extendErrorBlock(block, text);
    },
    advice: (text) => isAdvice(text) || takeLoose(text),
  };

  const take = (text: string) => {
    lineNumber++;
    // Usage lines are by far the most: they are tried first where they can stand.
    if (state === "usage" && takeUsageLine(text)) report.recognised = true;
    else if (text.trim() === "") return;
    else if (takeAnywhere(text)) report.recognised ||= !isSeparator(text);
    else if (state !== "usage" && inState[state](text)) report.recognised = true;
    else lose(text, lineNumber);
  };

  /** A last line without line end: whole when its own grammar closes it. */
  const closesItself = (text: string): boolean => {
    if (text.trim() === "" || state === "error" || state === "advice") return true;
    if (state === "usage" && daemon !== null) {
      return text.trimEnd().endsWith(")") && (parseUsageLine(text, daemon.headers)?.handle ?? null) !== null;
    }
    if (state !== "pools") return false;
    return text.includes("total checkouts:") || parsePoolCounts(text, context.zone)?.kind === "token";
  };

  const markCut = () => {
    report.cut = true;
    if (product !== null) product.cut = true;
  };

  const judgeEnd = ({ rest, truncated }: OutputEnd) => {
    if (rest !== null && closesItself(rest)) take(rest);
    else if (rest !== null) markCut();
    if (truncated || (state === "pools" && openPool)) markCut();
    if (pending !== null) {
      settlePending();
      markCut();
    }
    leave("top");
    const begun = lastSection === "rlm" || lastSection === "isv";
    if (report.recognised && (begun || report.isEmpty())) report.cut = true;
  };

  return {
    line: take,
    finish(end) {
      judgeEnd(end);
      return report.read();
    },
  };
}
