import type { AlertRule, AlertSubject, Severity } from "../../domain/alerts.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { SubjectSettings } from "../settings.ts";

/** What a look is at, within its server. */
export interface About {
  readonly daemon: string | null;
  readonly feature: string | null;
  readonly detail: string | null;
}

export const THE_SERVER: About = { daemon: null, feature: null, detail: null };

/** What there is to say of something at a level. */
export interface Finding {
  readonly severity: Severity;
  readonly message: string;
  readonly value: number | null;
  readonly threshold: number | null;
}

/**
 * Takes one look: level 0 is well, higher is worse. What is not known is not looked at: no call. `tell` is asked only
 * when there is something to be told, for the level that is told: what was seen once may be worse. Without it only the
 * end can be told.
 */
export type See = (about: About, level: number, tell?: (level: number) => Finding) => void;

export interface RuleContext {
  /** Time of the look, epoch ms. */
  readonly at: number;
  settingsOf(daemon: string | null, feature: string | null): SubjectSettings;
  /** Subjects of this rule and server that are being watched: a rule that sees things come must see them go. */
  watched(): readonly AlertSubject[];
}

/** A pure rule over one server's picture, taken after each poll. */
export type PictureRule = (picture: ServerPicture, context: RuleContext, see: See) => void;

/** Whether the rule is about numbers of features, which need no second poll, or about polls and parts that fail. */
export type Patience = "feature" | "poll" | "none";

export interface NamedRule {
  readonly rule: AlertRule;
  readonly patience: Patience;
  readonly look: PictureRule;
}
