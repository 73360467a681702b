import type { ComponentChildren } from "preact";
import type { FeatureRow } from "../model.ts";
import { Icon, type Mark } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { amount } from "../words.ts";
import { cameFree, canNotify, unwatch, watch, watched } from "./watch.ts";

/** Notifies when a seat is free; explains how, which depends on the browser. */
export function WatchButton({ row: { id, free, feature } }: { readonly row: FeatureRow }) {
  const isOn = watched.value.includes(id);
  if (!isOn && (free !== 0 || feature.state !== "ok")) return null;
  return (
    <>
      {isOn && (
        <span class="q how">
          {canNotify()
            ? "You get a notification while a tab of licmond is open."
            : "This tab plays a sound and changes its title."}
        </span>
      )}
      <button
        class="btn"
        type="button"
        aria-pressed={isOn}
        onClick={() => (isOn ? unwatch(id) : void watch(id))}
      >
        Tell me when free
      </button>
    </>
  );
}

/** A line below the header. */
export function Note(props: {
  readonly icon: Mark;
  readonly button?: string;
  readonly act?: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="bar-note" role="status" style={{ "--mark": `var(--${props.icon}-mark)` }}>
      <Icon name={props.icon} />
      {props.children}
      {props.button !== undefined && (
        <button class="btn s" type="button" onClick={props.act}>
          {props.button}
        </button>
      )}
    </div>
  );
}

/** Shown on every page until dismissed. */
export function FreeNote() {
  const row = cameFree.value;
  if (row === null) return null;
  const { daemon, name } = row.feature;
  const dismiss = () => {
    cameFree.value = null;
  };
  return (
    <Note icon="ok" button="Close" act={dismiss}>
      <a href={linkTo("feature", { server: row.server.id, daemon, name })} onClick={dismiss}>
        <b class="el">{`${name} is free`}</b>
      </a>
      <span>{amount(row.free ?? 0, row.feature.unit)}</span>
    </Note>
  );
}
