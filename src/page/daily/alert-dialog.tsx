import { useState } from "preact/hooks";
import { post } from "../api.ts";
import { moment } from "../format.ts";
import { type Asked, asked, put, type SitesAlert } from "../live/alerts.ts";
import { now } from "../live/live.ts";
import { FormDialog, tell } from "../parts/dialog.tsx";

export function targetOf({ feature, daemon, server, site, rule }: SitesAlert): string {
  const subject = feature ?? daemon;
  if (subject !== null && server !== null) return `${subject} (${server})`;
  return subject ?? server ?? [rule.replaceAll("_", " "), site].filter(Boolean).join(" ");
}

const HOUR_MS = 3_600_000;
const SPANS = { 1: "1 hour", 4: "4 hours", 24: "1 day", 72: "3 days", 168: "1 week", 720: "30 days" };
const AT = "at";

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
    tell(isSilence ? `Silenced until ${at}: ${target}.` : `Acknowledged: ${target}.`);
    return true;
  };
  return (
    <FormDialog
      title={alert.message}
      button={isSilence ? `Silence ${target} until ${at}` : `Acknowledge ${target}`}
      disabled={isSilence && Number.isNaN(until)}
      act={act}
      leave={() => {
        asked.value = null;
      }}
    >
      <p class="q">
        {isSilence
          ? "No notifications about this problem until then, even if it ends and returns."
          : "No more reminders. A higher severity and the end are still notified."}
      </p>
      {isSilence && (
        <label>
          Until
          <select value={hours} onChange={({ currentTarget }) => setHours(currentTarget.value)}>
            {Object.entries(SPANS).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
            <option value={AT}>another time</option>
          </select>
        </label>
      )}
      {isSilence && hours === AT && (
        <label>
          Until when
          <input
            type="datetime-local"
            required
            value={time}
            onInput={({ currentTarget }) => setTime(currentTarget.value)}
          />
        </label>
      )}
      <label>
        Comment (optional)
        <textarea name="comment" rows={2} maxLength={1000} />
      </label>
    </FormDialog>
  );
}
