import type { ComponentChildren } from "preact";
import type { Unit } from "../../domain/words.ts";
import { duration, number, shortIn } from "../format.ts";
import { now } from "../live/live.ts";
import { linkTo } from "../router.ts";

export type Mark = "ok" | "full" | "warn" | "crit" | "stale" | "partial" | "unknown" | "info";
export type IconName =
  | Mark
  | "find"
  | "theme"
  | "people"
  | "find20"
  | "out"
  | "home"
  | "alert"
  | "history"
  | "admin"
  | "more";

/** A drawing of the sprite in index.html. `size` is in pixels at the default text size. */
export function Icon({ name, size = 12 }: Readonly<{ name: IconName; size?: number }>) {
  const side = `${size / 16}rem`;
  return (
    <svg class="ic" width={side} height={side} aria-hidden="true">
      <use href={`#i-${name === "full" ? "warn" : name}`} />
    </svg>
  );
}

/** A state as shape, color and word; with `quiet` the word is for screen readers only. */
export function State(props: {
  readonly is: Mark;
  readonly tone?: Mark;
  readonly quiet?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`st st-${props.tone ?? props.is}`}>
      <Icon name={props.is} />
      <span class={props.quiet === true ? "vh" : undefined}>{props.children}</span>
    </span>
  );
}

export const Unknown = () => (
  <span class="q" title="not known">
    <span aria-hidden="true">–</span>
    <span class="vh">not known</span>
  </span>
);

export const Loading = () => (
  <span class="q" title="Loading …">
    …
  </span>
);

export function UsedOf(props: {
  readonly used: number | null;
  readonly total: number | null;
  readonly unit?: Unit;
  readonly between?: string;
}) {
  const { used, total, unit = "seats", between = "/" } = props;
  if (used === null) return <Unknown />;
  return (
    <>
      {shortIn(unit)(used)}
      {total !== null && (
        <span class="q">
          {between}
          {shortIn(unit)(total)}
        </span>
      )}
    </>
  );
}

export function Age({ at }: Readonly<{ at: number }>) {
  return <>{duration(now.value - at)}</>;
}

export function Known(props: {
  readonly value: number | null;
  readonly as?: ((value: number) => ComponentChildren) | undefined;
}): ComponentChildren {
  const { value, as = number } = props;
  return value === null ? <Unknown /> : as(value);
}

export const asPercent = (value: number): string => `${number(Math.floor(value))} %`;
export const asShare = (percent: number): string =>
  percent > 0 && percent < 1 ? "<1 %" : `${number(Math.round(percent))} %`;
export const asDuration = (seconds: number): string => duration(1000 * seconds);

/** Links to a person. `user` is null if the viewer may not see names. */
export function Person({ user }: Readonly<{ user: string | null }>): ComponentChildren {
  if (user === null) return <Unknown />;
  return <a href={linkTo("person", { user })}>{user}</a>;
}

const unnamed = (daemon = "") => `${daemon}, counted without names`;
/** Returns a feature's text for sorting and searching. */
export const featureText = (of: {
  readonly server?: string | undefined;
  readonly daemon?: string | undefined;
  readonly feature?: string | null | undefined;
}): string => [of.feature ?? unnamed(of.daemon), of.server, of.daemon].join(" ");

/** Links to a feature, with server and daemon, because two daemons may have features of the same name. */
export function FeatureLink(props: {
  readonly server?: string | undefined;
  readonly daemon?: string | undefined;
  readonly feature?: string | null | undefined;
  readonly unit?: Unit;
  readonly quiet?: boolean;
}) {
  const { server = "", daemon = "", feature, unit = "seats" } = props;
  return (
    <>
      {feature == null ? (
        unnamed(daemon)
      ) : (
        <a href={linkTo("feature", { server, daemon, name: feature })}>{feature}</a>
      )}
      {unit !== "seats" && <span class="q"> {unit}</span>}
      {props.quiet !== true && <span class="q"> {feature == null ? server : `${server} ${daemon}`}</span>}
    </>
  );
}

export function Facts({ of }: Readonly<{ of: readonly (readonly [string, ComponentChildren])[] }>) {
  return (
    <dl class="figures">
      {of.map(([word, value]) => (
        <div key={word}>
          <dt>{word}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
