import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { Picture } from "../../domain/live-picture.ts";
import {
  ExpirationRecord,
  FeatureRecord,
  record,
  ServerRecord,
  SummaryRecord,
  UserRecord,
} from "../../domain/records.ts";
import { FleetSummary } from "../../domain/service/sites.ts";
import { listDoc, NOT_MODIFIED } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { type Lists, listQueries } from "../lists/lists.ts";
import { NOBODY } from "../sign-in.ts";
import { POLL_ERRORS } from "./rescan.ts";

const ServerWithFeatures = record("ServerWithFeatures", {
  ...ServerRecord.properties,
  features: Type.Array(FeatureRecord),
});
const Licenses = record("Licenses", { servers: Type.Array(ServerWithFeatures), summary: SummaryRecord });
const LicensesOfFleet = listDoc("servers", ServerWithFeatures, "", { summary: FleetSummary }).schema;

/** Declares the lists of the current state, for the daemon and for a hub. */
export function listRoutes(lists: Lists) {
  const { ofSites } = lists;
  const queries = listQueries(ofSites);
  // A hub has no snapshot whose version could tag an answer.
  const unchanged = ofSites ? {} : { 304: NOT_MODIFIED };
  const id = Type.Object({
    id: Type.String({ description: "Id of the server", example: ofSites ? "muc:eda" : "eda" }),
  });

  return new Elysia({ name: "routes/lists" })
    .use(gated)
    .get(
      "/api/licenses",
      ({ exchange, query }) => lists.licenses(exchange, query),
      documented("read", "Licenses", "Servers with their features, and totals", {
        query: queries.licenses,
        answers: {
          200: {
            description: ofSites
              ? "Servers with their features, and the totals of all that match"
              : "The snapshot",
            schema: (ofSites ? LicensesOfFleet : Licenses) as typeof Licenses,
          },
          ...unchanged,
        },
        errors: POLL_ERRORS,
      }),
    )
    .get(
      "/api/licenses/summary",
      ({ exchange, query }) => lists.summary(exchange, query),
      documented("read", "Licenses", "Totals over all servers, or over those named", {
        query: queries.summary,
        answers: {
          200: {
            description: "Totals",
            schema: (ofSites ? FleetSummary : SummaryRecord) as typeof SummaryRecord,
          },
          ...unchanged,
        },
      }),
    )
    .get(
      "/api/licenses/features",
      ({ exchange, query }) => lists.features(exchange, query),
      documented("read", "Licenses", "Features of all servers", {
        query: queries.features,
        answers: { 200: listDoc("features", FeatureRecord, "Features"), ...unchanged },
      }),
    )
    .get(
      "/api/licenses/users",
      ({ exchange, query }) => lists.users(exchange, query),
      documented("holders", "Licenses", "Checkouts, reservations, queue entries and assigned people", {
        description: "Sorted by start by default; rows with an unknown start come last.",
        query: queries.users,
        answers: { 200: listDoc("users", UserRecord, "Users"), ...unchanged },
      }),
    )
    .get(
      "/api/licenses/servers",
      ({ exchange, query }) => lists.servers(exchange, query),
      documented("read", "Licenses", "License servers", {
        query: queries.servers,
        answers: { 200: listDoc("servers", ServerRecord, "Servers"), ...unchanged },
      }),
    )
    .get(
      "/api/licenses/servers/:id",
      ({ exchange, params }) => lists.server(exchange, params.id),
      documented("read", "Licenses", "One license server", {
        params: id,
        answers: { 200: { description: "Server", schema: ServerRecord }, ...unchanged },
      }),
    )
    .get(
      "/api/licenses/expirations",
      ({ exchange, query }) => lists.expirations(exchange, query),
      documented("read", "Licenses", "License expirations", {
        description:
          "All pools with an expiry date, and with `permanent=true` those that never expire; soonest first by default. " +
          "Days are counted in the server's time zone.",
        query: queries.expirations,
        answers: { 200: listDoc("expirations", ExpirationRecord, "Expirations") },
      }),
    )
    .get(
      "/api/picture",
      ({ exchange, query }) => lists.picture(exchange, query),
      documented("read", "Licenses", "All servers and features in compact form, for live views", {
        description:
          "Features and rows are arrays, a third of the size of the records. Open /stream/combined?events=picture " +
          "first, then read this. Each `picture` event turns the picture of one server with the number `from` (its " +
          "`snapshot`) into the picture with the number `to`. If `from` differs, an event was missed: read the server " +
          "again with `server=`." +
          (ofSites
            ? " The picture of a whole fleet is too large for one answer: `site` or `server` is required."
            : ""),
        query: queries.picture,
        answers: { 200: { description: "The picture", schema: Picture }, 204: NOBODY, ...unchanged },
        ...(ofSites && { errors: ["INVALID_QUERY"] as const }),
      }),
    );
}
