import { Elysia } from "elysia";
import { Picture } from "../../domain/live-picture.ts";
import { NOT_MODIFIED } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { serverJson } from "../picture.ts";
import { names, queryOf } from "../query.ts";
import { NOBODY } from "../sign-in.ts";
import { namedServers, perPicture } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const QUERY = queryOf({ server: names("Ids of servers to show. An unknown one is 404.", "eda") });

/** Everything that a live view needs, in one answer; the event `picture` keeps it up to date. */
export function pictureRoutes({ snapshotFor, answers, pictures }: RouteDeps) {
  const makePart = (hasRows: boolean) =>
    perPicture((picture) => serverJson(picture, pictures.numberOf(picture.server.id), hasRows));
  const [partOf, countsOf] = [makePart(true), makePart(false)];

  return new Elysia({ name: "routes/picture" }).use(gated).get(
    "/api/picture",
    ({ exchange, query }) => {
      const snapshot = snapshotFor(exchange);
      const servers = namedServers(snapshot, query.server ?? null);
      const countsOnly = exchange.caller?.countsOnly === true;
      return answers.respond(
        exchange,
        snapshot,
        "json",
        (join) => join('{"servers":[', servers.map(countsOnly ? countsOf : partOf), "]}"),
        countsOnly ? "counts" : "",
      );
    },
    documented("read", "Licenses", "Everything, slim, for views that are kept up to date", {
      description:
        "Features and rows are arrays, which take a third of the room of the records. Open " +
        "/stream/combined?events=picture first, then read this: each event `picture` makes the picture of one " +
        "server, whose `snapshot` is the event's `from`, the next one, whose `snapshot` is `to`. When `from` is another " +
        "number an event was missed: read this again with `server=`.",
      query: QUERY,
      answers: {
        200: { description: "The picture", schema: Picture },
        204: NOBODY,
        304: NOT_MODIFIED,
      },
    }),
  );
}
