import { historyAnswers, storedPseudonyms } from "../http/history-answers/answers.ts";
import { DAY_QUERIES } from "../store/days/queries.ts";
import type { ToWorker } from "../store/history/protocol.ts";
import { QUERIES } from "../store/history/queries.ts";
import { createHistoryServer } from "../store/history/serve.ts";

// The worker that reads history: see `store/history/client.ts` for its other side.
declare const self: Worker;

const queries = { ...QUERIES, ...DAY_QUERIES, ...historyAnswers(storedPseudonyms()) };
const server = createHistoryServer((message, handedOver) => self.postMessage(message, handedOver), queries);
self.onmessage = ({ data }: MessageEvent<ToWorker>) => server.take(data);
