import uPlot from "uplot";
import style from "uplot/dist/uPlot.min.css" with { type: "text" };

// The chart's style comes with it, so pages without charts do not load it.
const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets.push(sheet);

export { uPlot };
