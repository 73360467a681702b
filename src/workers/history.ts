import { DAY_QUERIES } from "../history/day-keeper.ts";
import { serveHistory } from "../history/serve.ts";
import { historyAnswers, storedPseudonyms } from "../http/history-answers/answers.ts";
import { REPORT_QUERIES } from "../reports/figures.ts";

// The worker that reads history: see `history/client.ts` for its other side.
declare const self: Worker;

serveHistory(self, { ...DAY_QUERIES, ...REPORT_QUERIES, ...historyAnswers(storedPseudonyms()) });
