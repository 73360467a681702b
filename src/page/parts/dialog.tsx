import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Refusal } from "../api.ts";
import { UNREACHABLE } from "../words.ts";

const outcome = signal("");

export function tell(words: string): void {
  outcome.value = words;
}

export function Outcome() {
  useEffect(() => () => tell(""), []);
  return (
    <p class="outcome" role="status">
      {outcome.value}
    </p>
  );
}

export function problemOf(error: unknown): string {
  if (!(error instanceof Refusal)) return UNREACHABLE;
  return error.details === null ? error.message : `${error.message}\n${error.details}`;
}

export function ActButton({ word, act }: Readonly<{ word: string; act: () => Promise<string> }>) {
  const isBusy = useSignal(false);
  const click = async () => {
    isBusy.value = true;
    tell(await act().catch(problemOf));
    isBusy.value = false;
  };
  return (
    <button class="btn" type="button" disabled={isBusy.value} onClick={() => void click()}>
      {word}
    </button>
  );
}

/**
 * A dialog with a form, open while mounted. `button` is the label of the button; null when nothing is left
 * to do.
 */
export function FormDialog(props: {
  readonly title: string;
  readonly button: string | null;
  readonly disabled?: boolean;
  /** Runs the action. Returns true if the dialog can close. Errors are shown. */
  readonly act?: (form: FormData) => Promise<boolean>;
  readonly leave: () => void;
  readonly children?: ComponentChildren;
}) {
  const { title, button, act, leave } = props;
  const box = useRef<HTMLDialogElement>(null);
  const problem = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  useLayoutEffect(() => box.current?.showModal(), []);

  const submit = async (form: FormData) => {
    isBusy.value = true;
    problem.value = null;
    try {
      if ((await act?.(form)) !== true) return;
      box.current?.close();
      document.getElementById("main")?.focus({ preventScroll: true });
    } catch (error) {
      problem.value = problemOf(error);
    } finally {
      isBusy.value = false;
    }
  };

  return (
    <dialog ref={box} class="ask" aria-labelledby="ask-what" onClose={leave}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(new FormData(event.currentTarget));
        }}
      >
        <h2 id="ask-what">{title}</h2>
        {props.children}
        <p class="st-crit problem" role="alert">
          {problem.value}
        </p>
        <div class="acts">
          <button class="btn" type="button" onClick={() => box.current?.close()}>
            {button === null ? "Close" : "Cancel"}
          </button>
          {button !== null && (
            <button class="btn pri" type="submit" disabled={isBusy.value || props.disabled === true}>
              {button}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
