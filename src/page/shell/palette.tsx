import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SiteRecord } from "../../domain/service/sites.ts";
import { capital } from "../format.ts";
import { IS_FLEET, IS_HUB } from "../here.ts";
import { readSites } from "../live/hub.ts";
import { site } from "../live/live.ts";
import { Icon } from "../parts/marks.tsx";
import { useSettled } from "../parts/search-field.tsx";
import { go } from "../router.ts";
import { overlay, setSingleKeys, singleKeys } from "./actions.ts";
import { entriesOf, fleetEntries, fleetServers, siteEntries } from "./entries.ts";
import { show } from "./header.tsx";
import { PLACES } from "./places.ts";
import { type Entry, ranked } from "./rank.ts";

/** Finds features, servers, people, hosts, pages and sites by part of their name; or only sites. */
export function Palette() {
  const isOfSites = overlay.value === "sites";
  const [sites, setSites] = useState<readonly SiteRecord[]>([]);
  const [fleet, setFleet] = useState<readonly Entry[]>([]);
  useEffect(() => {
    if (IS_HUB) readSites().then(setSites, () => {});
    if (IS_FLEET && !isOfSites) fleetServers().then(setFleet, () => {});
  }, []);
  const box = useRef<HTMLDialogElement>(null);
  const [search, setSearch] = useState("");
  const [chosen, choose] = useState(0);
  const settled = useSettled(search.trim());
  const [ofFleet, setOfFleet] = useState<readonly Entry[]>([]);
  useEffect(() => {
    if (!IS_FLEET || isOfSites || settled === "") return;
    const end = new AbortController();
    fleetEntries(settled, end.signal).then(setOfFleet, () => {});
    return () => end.abort();
  }, [settled]);
  const servers = site.value ?? new Map<string, never>();
  const entries = useMemo(() => {
    const others = IS_HUB ? siteEntries(sites) : [];
    return isOfSites ? others : [...entriesOf(servers), ...fleet, ...ofFleet, ...others];
  }, [servers, sites, isOfSites, fleet, ofFleet]);
  const found = isOfSites && search.trim() === "" ? entries : ranked(entries, search);
  const at = Math.min(chosen, found.length - 1);
  const label = isOfSites ? "Search sites" : "Search features, people, hosts";
  // Move the focus here before the next key press, which would otherwise act as a single key.
  useLayoutEffect(() => box.current?.showModal(), []);
  useEffect(() => document.getElementById(`entry-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);

  const take = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    box.current?.close();
    if (entry.act !== undefined) entry.act();
    else {
      go(entry.href ?? "./");
      document.getElementById("main")?.focus({ preventScroll: true });
    }
  };
  const press = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) choose((at + by + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") take(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={box} class="over" aria-label={label} onClose={() => overlay.value !== "keys" && show(null)}>
      <div class="find">
        <Icon name="find" size={16} />
        <input
          type="text"
          role="combobox"
          aria-label={label}
          aria-expanded={found.length > 0}
          aria-controls="entries"
          aria-autocomplete="list"
          {...(at >= 0 && { "aria-activedescendant": `entry-${at}` })}
          placeholder={isOfSites ? label : "Feature, person, host, server, page or action"}
          maxLength={200}
          autocomplete="off"
          spellcheck={false}
          value={search}
          onKeyDown={press}
          onInput={({ currentTarget }) => {
            setSearch(currentTarget.value);
            choose(0);
          }}
        />
      </div>
      <div id="entries" role="listbox" aria-label={label}>
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: The field has the focus and takes the keys.
          <div
            key={entry.id}
            id={`entry-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => take(entry)}
            onPointerMove={() => choose(index)}
          >
            <bdi class="el">{entry.name}</bdi>
            <bdi class="q el">{entry.detail}</bdi>
            <span class="q">{capital(entry.kind)}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="q none">Nothing matches.</p>}
    </dialog>
  );
}

const KEYS = [
  ["Ctrl K", "Search everything"],
  ["/", "Search this list, or everything"],
  ["↓ ↑ j k", "Next or previous row"],
  ["Enter", "Open"],
  ["Esc", "Leave a field, close"],
  ["[ ]", "Shorter or longer range"],
  ["t", "Theme: system, light, dark"],
  ["?", "This list"],
] as const;

export function KeyList() {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => box.current?.showModal(), []);
  const places = PLACES.map(({ word, letter }) => [`g ${letter}`, word] as const);
  return (
    <dialog
      ref={box}
      class="over keys"
      aria-labelledby="keys-head"
      onClose={() => {
        if (overlay.value === "keys") overlay.value = null;
      }}
    >
      <h2 id="keys-head">Keys</h2>
      <label class="tick">
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={({ currentTarget }) => setSingleKeys(currentTarget.checked)}
        />
        Enable single keys (Ctrl K always works)
      </label>
      <dl>
        {[...KEYS, ...places].map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button class="btn" type="button" onClick={() => box.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
