import { serveHistory } from "../history/serve.ts";
import { postgresBackend } from "../hub/database/transaction.ts";
import { HUB_ANSWERS } from "../hub/history/worker-answers.ts";

// The worker that reads a hub's history: see `history/client.ts` for its other side.
declare const self: Worker;

serveHistory(self, HUB_ANSWERS, postgresBackend());
