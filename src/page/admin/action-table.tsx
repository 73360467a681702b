import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Answers, me, type Query, remove } from "../api.ts";
import { FormDialog, tell } from "../parts/dialog.tsx";
import { Figure } from "../parts/figure.tsx";
import { type Column, Rows } from "../parts/rows.tsx";
import { confirmOf } from "./forms.ts";

export const changed = signal(0);

export function ActionTable<P extends keyof Answers, T>(props: {
  readonly title: string;
  readonly path: P;
  readonly query?: Query;
  readonly csv?: boolean;
  readonly aside?: ComponentChildren;
  readonly rows: (answer: Answers[P]) => readonly T[];
  readonly columns: readonly Column<T>[];
  readonly word: string;
  readonly target: (row: T) => string;
  /** Text shown in place of the button when there is nothing to do. */
  readonly instead?: (row: T) => string | false;
  readonly dialog: (row: T, leave: () => void) => ComponentChildren;
}) {
  const { title, path, query = {}, csv = true, aside, word, target, instead } = props;
  const [asked, ask] = useState<{ readonly row: T } | null>(null);
  const action: Column<T> = {
    head: "Action",
    right: true,
    by: null,
    cell(row) {
      const text = instead?.(row) ?? false;
      if (text !== false) return <span class="q">{text}</span>;
      return (
        <button class="link" type="button" onClick={() => ask({ row })}>
          {word}
          <span class="vh"> {target(row)}</span>
        </button>
      );
    },
  };
  return (
    <>
      <Figure title={title} path={path} query={query} csv={csv} version={changed.value} aside={aside}>
        {(answer) => (
          <Rows
            label={title}
            rows={props.rows(answer)}
            columns={[...props.columns, action]}
            {...(answer !== null && "total" in answer && { total: answer.total })}
          />
        )}
      </Figure>
      {asked !== null && props.dialog(asked.row, () => ask(null))}
    </>
  );
}

/** Asks a signed-in browser for its key again before keys are created or revoked. */
export function ConfirmKey() {
  if (!me.value?.signIn) return null;
  return (
    <label>
      Your own key, to confirm
      <input
        name="confirm"
        type="password"
        required
        autocomplete="current-password"
        placeholder="lmk_…"
        spellcheck={false}
      />
    </label>
  );
}

export function EndDialog(props: {
  readonly path: Parameters<typeof remove>[0];
  readonly does: string;
  readonly done: string;
  readonly means: string;
  readonly leave: () => void;
  readonly children?: ComponentChildren;
}) {
  const { path, does, done, leave } = props;
  const act = async (form: FormData) => {
    await remove(path, confirmOf(form));
    tell(done);
    changed.value++;
    return true;
  };
  return (
    <FormDialog title={`${does}?`} button={does} act={act} leave={leave}>
      <p>{props.means}</p>
      {props.children}
    </FormDialog>
  );
}
