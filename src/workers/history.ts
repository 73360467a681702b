import { DAY_QUERIES } from "../history/day-packer.ts";
import { serveHistory, sqliteBackend } from "../history/serve.ts";
import { historyAnswers, storedPseudonyms } from "../http/history-answers/answers.ts";
import { REPORT_QUERIES } from "../reports/figures.ts";

// Worker that reads history; `history/client.ts` is the other side.
declare const self: Worker;

const queries = { ...DAY_QUERIES, ...REPORT_QUERIES, ...historyAnswers(storedPseudonyms()) };
serveHistory(self, queries, sqliteBackend());
