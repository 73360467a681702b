import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { AlertRecord } from "../../domain/alerts.ts";
import { post, Refusal } from "../api.ts";
import { daily } from "../daily/words.ts";
import { moment } from "../format.ts";
import { put } from "../live/alerts.ts";
import { now } from "../live/live.ts";
import { words } from "../words.ts";

interface Asked {
  readonly alert: AlertRecord;
  readonly action: "acknowledge" | "silence";
}
const asked = signal<Asked | null>(null);
const outcome = signal<string>("");
/** Hours, or `at` = the time that the field says. */
const span = signal<string>("4");
const field = signal<string>("");
const problem = signal<string | null>(null);
const isBusy = signal(false);

/** Opens the form; what comes of it is told by {@link Outcome}. */
export function ask(what: Asked): void {
  problem.value = null;
  asked.value = what;
}

function leave(): void {
  asked.value = null;
}

/** What an alert is about, for the one who acts on it. */
export function targetOf({ feature, daemon, server, rule }: AlertRecord): string {
  const subject = feature ?? daemon;
  if (subject !== null && server !== null) return `${subject} (${server})`;
  return subject ?? server ?? rule.replaceAll("_", " ");
}

const tell = (words: string) => {
  outcome.value = words;
};

/** The outcome of the last action of this tab, and of it alone. */
export function Outcome() {
  useEffect(() => () => tell(""), []);
  return (
    <p class="outcome" role="status">
      {outcome.value}
    </p>
  );
}

const HOUR_MS = 3_600_000;

/** Epoch ms; null where the field holds no time. */
function untilOf(): number | null {
  const at = span.value === "at" ? Date.parse(field.value) : now.value + Number(span.value) * HOUR_MS;
  return Number.isNaN(at) ? null : at;
}

/** Acknowledges or silences an alert, with a comment; the button that does it names the alert. */
export function AlertDialog() {
  const box = useRef<HTMLDialogElement>(null);
  const what = asked.value;
  useEffect(() => {
    if (what !== null) box.current?.showModal();
    else if (box.current?.open) box.current.close();
  }, [what]);
  const until = untilOf();

  const act = async (form: HTMLFormElement) => {
    if (what === null || (what.action === "silence" && until === null)) return;
    const { alert, action } = what;
    const comment = String(new FormData(form).get("comment")).trim();
    const end = action === "silence" && until !== null ? { until: new Date(until).toISOString() } : {};
    const body = comment === "" ? end : { ...end, comment };
    isBusy.value = true;
    problem.value = null;
    try {
      put(await post(`/api/licenses/alerts/${alert.id}/${action}`, body));
      const target = targetOf(alert);
      tell(
        until === null || action === "acknowledge"
          ? daily.acknowledged(target)
          : daily.silenced(target, moment(until, now.value)),
      );
      leave();
      document.getElementById("main")?.focus({ preventScroll: true });
    } catch (error) {
      problem.value = error instanceof Refusal ? error.message : words.unreachable;
    } finally {
      isBusy.value = false;
    }
  };

  if (what === null) return null;
  const target = targetOf(what.alert);
  const isSilence = what.action === "silence";
  const button = isSilence
    ? daily.silenceThis(target, until === null ? "…" : moment(until, now.value))
    : daily.acknowledgeThis(target);
  return (
    <dialog ref={box} class="ask" aria-labelledby="ask-what" onClose={leave}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void act(event.currentTarget);
        }}
      >
        <h2 id="ask-what">{what.alert.message}</h2>
        <p class="q">{isSilence ? daily.silenceMeans : daily.acknowledgeMeans}</p>
        {isSilence && <Until />}
        <label>
          {daily.comment}
          <textarea name="comment" rows={2} maxLength={1000} />
        </label>
        <p class="st-crit problem" role="alert">
          {problem.value}
        </p>
        <div class="acts">
          <button class="btn" type="button" onClick={() => box.current?.close()}>
            {daily.cancel}
          </button>
          <button class="btn pri" type="submit" disabled={isBusy.value || (isSilence && until === null)}>
            {button}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function Until() {
  return (
    <>
      <label>
        {daily.until}
        <select
          value={span.value}
          onChange={(event) => {
            span.value = event.currentTarget.value;
          }}
        >
          {Object.entries(daily.spans).map(([hours, word]) => (
            <option key={hours} value={hours}>
              {word}
            </option>
          ))}
          <option value="at">{daily.another}</option>
        </select>
      </label>
      {span.value === "at" && (
        <label>
          {daily.untilWhen}
          <input
            type="datetime-local"
            required
            value={field.value}
            onInput={(event) => {
              field.value = event.currentTarget.value;
            }}
          />
        </label>
      )}
    </>
  );
}
