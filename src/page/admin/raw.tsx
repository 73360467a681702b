import { useState } from "preact/hooks";
import { moment } from "../format.ts";
import { atHub } from "../here.ts";
import { now } from "../live/live.ts";
import { may, me } from "../me.ts";
import { Figure } from "../parts/figure.tsx";
import { Rows } from "../parts/rows.tsx";
import { admin } from "./words.ts";

/** Output of a program, in a scrollable box. */
export function Output({ label, text }: { readonly label: string; readonly text: string }) {
  if (text === "") return <p class="q">{admin.nothingSaid}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <pre class="output m" tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  );
}

/** The tool's output in the last poll of a server, with unread lines marked. Loaded when opened. */
export function Raw({ id }: { readonly id: string }) {
  const [isOpen, setOpen] = useState(false);
  if (me.value === null) return null;
  if (!may("raw")) return <p class="q role needs">{admin.rawNeeds}</p>;
  return (
    <details class="raw" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{admin.raw}</summary>
      {isOpen && <Read id={id} />}
    </details>
  );
}

function Read({ id }: { readonly id: string }) {
  return (
    <Figure
      title={admin.wasRun}
      path={`/api/licenses/servers/${encodeURIComponent(atHub(id))}/raw`}
      query={{}}
      csv={false}
      note={({ polledAt, exitCode, signal }) =>
        polledAt !== null && `${moment(Date.parse(polledAt), now.value)}, ${admin.exit(exitCode, signal)}`
      }
    >
      {({ argv, stdout, stderr, truncated, unparsed, unparsedLines }) =>
        argv === null ? (
          <p class="q">{admin.neverPolled}</p>
        ) : (
          <>
            <p class="m file">{argv.join(" ")}</p>
            {truncated === true && <p class="n-warn">{admin.rawCut}</p>}
            <h2>{admin.unknownLines}</h2>
            <Rows
              label={admin.unknownLines}
              none={unparsedLines === 0 ? admin.noUnknown : ""}
              rows={unparsed}
              columns={[
                { head: admin.line, value: ({ line }) => line },
                {
                  head: admin.message,
                  by: ({ text }) => text,
                  cell: ({ text }) => <code class="m">{text}</code>,
                },
              ]}
            />
            {unparsedLines > unparsed.length && (
              <p class="q">{admin.firstUnknown(unparsed.length, unparsedLines)}</p>
            )}
            <h2>{admin.stdout}</h2>
            <Output label={admin.stdout} text={stdout ?? ""} />
            {stderr !== null && stderr !== "" && (
              <>
                <h2>{admin.stderr}</h2>
                <Output label={admin.stderr} text={stderr} />
              </>
            )}
          </>
        )
      }
    </Figure>
  );
}
