import { useLayoutEffect, useRef } from "preact/hooks";
import { words } from "../words-pages.ts";
import { overlay, setSingleKeys, singleKeys } from "./actions.ts";
import { PLACES } from "./places.ts";

/** Lists all keys of the page, with the switch for single keys. */
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
      <h2 id="keys-head">{words.keysHead}</h2>
      <label class="tick">
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={({ currentTarget }) => setSingleKeys(currentTarget.checked)}
        />
        {words.singleKeys}
      </label>
      <dl>
        {[...words.keyList, ...places].map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button class="btn" type="button" onClick={() => box.current?.close()}>
        {words.close}
      </button>
    </dialog>
  );
}
