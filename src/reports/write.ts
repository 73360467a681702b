import { countOf, cutText, escapeControls } from "../domain/plain-text.ts";
import { pageLink } from "../domain/service/page-link.ts";
import { dateTime } from "../domain/time/zone.ts";
import type { ReportFigures } from "./figures.ts";
import { type Cell, percent, type Section, sectionsOf } from "./sections.ts";

export function writeReport(figures: ReportFigures) {
  const { period, servers, rows, now, zone, labels, publicUrl } = figures;
  const sections = sectionsOf(figures);
  const coverage = rows.reduce((sum, row) => sum + row.coverage, 0) / Math.max(1, rows.length);
  const named = Object.entries(labels).map(([name, value]) => `, ${plain(name)} ${plain(value)}`);
  const title = `License report: ${period.title}${named.join("")}`;
  const head = [
    ...(now < period.end ? ["This period is not over yet: data until now."] : []),
    `${countOf(servers.length, "license server")}, ${countOf(rows.length, "feature")}. Coverage ${percent(coverage)}: the share of the time with data. – means unknown.`,
    `Created ${dateTime(zone, now)}, ${zone}.`,
  ];
  const live = pageLink(publicUrl, "");
  const more = live === null ? [] : [`Live view: ${live}`];
  return {
    subject: `[licmond] ${title}`,
    text: `${[wrapped(title), ...head.map(wrapped), ...more, ...sections.map(textOf)].join("\n\n")}\n`,
    html: page(html(title), head, live, sections),
  };
}

const WIDEST = 80;
/** Maximum width of a line, which mail programs show without wrapping. */
const TEXT_WIDTH = 72;

function plain(text: string): string {
  return cutText(escapeControls(text), WIDEST);
}

const partsOf = (cell: Cell) => (typeof cell === "string" ? { main: cell } : cell);
const isNumber = (head = "") => head.startsWith(">");
const nameOf = (head: string) => head.replace(/^>/, "");
const wrapped = (text: string) => Bun.wrapAnsi(escapeControls(text), TEXT_WIDTH, { hard: true });

/** Formats each row as two lines, names above numbers in columns, so that tables of any width fit. */
function textOf({ title, about, heads, rows, notes }: Section): string {
  const cells = rows.map((row) =>
    row.map(partsOf).map(({ main, beside }) => plain(main) + (beside ? ` (${plain(beside)})` : "")),
  );
  const lines = rows.length === 0 ? [] : [heads.map(nameOf), ...cells];
  const widths = heads.map((_, at) => Math.max(0, ...lines.map((line) => Bun.stringWidth(line[at] ?? ""))));
  const table = lines.flatMap((line) => {
    const names = line.filter((_, at) => !isNumber(heads[at]));
    const numbers = line.map((cell, at) =>
      isNumber(heads[at]) ? `  ${" ".repeat((widths[at] ?? 0) - Bun.stringWidth(cell))}${cell}` : "",
    );
    return [wrapped(names.join(", ")), numbers.join("")];
  });
  const parts = [[title.toUpperCase(), wrapped(about)], table, notes.map(wrapped)];
  return parts.flatMap((part) => (part.length === 0 ? [] : [part.join("\n")])).join("\n\n");
}

function tableOf({ title, about, heads, rows, notes }: Section): string {
  const kinds = heads.map((head) => (isNumber(head) ? ' class="n"' : ""));
  const th = heads.map((head, at) => `<th${kinds[at]}>${nameOf(head)}</th>`).join("");
  const td = (cell: Cell, at: number) => {
    const { main, beside = "", share = null, link = null } = partsOf(cell);
    const text = html(plain(main));
    const shown = link === null ? text : `<a href="${html(link)}">${text}</a>`;
    const small = beside === "" ? "" : `<small>${html(plain(beside))}</small>`;
    const width = Math.round((share ?? 0) * 100);
    const bar = `<div class="bar${width === 100 ? " full" : ""}"><div style="width:${width}%"></div></div>`;
    return `<td${kinds[at]}>${shown}${small}${share === null ? "" : bar}</td>`;
  };
  const body = rows.map((row) => `<tr>${row.map(td).join("")}</tr>`).join("\n");
  const table = `<table><thead><tr>${th}</tr></thead><tbody>\n${body}\n</tbody></table>`;
  return `<section><h2>${title}</h2><p class="about">${html(about)}</p>
${rows.length === 0 ? "" : table}
${notes.map((note) => `<p>${html(escapeControls(note))}</p>`).join("\n")}</section>`;
}

const html = (text: string) => Bun.escapeHTML(text);

const STYLE = `body{margin:0 auto;padding:24px;max-width:860px;color:#1b1f24;background:#fff;
  font:14px/1.45 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
h1{font-size:22px;margin:0 0 8px}h2{font-size:16px;margin:0;padding-top:24px}p{margin:4px 0}
a{color:#0b6170}.about{color:#57606a;font-size:12px}table{width:100%;margin:8px 0;border-collapse:collapse}
th,td{padding:5px 0 5px 12px;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{font-size:12px;vertical-align:bottom;overflow-wrap:normal}:is(th,td):first-child{padding-left:0}
tr{border-bottom:1px solid #d8dee4}thead tr{border-bottom:2px solid #1b1f24}
.n{text-align:right;font-variant-numeric:tabular-nums}td.n{white-space:nowrap}
td:not(.n){min-width:90px}small{display:block;color:#57606a;font-size:11px}.n small{display:inline-block;min-width:46px;margin-left:6px}
.bar{height:4px;margin-top:3px;min-width:50px;background:#e7ebef}.bar div{height:4px;background:#2f6fb3}
.full div{background:#b3362f}
@media(max-width:600px){body{padding:12px}tr{display:flex;flex-wrap:wrap}th,td{flex:0 0 100%;padding:4px 0 0}
  .n{flex:1 1 0;padding:2px 0 4px 4px;font-size:11.5px}th.n{font-size:11px}td.n{white-space:normal}.n small{display:block;min-width:0}.bar{min-width:0}}
@media print{body{padding:0;max-width:none;font-size:10pt}th,td{padding-block:3px}
  tr,p{break-inside:avoid}h2,.about{break-after:avoid}.bar,.bar div{print-color-adjust:exact}}
@page{margin:15mm}`;

/** Returns a self-contained page without scripts or pictures, with a policy that forbids them. Links lead only to the page. */
function page(
  title: string,
  head: readonly string[],
  live: string | null,
  sections: readonly Section[],
): string {
  const now = live === null ? "" : `<p>Live view: <a href="${html(live)}">${html(live)}</a></p>\n`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title><style>${STYLE}</style></head><body>
<h1>${title}</h1>
${head.map((line) => `<p>${html(line)}</p>`).join("\n")}
${now}${sections.map(tableOf).join("\n")}
</body></html>
`;
}
