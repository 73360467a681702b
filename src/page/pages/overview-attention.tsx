import { ask } from "../daily/alert-dialog.tsx";
import { type Trouble, troublesOf } from "../daily/attention.ts";
import { daily } from "../daily/words.ts";
import { duration, number } from "../format.ts";
import { IS_FLEET } from "../here.ts";
import { firing, isUnhandled } from "../live/alerts.ts";
import { now } from "../live/live.ts";
import { may } from "../me.ts";
import type { Site } from "../model.ts";
import { State } from "../parts/marks.tsx";
import { Section } from "../parts/section.tsx";
import { hrefOf, siteOf } from "../router.ts";
import { words } from "../words.ts";

/** A count that says something unless it is 0. */
export const coloured = (colour: string) => (count: number) =>
  count === 0 ? "0" : <span class={colour}>{number(count)}</span>;

const MOST_TROUBLES = IS_FLEET ? 8 : 20;

/** What a person should look at. Of a fleet only its newest alerts are known, of `open` ones. */
export function Attention({ servers, open }: { readonly servers: Site; readonly open?: number }) {
  const alerts = [...(firing.value?.values() ?? [])];
  const troubles = troublesOf(servers, alerts, now.value);
  const handled = alerts.filter((alert) => !isUnhandled(alert, now.value)).length;
  // Not all of a fleet's were read; those that were are told together where they expire together.
  const count = open === undefined || open <= alerts.length ? troubles.length : open;
  const shown = troubles.slice(0, MOST_TROUBLES);
  return (
    <Section
      title={daily.attention}
      note={troubles.length > 0 && daily.firstOf(shown.length, count)}
      more={[daily.allAlerts, { path: "alerts" }]}
    >
      {firing.value === null && <p class="st-warn">{daily.alertsUnknown}</p>}
      {firing.value !== null && troubles.length === 0 && <State is="ok">{daily.nothing}</State>}
      <ul class="rows need">
        {shown.map((trouble) => (
          <Row key={trouble.id} trouble={trouble} />
        ))}
      </ul>
      {handled > 0 && <p class="q note">{daily.handled(handled)}</p>}
    </Section>
  );
}

function Row({ trouble }: { readonly trouble: Trouble }) {
  const { mark, subject, to, text, since, days, alert } = trouble;
  return (
    <li>
      <State is={mark}>{daily.marks[mark]}</State>
      <span class="el">
        {to === null ? <b>{subject}</b> : <a href={hrefOf(to)}>{subject}</a>} {text}
        {IS_FLEET && alert?.server && <span class="q"> {siteOf(alert.server)}</span>}
      </span>
      <span class="q r">
        {days !== null ? words.inDays(days) : since !== null && duration(now.value - since)}
      </span>
      {may("acknowledge") && (
        <span class="ack">
          {alert !== null && (
            <button class="link" type="button" onClick={() => ask({ alert, action: "acknowledge" })}>
              {daily.ack}
              <span class="vh"> {`${subject} ${text}`}</span>
            </button>
          )}
        </span>
      )}
    </li>
  );
}
