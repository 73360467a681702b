import uPlot from "uplot";
import style from "uplot/dist/uPlot.min.css" with { type: "text" };

// Its style comes with it: no page that has no chart reads it.
const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets.push(sheet);

export { uPlot };
