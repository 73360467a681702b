import type { DaemonReading, Reading, ToolError } from "../../domain/reading.ts";
import { endOfText, skipBlanks } from "../blanks-and-digits.ts";
import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { createUnparsed } from "../read-output.ts";
import type { Block, FeatureHeader } from "./block.ts";
import { closeBlock, openBlock, parseHeader, parseOddHeader, startsHeader, withPackages } from "./block.ts";
import { createBlockReader, type LineOutcome } from "./block-lines.ts";
import { createStartTimes, parseReportTime } from "./start-time.ts";
import type { PartLine } from "./status-lines.ts";
import {
  addDaemon,
  createMembers,
  endsInErrorCode,
  parseDaemon,
  parseMemberStatus,
  parseOwnedError,
  parseSpec,
  parseToolError,
} from "./status-lines.ts";
import type { TableOrder, TableRow } from "./table.ts";
import { blocksOfTable, dropRepeated, joinTable, parseTableHeader, parseTableRow } from "./table.ts";

const STATUS_ON = /^Flexible License Manager status on (.+)$/i;
const REPORT_ONLY = /^(?:sun|mon|tue|wed|thu|fri|sat)\s+\d{1,2}\/\d{1,2}\/\d{4}\s+\d{1,2}:\d{2}$/i;
const TOOL_VERSION = /^lmstat (v[\d.]+)\b/;

type Section = "head" | "members" | "daemons" | "table";

/**
 * Parses lmstat's output. Checkouts are tried first: users' names may contain anything, but the right end of
 * the line has a fixed form.
 */
export function createFlexnetParser(context: ParseContext): ReadingParser {
  const { zone } = context;
  const times = createStartTimes(zone, context.now);
  const held = createBlockReader(zone, times, context.knownHosts);
  const members = createMembers();
  const daemons = new Map<string, DaemonReading>();
  const blocks: Block[] = [];
  const rows: TableRow[] = [];
  const errors: ToolError[] = [];
  const unparsed = createUnparsed();

  let reportTime: number | null = null;
  let toolVersion: string | null = null;
  let recognised = false;
  let asked = false;
  let lineNumber = 0;
  let section: Section = "head";
  let daemon = "";
  let part = 0;
  let block: Block | null = null;
  let tableOrder: TableOrder = "vendor-expires";
  /** True if the last line may be the start of a cut line of a block. */
  let endsBroken = false;
  let stray = false;

  function line(text: string, cut: boolean): void {
    lineNumber++;
    const from = skipBlanks(text, 0);
    if (from === text.length) return;
    const outcome = readLine(text, from, cut);
    // A line with an unknown end may itself be cut if the block still lacks seats.
    const isShort = outcome === "kept" && block !== null && block.used !== null && block.held < block.used;
    endsBroken = outcome === "unknown" ? isBroken(text, from) : isShort;
    if (outcome === "known") return;
    unparsed.add(text, lineNumber);
    if (outcome === "kept") return;
    if (block === null) stray = true;
    else block.doubtful = true;
  }

  function readLine(text: string, from: number, cut: boolean): LineOutcome {
    const read = block === null ? "unknown" : held.read(block, text, from, cut);
    const outcome = read === "unknown" ? outside(text, from, cut) : read;
    // Use the known part of a malformed line, unless the line is cut.
    if (outcome !== "unknown" || cut) return outcome;
    const odd = startsHeader(text.slice(from)) ? parseOddHeader(text.slice(from)) : null;
    if (odd !== null) open(odd);
    const kept = odd === null ? block !== null && held.keep(block, text, from) : odd.used !== null;
    return kept ? "kept" : "unknown";
  }

  /** Reports whether an unknown line may be the start of a cut line: a header, or a line of a block. */
  function isBroken(text: string, from: number): boolean {
    return startsHeader(text.slice(from)) || (block !== null && (from > 0 || text.startsWith('"')));
  }

  /** Reads lines outside blocks: head, members, daemons, headers of blocks and the table. */
  function outside(text: string, from: number, cut: boolean): LineOutcome {
    const trimmed = text.slice(from, endOfText(text, from, text.length));
    if (section === "table" && !cut) {
      const row = parseTableRow(trimmed, tableOrder, zone);
      if (row !== null) {
        rows.push(row);
        return row.understood ? "known" : "kept";
      }
    }
    const known = inOutput(trimmed);
    recognised ||= known;
    return known || isSeparator(text, trimmed) ? "known" : "unknown";
  }

  function open(header: FeatureHeader): void {
    block = openBlock(header, daemon, part);
    blocks.push(block);
    if (section === "table") section = "daemons";
  }

  function inOutput(trimmed: string): boolean {
    if (!startsHeader(trimmed)) return inHead(trimmed) || inStatus(trimmed) || inErrors(trimmed);
    const header = parseHeader(trimmed);
    // Close the block even if the header is malformed, so that the following lines are not added to the feature above.
    block = null;
    if (header !== null) open(header);
    return header !== null;
  }

  function inHead(trimmed: string): boolean {
    const banner = STATUS_ON.exec(trimmed);
    if (banner !== null || REPORT_ONLY.test(trimmed)) {
      const time = parseReportTime(banner?.[1] ?? trimmed, zone);
      if (time !== null) {
        times.setReference(time);
        reportTime ??= time;
      }
      return restart("head");
    }
    const spec = parseSpec(trimmed);
    if (spec !== null) {
      part = members.asked(spec);
      return restart("members");
    }
    const version = TOOL_VERSION.exec(trimmed)?.[1];
    toolVersion ??= version ?? null;
    return version !== undefined || PREAMBLE.test(trimmed) || NOTES.has(trimmed);
  }

  function inStatus(trimmed: string): boolean {
    const member = parseMemberStatus(trimmed);
    if (member !== null) return takeMember(member);
    if (trimmed.startsWith("Vendor daemon status")) return restart("daemons");
    if (/^Feature usage info:?$/.test(trimmed)) {
      if (section === "table") section = "daemons";
      return true;
    }
    const order = parseTableHeader(trimmed);
    if (order !== null) {
      tableOrder = order;
      return restart("table");
    }
    if (section === "table") return false;
    // After the line that names the servers, an error belongs to a member. Before any heading, an error
    // belongs to the query.
    const failed = section === "daemons" ? null : parseOwnedError(trimmed);
    if (failed !== null) return section !== "head" && takeMember(failed);
    // `-S` and `-vd` print daemons without a heading.
    const vendor = parseDaemon(trimmed);
    if (vendor === null) return false;
    restart("daemons");
    asked = true;
    addDaemon(daemons, vendor, part);
    daemon = vendor.name;
    return true;
  }

  function takeMember(line: PartLine): true {
    asked = true;
    members.status(line);
    return true;
  }

  function inErrors(trimmed: string): boolean {
    const noServer = /^lmgrd is not running\b/i.test(trimmed);
    if (!noServer && !/^Error getting status\b/i.test(trimmed) && !endsInErrorCode(trimmed)) return false;
    const error = parseToolError(trimmed);
    errors.push(error);
    asked = true;
    if (noServer && section === "members") members.unanswered(error);
    return true;
  }

  function restart(next: Section): true {
    section = next;
    block = null;
    daemon = "";
    return true;
  }

  /**
   * Returns features that appear only in the table, except those of daemons that are down: `-a` prints no
   * blocks for them.
   */
  function fromTable(): Block[] {
    if (rows.length === 0) return [];
    if (!asked && blocks.length === 0) return blocksOfTable(rows, () => true);
    const of = (status: "up" | null) =>
      new Set(
        [...daemons.values()].flatMap((each) => (status === null || each.status === status ? each.name : [])),
      );
    const [up, known] = [of("up"), of(null)];
    if (up.size === 0 && blocks.length === 0) return [];
    const served = new Set(
      blocks.flatMap(({ daemon, vendor, name }) => [`${daemon}\n${name}`, `${vendor ?? daemon}\n${name}`]),
    );
    return blocksOfTable(
      rows,
      ({ vendor, feature }) =>
        (up.has(vendor) || !known.has(vendor)) &&
        !served.has(`${vendor}\n${feature}`) &&
        !served.has(`\n${feature}`),
    );
  }

  return {
    line: (text) => line(text, false),
    finish({ rest, truncated }: OutputEnd): Reading {
      if (rest !== null) line(rest, true);
      held.close();
      const last = block;
      const cut = rest !== null || truncated || endsBroken || last?.describing === true;
      const added = fromTable();
      const listed = dropRepeated(blocks, rows, cut ? last : null);
      joinTable(listed, rows);
      return {
        manager: "flexnet",
        reportTime,
        toolVersion,
        members: members.list(),
        daemons: [...daemons.values()],
        features: withPackages([
          ...listed.map((known) => closeBlock(known, cut && known === last)),
          ...added.map((known) => ({
            ...closeBlock(known, asked || blocks.length > 0),
            fromFile: true as const,
          })),
        ]),
        errors,
        ...unparsed.read(),
        cut,
        ...(stray && { stray }),
        recognised,
      };
    },
  };
}

/** Reports whether the line is a separator, a manual ellipsis or a script's comment. */
function isSeparator(text: string, trimmed: string): boolean {
  return text.startsWith("#") || /^(?:[-=_ \t]+|\.{3,})$/.test(trimmed);
}

const PREAMBLE = /^(?:(?i:\S{1,60} - Copyright \(c\) \d{4}|\[Detecting [^\]]*\]$)|License file\(s\) on )/;
const NOTES = new Set([
  "lmstat",
  "NOTE: lmstat -i does not give information from the server,",
  "but only reads the license file.  For this reason,",
  "lmstat -a is recommended instead.",
]);
