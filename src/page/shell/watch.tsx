import { effect, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { SITE } from "../here.ts";
import { site } from "../live/live.ts";
import { type FeatureRow, featuresOf } from "../model.ts";
import { Icon, type Mark } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { keep, kept } from "../storage.ts";
import { amount } from "../words.ts";

/**
 * Name under which this browser stores the ids of watched features, one per line. A watch ends with its
 * first notification.
 */
const NAME = SITE === null ? "watches" : `watches-${SITE}`;
const idsKept = () => (kept(NAME) ?? "").split("\n").filter(Boolean);
export const watched = signal<readonly string[]>(idsKept());
export const cameFree = signal<FeatureRow | null>(null);

let sound: AudioContext | null = null;

/** Browsers allow notifications only in secure contexts; others get a title and a sound. */
export const canNotify = () =>
  globalThis.isSecureContext && "Notification" in globalThis && Notification.permission === "granted";

const save = (ids: readonly string[]) => {
  watched.value = ids;
  keep(NAME, ids.join("\n") || null);
};

/** Watches a feature. Must be called by a click, which browsers require for notifications and sound. */
export async function watch(id: string): Promise<void> {
  save([...watched.peek().filter((each) => each !== id), id]);
  sound ??= new AudioContext();
  if (globalThis.isSecureContext && "Notification" in globalThis && Notification.permission === "default")
    await Notification.requestPermission();
  // Update the label, which depends on the answer.
  watched.value = [...watched.peek()];
}

export const unwatch = (id: string) => save(watched.peek().filter((each) => each !== id));

function beep(): void {
  if (sound === null || sound.state !== "running") return;
  const [tone, volume] = [sound.createOscillator(), sound.createGain()];
  volume.gain.value = 0.1;
  tone.connect(volume).connect(sound.destination);
  tone.frequency.setValueAtTime(660, sound.currentTime);
  tone.frequency.setValueAtTime(880, sound.currentTime + 0.15);
  tone.start();
  tone.stop(sound.currentTime + 0.35);
}

function tell(row: FeatureRow): void {
  unwatch(row.id);
  cameFree.value = row;
  beep();
  if (!canNotify()) return;
  const { daemon, name, unit } = row.feature;
  const note = new Notification(`${name} is free`, { body: amount(row.free ?? 0, unit), tag: row.id });
  note.onclick = () => {
    focus();
    location.assign(linkTo("feature", { server: row.server.id, daemon, name }));
  };
}

/** Notifies once for each watched feature that has a free seat according to fresh numbers. */
export function startWatching(): void {
  effect(() => {
    if (watched.value.length === 0 || site.value === null) return;
    const ids = new Set(watched.value);
    for (const server of site.value.values())
      for (const row of featuresOf(server))
        if (ids.has(row.id) && (row.free ?? 0) > 0 && row.feature.state === "ok") tell(row);
  });
  addEventListener("storage", ({ key }) => {
    if (key === `licmond-${NAME}`) watched.value = idsKept();
  });
}

/** A button that watches a feature until a seat is free. Explains how it notifies, which depends on the browser. */
export function WatchButton({ row: { id, free, feature } }: Readonly<{ row: FeatureRow }>) {
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
