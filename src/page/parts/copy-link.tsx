import { useState } from "preact/hooks";

/** Copies a text. Plain HTTP has no clipboard: there the text is shown, selected. */
export function Copy(props: {
  readonly text: () => string;
  readonly label: string;
  readonly class?: string;
}) {
  const [state, setState] = useState<"idle" | "copied" | "shown">("idle");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text());
      setState("copied");
    } catch {
      setState("shown");
    }
  };
  if (state === "shown")
    return (
      <input
        class="address"
        readonly
        aria-label={props.label}
        value={props.text()}
        ref={(field) => field?.select()}
        onBlur={() => setState("idle")}
      />
    );
  return (
    <button class={props.class ?? "btn"} type="button" onClick={() => void copy()}>
      <span aria-live="polite">{state === "copied" ? "Copied" : props.label}</span>
    </button>
  );
}

export const CopyLink = () => <Copy text={() => location.href} label="Copy link" />;
