/** Serves two routes behind the gate or bare: `bun gate-server.ts PORT gate|bare`. Prints the key (bare takes any). */
import "../../src/http/production.ts";

import { Elysia } from "elysia";
import { type Exchange, gated } from "../../src/http/exchange.ts";
import { listen } from "../../src/http/listen.ts";
import { createRequestCounters } from "../../src/http/request-counters.ts";
import { createRouteDeps } from "../../src/http/routes/deps.ts";
import { licenseRoutes } from "../../src/http/routes/licenses.ts";
import { seatRoutes } from "../../src/http/routes/seats.ts";
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
  const exchange: Exchange = {
    id: "",
    path: "",
    query: "",
    startedAt: 0,
    route: null,
    address: "",
    caller: null,
    acting: null,
    headers: {},
    answered: true,
  };
  const http = { ...bench().deps, live: { snapshot: () => SNAPSHOT } };
  const deps = createRouteDeps(http, { done() {}, refused() {} }, createRequestCounters());
  new Elysia({ handler: { standardHostname: false } })
    .use(gated)
    .onRequest((context) => {
      const { pathname: path } = new URL(context.request.url);
      context.exchange = { ...exchange, path };
    })
    .use(licenseRoutes(deps))
    .use(seatRoutes(deps))
    .listen({ hostname: door.host, port: door.port, reusePort: false, development: false });
  console.log("none");
}
