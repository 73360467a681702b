import { type ComponentChildren, Fragment } from "preact";
import type { Place } from "../model.ts";
import { hrefOf } from "../router.ts";

export function Section(props: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly more?: readonly [word: string, to: Place] | false;
  readonly children?: ComponentChildren;
}) {
  const { title, note, more = false } = props;
  return (
    <section class="sec">
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span class="q">{note}</span>}
        {more !== false && (
          <a class="more" href={hrefOf(more[1])}>
            {more[0]}
          </a>
        )}
      </header>
      {props.children}
    </section>
  );
}

export function Head(props: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly class?: string | undefined;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class={`h ${props.class ?? ""}`}>
      <h2>{props.title}</h2>
      {props.note !== undefined && <span class="q">{props.note}</span>}
      {props.children}
    </div>
  );
}

/** Head of a page about one subject: the path to it, its name, and actions. */
export function Crumbs(props: {
  readonly path: readonly ComponentChildren[];
  readonly name: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="crumbs">
      <ol>
        {props.path.map((step, at) => (
          <Fragment key={at}>
            <li>{step}</li>
            <li aria-hidden="true">›</li>
          </Fragment>
        ))}
      </ol>
      <h1>{props.name}</h1>
      {props.children !== undefined && <div class="acts">{props.children}</div>}
    </div>
  );
}

export function NotFound(props: {
  readonly name: string;
  readonly message: string;
  readonly list: readonly [word: string, href: string];
}) {
  const [word, href] = props.list;
  return (
    <div class="empty">
      <h1>{props.name}</h1>
      <p>{props.message}</p>
      <a class="btn" href={href}>
        {word}
      </a>
    </div>
  );
}
