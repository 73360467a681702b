/** Serves two routes behind the gate or bare: `bun gate-server.ts PORT gate|bare`. Prints the key (bare takes any). */
import "../../src/http/production.ts";

import { Elysia } from "elysia";
import { createAnswers } from "../../src/http/answers/answers.ts";
import { createExchanges, type Exchanges } from "../../src/http/exchange.ts";
import { listen } from "../../src/http/listen.ts";
import { featureRoutes } from "../../src/http/routes/features.ts";
import { summaryRoutes } from "../../src/http/routes/summary.ts";
import { bench } from "../../test/http/make.ts";
import { createGate, SNAPSHOT } from "./gate-app.ts";

const [port = "0", form] = process.argv.slice(2);
const door = { host: "127.0.0.1", port: Number(port) };

if (form === "gate") {
  const { app, key } = createGate();
  listen(app, door);
  console.log(key);
} else {
  // What a route needs to know of its request, and nothing in front of it.
  const opened = createExchanges(() => null);
  const exchanges: Exchanges = { ...opened, of: (request) => opened.open(request, "") };
  const snapshot = () => SNAPSHOT;
  const { alerts, history } = bench().deps;
  new Elysia({ handler: { standardHostname: false } })
    .use(summaryRoutes({ alerts }, snapshot, exchanges, createAnswers()))
    .use(featureRoutes({ history }, snapshot, exchanges, createAnswers()))
    .listen({ hostname: door.host, port: door.port, reusePort: false, development: false });
  console.log("none");
}
