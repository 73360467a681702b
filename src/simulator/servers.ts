import { FLEXNET_SERVERS } from "./flexnet-servers.ts";
import { RLM_SERVERS } from "./rlm-servers.ts";
import type { ServerSpec } from "./server-spec.ts";

/** The license servers of the make-believe site: each shows something that a monitor must get right. */
export const SERVERS: readonly ServerSpec[] = [...FLEXNET_SERVERS, ...RLM_SERVERS];
