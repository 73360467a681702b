import { serveHistory } from "../history/serve.ts";
import { postgresBackend } from "../hub/database/transaction.ts";
import { HUB_ANSWERS } from "../hub/history/worker-answers.ts";

// Worker that reads a hub's history; `history/client.ts` is the other side.
declare const self: Worker;

serveHistory(self, HUB_ANSWERS, postgresBackend());
