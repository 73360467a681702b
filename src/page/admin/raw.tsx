import { useState } from "preact/hooks";
import { may, me } from "../api.ts";
import { moment, number, plural } from "../format.ts";
import { atHub } from "../here.ts";
import { now } from "../live/live.ts";
import { Figure } from "../parts/figure.tsx";
import { Rows } from "../parts/rows.tsx";

export function Output({ label, text }: Readonly<{ label: string; text: string }>) {
  if (text === "") return <p class="q">No output.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <pre class="output m" tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  );
}

/** The tool's output in the last poll of a server, with unread lines marked. Loaded when opened. */
export function Raw({ id }: Readonly<{ id: string }>) {
  const [isOpen, setOpen] = useState(false);
  if (me.value === null) return null;
  if (!may("raw")) return <p class="q role needs">The raw output needs the role admin.</p>;
  return (
    <details class="raw" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Raw output of the last poll</summary>
      {isOpen && <Read id={id} />}
    </details>
  );
}

function endOf(exitCode: number | null, signal: string | null): string {
  if (signal !== null) return `ended by ${signal}`;
  return exitCode === null ? "did not end" : `exit ${exitCode}`;
}

function Read({ id }: Readonly<{ id: string }>) {
  return (
    <Figure
      title="Command"
      path={`/api/licenses/servers/${encodeURIComponent(atHub(id))}/raw`}
      query={{}}
      csv={false}
      note={({ polledAt, exitCode, signal }) =>
        polledAt !== null && `${moment(Date.parse(polledAt), now.value)}, ${endOf(exitCode, signal)}`
      }
    >
      {({ argv, stdout, stderr, truncated, unparsed, unparsedLines }) =>
        argv === null ? (
          <p class="q">Not polled since the start.</p>
        ) : (
          <>
            <p class="m file">{argv.join(" ")}</p>
            {truncated === true && (
              <p class="n-warn">The output was longer than 16 MiB: this is the first 1 MiB.</p>
            )}
            <h2>Unknown lines</h2>
            <Rows
              label="Unknown lines"
              none={unparsedLines === 0 ? "All lines are known." : ""}
              rows={unparsed}
              columns={[
                { head: "Line", value: ({ line }) => line },
                {
                  head: "Message",
                  by: ({ text }) => text,
                  cell: ({ text }) => <code class="m">{text}</code>,
                },
              ]}
            />
            {unparsedLines > unparsed.length && (
              <p class="q">{`The first ${number(unparsed.length)} of ${plural(unparsedLines, "line")}.`}</p>
            )}
            <h2>Standard output</h2>
            <Output label="Standard output" text={stdout ?? ""} />
            {stderr !== null && stderr !== "" && (
              <>
                <h2>Standard error</h2>
                <Output label="Standard error" text={stderr} />
              </>
            )}
          </>
        )
      }
    </Figure>
  );
}
