import type { ComponentChildren } from "preact";
import type { Unit } from "../../domain/words.ts";
import { duration, number } from "../format.ts";
import { linkTo } from "../router.ts";
import { Unknown } from "./marks.tsx";

export function Known(props: {
  readonly value: number | null;
  readonly as?: ((value: number) => ComponentChildren) | undefined;
}): ComponentChildren {
  const { value, as = number } = props;
  return value === null ? <Unknown /> : as(value);
}

export const asPercent = (value: number): string => `${number(Math.floor(value))} %`;
/** Formats a percentage; a small one is not 0. */
export const asShare = (percent: number): string =>
  percent > 0 && percent < 1 ? "<1 %" : `${number(Math.round(percent))} %`;
export const asDuration = (seconds: number): string => duration(1000 * seconds);

/** Links to a person; some keys do not see names. */
export function Person({ user }: { readonly user: string | null }): ComponentChildren {
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

/** Links to a feature, with server and daemon: two daemons may have features of one name. */
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

export function Facts({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
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
