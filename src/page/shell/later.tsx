import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

/** A component in a separate file, which is loaded by `load` or when the component is shown. */
export function later<Props extends object = object>(fetchPage: () => Promise<ComponentType<Props>>) {
  const loaded = signal<{ readonly Shown: ComponentType<Props> } | "failed" | null>(null);
  let isAsked = false;

  async function load(): Promise<void> {
    if (isAsked) return;
    isAsked = true;
    loaded.value = await fetchPage().then(
      (Shown) => ({ Shown }),
      () => "failed" as const,
    );
  }

  function Later(props: Props) {
    void load();
    const { value } = loaded;
    if (value === null)
      return (
        <p class="empty q" role="status">
          Loading …
        </p>
      );
    if (value !== "failed") return <value.Shown {...props} />;
    // The file could not be loaded, or is gone after an upgrade. Browsers remember the failure until a reload.
    return (
      <div class="empty" role="alert">
        <p>This part of the page cannot be loaded.</p>
        <button class="btn" type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    );
  }
  return Object.assign(Later, { load });
}
