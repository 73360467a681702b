import { useSignal } from "@preact/signals";
import { words } from "../words.ts";

/** Copies the address. Plain HTTP gives no clipboard: there the address is shown, selected. */
export function CopyLink() {
  const state = useSignal<"idle" | "copied" | "shown">("idle");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      state.value = "copied";
    } catch {
      state.value = "shown";
    }
  };
  if (state.value === "shown")
    return (
      <input
        class="address"
        readonly
        aria-label={words.copyLink}
        value={location.href}
        ref={(field) => field?.select()}
      />
    );
  return (
    <button class="btn" type="button" onClick={() => void copy()}>
      <span aria-live="polite">{state.value === "copied" ? words.copied : words.copyLink}</span>
    </button>
  );
}
