import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Command, CommandResult } from "../../domain/service/commands.ts";
import { get, me, post } from "../api.ts";
import { duration } from "../format.ts";
import { IS_HUB } from "../here.ts";
import { site } from "../live/live.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { Head } from "../parts/section.tsx";
import { ActionTable } from "./action-table.tsx";
import { argumentsOf, runOf } from "./forms.ts";
import { Output } from "./raw.tsx";

export function Commands() {
  if (me.value?.execute !== true)
    return (
      <section class="sec">
        <Head title="Commands" />
        <p class="q">Commands are off: set execute.enabled in the config to turn them on.</p>
      </section>
    );
  return (
    <ActionTable
      title="Commands"
      path="/api/execute"
      csv={false}
      rows={({ commands }) =>
        commands
          .filter(({ allowed }) => allowed)
          // At a hub, every command needs a server, which determines the site that runs the command.
          .map((command) => ({ ...command, needsServer: command.needsServer || IS_HUB }))
      }
      columns={[
        { head: "Command", by: ({ command }) => command, style: "m" },
        {
          head: "Takes",
          wide: true,
          by: takesOf,
          cell: (command) => <span class="q">{takesOf(command) || "nothing"}</span>,
        },
        { head: "Time", value: ({ timeoutMs }) => timeoutMs, as: duration },
      ]}
      word="Run …"
      target={({ command }) => command}
      dialog={(command, leave) => <Run command={command} leave={leave} />}
    />
  );
}

const takesOf = (command: Command) =>
  [...(command.needsServer ? ["server"] : []), ...argumentsOf(command).names].join(", ");

/** Shows the command line before it runs. A hub does not know the command line. */
function Run({ command, leave }: Readonly<{ command: Command; leave: () => void }>) {
  const fields = useSignal<Readonly<Record<string, string>>>({});
  const plan = useSignal<{ readonly of: string; readonly argv: readonly string[] } | null>(null);
  const result = useSignal<CommandResult | null>(null);
  const { names, ways, properties } = argumentsOf(command);
  const body = runOf(command, fields.value);
  const planned = plan.value?.of === JSON.stringify(body) ? plan.value.argv : null;

  const act = async () => {
    if (body === null) return false;
    if (planned !== null || IS_HUB) {
      result.value = await post("/api/execute", body);
    } else {
      const { argv } = await post("/api/execute", { ...body, dryRun: true });
      plan.value = { of: JSON.stringify(body), argv };
    }
    return false;
  };
  const fill = ({ currentTarget: { name, value } }: Filled) => {
    const { [name]: _, ...others } = fields.value;
    fields.value = value.trim() === "" ? others : { ...others, [name]: value.trim() };
  };

  const { server } = fields.value;
  const title = `Run ${command.command}${server === undefined ? "" : ` on ${server}`}`;
  if (result.value !== null) return <Result title={title} of={result.value} leave={leave} />;
  return (
    <FormDialog
      title={title}
      button={planned === null && !IS_HUB ? "Show the command" : title}
      disabled={body === null}
      act={act}
      leave={leave}
    >
      {command.needsServer &&
        (IS_HUB ? (
          <ServerOfSite onInput={fill} />
        ) : (
          <OwnServer value={fields.value.server} onChange={fill} />
        ))}
      {ways.length > 1 && <p class="q">{`Takes ${ways.map((way) => way.join(", ")).join("; or ")}.`}</p>}
      {names.map((name) => (
        <label key={name}>
          <span class="m">{name}</span>
          <input
            name={name}
            autocomplete="off"
            spellcheck={false}
            maxLength={properties[name]?.maxLength}
            onInput={fill}
          />
        </label>
      ))}
      {planned !== null && (
        <div role="status">
          <p>This command will run. Nothing has run yet.</p>
          <Output
            label="This command will run. Nothing has run yet."
            text={planned.map((word) => JSON.stringify(word)).join(" ")}
          />
        </div>
      )}
    </FormDialog>
  );
}

type Filled = Readonly<{ currentTarget: HTMLInputElement | HTMLSelectElement }>;

function OwnServer(props: Readonly<{ value: string | undefined; onChange: (event: Filled) => void }>) {
  return (
    <label>
      Server
      <select name="server" required value={props.value ?? ""} onChange={props.onChange}>
        <option value="">Choose one</option>
        {[...(site.value?.keys() ?? [])].map((id) => (
          <option key={id}>{id}</option>
        ))}
      </select>
    </label>
  );
}

/** A field for a server id at a hub, with the first 1,000 ids as suggestions. */
function ServerOfSite({ onInput }: Readonly<{ onInput: (event: Filled) => void }>) {
  const ids = useSignal<readonly string[]>([]);
  useEffect(() => {
    get("/api/licenses/servers", { limit: "1000" }).then(
      ({ servers }) => {
        ids.value = servers.map(({ id }) => id);
      },
      // Ignore the error, because any id can still be typed.
      () => {},
    );
  }, []);
  return (
    <label>
      Server
      <input
        name="server"
        required
        autocomplete="off"
        list="servers"
        placeholder="site:server"
        onInput={onInput}
      />
      <datalist id="servers">
        {ids.value.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </label>
  );
}

function Result(props: Readonly<{ title: string; of: CommandResult; leave: () => void }>) {
  const { exitCode = 0, durationMs = 0, stdout = "", stderr = "", truncated = false } = props.of;
  return (
    <FormDialog key="result" title={props.title} button={null} leave={props.leave}>
      <p role="status">{`Exited with code ${exitCode} after ${duration(durationMs)}.`}</p>
      {truncated && <p class="n-warn">The output was cut at 1 MiB.</p>}
      {IS_HUB ? <p>The output stays at the site.</p> : <Output label="Standard output" text={stdout} />}
      {stderr !== "" && <Output label="Standard error" text={stderr} />}
    </FormDialog>
  );
}
