import { signal } from "@preact/signals";
import type { AlertRecord } from "../../domain/alerts.ts";
import { post } from "../api.ts";
import { daily } from "../daily/words.ts";
import { moment } from "../format.ts";
import { put } from "../live/alerts.ts";
import { now } from "../live/live.ts";
import { FormDialog, tell } from "./dialog.tsx";

interface Asked {
  readonly alert: AlertRecord;
  readonly action: "acknowledge" | "silence";
}
const asked = signal<Asked | null>(null);
/** Hours, or `at` = the time that the field says. */
const span = signal<string>("4");
const field = signal<string>("");

/** Opens the form; what comes of it is told. */
export function ask(what: Asked): void {
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

const HOUR_MS = 3_600_000;

/** Epoch ms; null where the field holds no time. */
function untilOf(): number | null {
  const at = span.value === "at" ? Date.parse(field.value) : now.value + Number(span.value) * HOUR_MS;
  return Number.isNaN(at) ? null : at;
}

/** Acknowledges or silences an alert, with a comment; the button that does it names the alert. */
export function AlertDialog() {
  if (asked.value === null) return null;
  const { alert, action } = asked.value;
  const target = targetOf(alert);
  const isSilence = action === "silence";
  const until = isSilence ? untilOf() : null;

  const act = async (form: FormData) => {
    const comment = String(form.get("comment")).trim();
    const end = until === null ? {} : { until: new Date(until).toISOString() };
    const body = comment === "" ? end : { ...end, comment };
    put(await post(`/api/licenses/alerts/${alert.id}/${action}`, body));
    tell(until === null ? daily.acknowledged(target) : daily.silenced(target, moment(until, now.value)));
    return true;
  };

  const button = isSilence
    ? daily.silenceThis(target, until === null ? "…" : moment(until, now.value))
    : daily.acknowledgeThis(target);
  return (
    <FormDialog
      title={alert.message}
      button={button}
      disabled={isSilence && until === null}
      act={act}
      leave={leave}
    >
      <p class="q">{isSilence ? daily.silenceMeans : daily.acknowledgeMeans}</p>
      {isSilence && <Until />}
      <label>
        {daily.comment}
        <textarea name="comment" rows={2} maxLength={1000} />
      </label>
    </FormDialog>
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
