import { subjectKey } from "../domain/alerts.ts";
import { featureKey } from "../domain/merge-blocks.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { Book } from "./book.ts";
import { type Judge, longestSilence, subjectOf } from "./judge.ts";
import { compareTotals, TOTALS_LAST_MS, totalFinding } from "./rules/baseline.ts";
import { THE_SERVER } from "./rules/rule.ts";
import { PICTURE_RULES } from "./rules/rules.ts";
import { compareUnparsed, unparsedFinding, unparsedUsualAt } from "./rules/unparsed.ts";

/** What a poll of one server is looked at for. */
export interface PollLooks {
  /** `at` is the poll's time, epoch ms. */
  polled(before: ServerPicture | null, after: ServerPicture, at: number): void;
  /** Lets what has been so for long become the usual. */
  accept(picture: ServerPicture, at: number): void;
}

export function createPollLooks(book: Book, judge: Judge): PollLooks {
  /** Holds a good reading against what was normal. */
  function compare(picture: ServerPicture, at: number): void {
    const server = picture.server.id;
    const baseline = book.baseline(server);
    const { totals, changes } = compareTotals(baseline, picture);
    for (const change of changes) {
      const subject = subjectOf("totals_changed", server, { ...change, detail: null });
      const alert = book.firing.get(subjectKey(subject));
      // Back to what it was before: there is nothing to look at any more.
      if (alert !== undefined && (change.to ?? null) === alert.threshold) book.resolve(alert, at);
      else judge.happen(subject, totalFinding(change), at, TOTALS_LAST_MS, "tell-again");
    }
    const lines = picture.unparsedLines;
    const { usual, level } = compareUnparsed(lines, baseline?.unparsed ?? null);
    const subject = subjectOf("unparsed", server, THE_SERVER);
    judge.see(subject, level, at, "poll", () => unparsedFinding(server, lines, usual));
    book.setBaseline(server, { totals, unparsed: usual });
  }

  /** Ends what is about daemons and features that are there no more. */
  function removeGone(picture: ServerPicture, at: number): void {
    const { features, daemons, state, cut } = picture;
    const known = new Set(features.map(({ daemon, name }) => featureKey(daemon, name)));
    const named = new Set(daemons.map(({ name }) => name));
    // Features vanish after two readings without them; daemons are believed gone only by a whole one.
    const whole = (state === "ok" || state === "partial") && !cut;
    for (const { subject } of [...book.watched.values()]) {
      if (subject.server !== picture.server.id || subject.daemon === null) continue;
      if (subject.rule === "totals_changed" || subject.rule === "denials") continue;
      const gone =
        subject.feature === null
          ? whole && !named.has(subject.daemon)
          : !known.has(featureKey(subject.daemon, subject.feature));
      if (gone) judge.forget(subject, at);
    }
  }

  return {
    polled(before, after, at) {
      const last = before?.collectedAt ?? null;
      const gap = last === null || at - last > longestSilence(after);
      for (const rule of PICTURE_RULES) judge.look(rule, after, at, gap);
      if (after.error === null && after.collectedAt === at) compare(after, at);
      removeGone(after, at);
    },
    accept({ server: { id: server }, unparsedLines, error }: ServerPicture, at: number): void {
      // What a poll that failed left behind says nothing of what is usual.
      if (error !== null) return;
      const alert = book.firing.get(subjectKey(subjectOf("unparsed", server, THE_SERVER)));
      const baseline = book.baseline(server);
      if (alert === undefined || baseline === null || at < unparsedUsualAt(alert.startedAt)) return;
      book.setBaseline(server, { ...baseline, unparsed: unparsedLines });
      book.resolve(alert, at);
    },
  };
}
