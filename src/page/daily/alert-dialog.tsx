import { useState } from "preact/hooks";
import { post } from "../api.ts";
import { moment } from "../format.ts";
import { put, type SitesAlert } from "../live/alerts.ts";
import { now } from "../live/live.ts";
import { FormDialog, tell } from "../parts/dialog.tsx";
import { type Asked, asked } from "./asked.ts";
import { daily } from "./words-pages.ts";

/** Returns the subject of an alert for its dialog. */
export function targetOf({ feature, daemon, server, site, rule }: SitesAlert): string {
  const subject = feature ?? daemon;
  if (subject !== null && server !== null) return `${subject} (${server})`;
  return subject ?? server ?? [rule.replaceAll("_", " "), site].filter(Boolean).join(" ");
}

const HOUR_MS = 3_600_000;
/** This choice uses the time in the next field. */
const AT = "at";

/** Acknowledges or silences an alert, with a comment. The button names the alert. */
export function AlertDialog({ alert, action }: Asked) {
  const [hours, setHours] = useState("4");
  const [time, setTime] = useState("");
  const isSilence = action === "silence";
  const until = hours === AT ? Date.parse(time) : now.value + Number(hours) * HOUR_MS;
  const target = targetOf(alert);
  const at = Number.isNaN(until) ? "…" : moment(until, now.value);
  const act = async (form: FormData) => {
    const comment = String(form.get("comment")).trim();
    const body = {
      ...(isSilence && { until: new Date(until).toISOString() }),
      ...(comment !== "" && { comment }),
    };
    put(await post(`/api/licenses/alerts/${alert.id}/${action}`, body));
    tell(isSilence ? daily.silenced(target, at) : daily.acknowledged(target));
    return true;
  };
  return (
    <FormDialog
      title={alert.message}
      button={isSilence ? daily.silenceThis(target, at) : daily.acknowledgeThis(target)}
      disabled={isSilence && Number.isNaN(until)}
      act={act}
      leave={() => {
        asked.value = null;
      }}
    >
      <p class="q">{isSilence ? daily.silenceMeans : daily.acknowledgeMeans}</p>
      {isSilence && (
        <label>
          {daily.until}
          <select value={hours} onChange={({ currentTarget }) => setHours(currentTarget.value)}>
            {Object.entries(daily.spans).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
            <option value={AT}>{daily.another}</option>
          </select>
        </label>
      )}
      {isSilence && hours === AT && (
        <label>
          {daily.untilWhen}
          <input
            type="datetime-local"
            required
            value={time}
            onInput={({ currentTarget }) => setTime(currentTarget.value)}
          />
        </label>
      )}
      <label>
        {daily.comment}
        <textarea name="comment" rows={2} maxLength={1000} />
      </label>
    </FormDialog>
  );
}
