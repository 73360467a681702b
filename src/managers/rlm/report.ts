import {
  type FeatureReading,
  MAX_UNPARSED_KEPT,
  type MemberReading,
  type Reading,
  type ToolError,
  type UnparsedLine,
} from "../../domain/reading.ts";
import { createDaemonDraft, type DaemonDraft } from "./draft.ts";
import { type ErrorBlock, toToolError } from "./errors.ts";

export type MemberDraft = { -readonly [Key in keyof MemberReading]: MemberReading[Key] };

/** The reading while the parser fills it: who was named so far, what failed, what was not understood. */
export interface Report {
  toolVersion: string | null;
  reportTime: number | null;
  recognised: boolean;
  cut: boolean;
  /** A line that stands under no product was not understood. */
  stray: boolean;
  /** The rlm itself at this address, made when it is new. Hosts are the same in any case. */
  member(host: string, port: number | null, status: "up" | "down"): MemberDraft;
  /** The ISV server of this name, made when it is new. */
  daemon(name: string): DaemonDraft;
  hasDaemons(): boolean;
  hasErrors(): boolean;
  addError(block: ErrorBlock): void;
  /** A line that no rule knew. */
  reject(text: string, line: number): void;
  read(): Reading;
}

export function createReport(): Report {
  const members = new Map<string, MemberDraft>();
  const daemons = new Map<string, DaemonDraft>();
  const wholeErrors: ToolError[] = [];
  const unparsed: UnparsedLine[] = [];
  let unparsedLines = 0;

  const report: Report = {
    toolVersion: null,
    reportTime: null,
    recognised: false,
    cut: false,
    stray: false,
    member(host, port, status) {
      const key = `${port}@${host.toLowerCase()}`;
      const known = members.get(key);
      if (known !== undefined) return known;
      const fresh: MemberDraft = { host, port, status, master: false, version: null, error: null };
      members.set(key, fresh);
      return fresh;
    },
    daemon(name) {
      const known = daemons.get(name);
      if (known !== undefined) return known;
      const fresh = createDaemonDraft(name);
      daemons.set(name, fresh);
      return fresh;
    },
    hasDaemons: () => daemons.size > 0,
    hasErrors: () => wholeErrors.length > 0 || [...members.values()].some(({ error }) => error !== null),
    addError(block) {
      const error = toToolError(block);
      if (block.server !== null && block.server !== "rlm") {
        const daemon = report.daemon(block.server);
        daemon.status = "down";
        daemon.error = error;
        daemon.awaited = false;
      } else if (block.server === "rlm" && block.host !== null) {
        report.member(block.host, block.port, "down").error = error;
      } else {
        wholeErrors.push(error);
      }
    },
    reject(text, line) {
      unparsedLines++;
      if (unparsed.length < MAX_UNPARSED_KEPT) unparsed.push({ line, text: text.slice(0, 500) });
    },
    read() {
      const features: FeatureReading[] = [];
      let { cut } = report;
      for (const daemon of daemons.values()) {
        const own = [...daemon.products()].map((product) => product.read());
        const inUse = own.some(({ unlimited, used }) => !unlimited && (used ?? 0) > 0);
        if (daemon.awaited || (inUse && !daemon.usageSection)) cut = true;
        // The seats of products whose pools were not printed.
        if (daemon.usageSection && !daemon.poolSection) cut = true;
        for (const feature of own) features.push(feature);
      }
      const hosts = [...members.values()];
      // Of failover servers one is enough: only when none answered has the whole query failed.
      const answered = daemons.size > 0 || hosts.some(({ status }) => status === "up");
      const failed = answered ? [] : hosts.flatMap(({ error }) => (error === null ? [] : [error]));
      return {
        manager: "rlm",
        reportTime: report.reportTime,
        toolVersion: report.toolVersion,
        members: hosts,
        daemons: [...daemons.values()].map((daemon) => daemon.read()),
        features,
        errors: [...wholeErrors, ...failed],
        unparsedLines,
        unparsed,
        cut,
        ...(report.stray && { stray: true as const }),
        recognised: report.recognised,
      };
    },
  };
  return report;
}
