import { useAnswer } from "../parts/answer.tsx";

const EXAMPLE = `[[servers]]
id = "eda"
manager = "flexnet"                 # licmond managers lists them
address = "27000@license-server"
tool = "/opt/flexnet/lmutil"        # the vendor's lmutil or rlmutil`;
const CHECK = `licmond probe flexnet 27000@license-server --tool /opt/flexnet/lmutil
systemctl reload licmond`;

/** Explains what to do when no license server is configured. */
export function NoServers() {
  // Undefined while unknown, and for roles that may not see it.
  const config = useAnswer("/api/status", {}).answer?.configFile;
  return (
    <div class="empty">
      <h1>No license server is configured.</h1>
      <p>
        {config === null
          ? "licmond runs without a config. Write one with licmond init, add a server at its end, and start licmond with --config:"
          : config === undefined
            ? "Append one to licmond's config:"
            : `Add one at the end of the config, ${config}:`}
      </p>
      <pre class="m">{EXAMPLE}</pre>
      <p>Check that it answers, then reload the config:</p>
      <pre class="m">{CHECK}</pre>
      <p class="q">
        All settings are explained in the config that licmond init writes, and in docs/config.md.
      </p>
    </div>
  );
}
