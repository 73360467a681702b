import { useLayoutEffect, useRef } from "preact/hooks";
import { overlay, setSingleKeys, singleKeys } from "./actions.ts";
import { PLACES } from "./places.ts";

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
