import type { FeatureRow } from "../model.ts";
import { Icon } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words.ts";
import { cameFree, canNotify, unwatch, watch, watched } from "./watch.ts";

/** Tells when a seat is free; says how, as that depends on the browser. */
export function WatchButton({ row: { id, free, feature } }: { readonly row: FeatureRow }) {
  const isOn = watched.value.includes(id);
  if (!isOn && (free !== 0 || feature.state !== "ok")) return null;
  return (
    <>
      {isOn && <span class="q how">{canNotify() ? words.willNotify : words.willRing}</span>}
      <button
        class="btn"
        type="button"
        aria-pressed={isOn}
        onClick={() => (isOn ? unwatch(id) : void watch(id))}
      >
        {words.tellMe}
      </button>
    </>
  );
}

/** On every page, until it is dismissed. */
export function FreeNote() {
  const row = cameFree.value;
  if (row === null) return null;
  const { daemon, name } = row.feature;
  const dismiss = () => {
    cameFree.value = null;
  };
  return (
    <div class="bar-note" role="status">
      <Icon name="ok" />
      <a href={linkTo("feature", { server: row.server.id, daemon, name })} onClick={dismiss}>
        <b class="el">{words.isFree(name)}</b>
      </a>
      <span>{words.freeSeats(row.free ?? 0)}</span>
      <button class="btn s" type="button" onClick={dismiss}>
        {words.close}
      </button>
    </div>
  );
}
