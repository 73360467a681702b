import { useAnswer } from "../parts/answer.tsx";
import { words } from "../words-pages.ts";

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
      <h1>{words.noServers}</h1>
      <p>{config === null ? words.noConfig : words.addServer(config)}</p>
      <pre class="m">{EXAMPLE}</pre>
      <p>{words.thenCheck}</p>
      <pre class="m">{CHECK}</pre>
      <p class="q">{words.docs}</p>
    </div>
  );
}
