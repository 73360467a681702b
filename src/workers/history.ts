import { DAY_QUERIES } from "../history/day-keeper.ts";
import type { ToWorker } from "../history/protocol.ts";
import { createHistoryServer } from "../history/serve.ts";
import { historyAnswers, storedPseudonyms } from "../http/history-answers/answers.ts";

// The worker that reads history: see `history/client.ts` for its other side.
declare const self: Worker;

const queries = { ...DAY_QUERIES, ...historyAnswers(storedPseudonyms()) };
const server = createHistoryServer((message, handedOver) => self.postMessage(message, handedOver), queries);
self.onmessage = ({ data }: MessageEvent<ToWorker>) => server.take(data);
