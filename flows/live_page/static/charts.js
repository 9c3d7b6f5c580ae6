"use strict";
// The charts over time, drawn by Vega-Lite: lines of samples, and a vertical line for each mark.

const AXIS = { title: null, grid: false, labelColor: "var(--faint)", domainColor: "var(--rule)", tickColor: "var(--rule)" };
const OPTIONS = { actions: false, ast: true, defaultStyle: false, renderer: "svg", tooltip: false };
// A chart is drawn again after a new mark, and once its lines would move by one of so many steps, or after some seconds.
const STEPS = 300, LONGEST = 12;
const charts = {}; // by place: the newest time and mark that are drawn, and the promise of Vega's view

function specification(keys, label, rows) {
  const at = { field: "at", type: "temporal", scale: { type: "utc" }, axis: { ...AXIS, format: "%H:%M:%S UTC", tickCount: 5 } };
  const count = { type: "quantitative", scale: { nice: false }, axis: { ...AXIS, format: "~s", tickCount: 3 } };
  const colors = { domain: keys, range: ["var(--first)", "var(--second)"].slice(0, keys.length) };
  return {
    description: label, width: "container", height: 130, background: null, data: { name: "samples" }, datasets: rows,
    autosize: { type: "fit", contains: "padding" },
    layer: [
      { // the axis never ends below 1
        data: { values: [{}] }, mark: { type: "rule", opacity: 0 }, encoding: { y: { ...count, datum: 1 } },
      },
      {
        data: { name: "marks" }, mark: { type: "rule", color: "var(--mark)", strokeDash: [2, 3] },
        encoding: { x: at, tooltip: { field: "text" } },
      },
      {
        transform: [{ fold: keys, as: ["key", "value"] }],
        mark: { type: "line", strokeWidth: 1.8, invalid: "break-paths-filter-domains" },
        encoding: { x: at, y: { ...count, field: "value" }, color: { field: "key", scale: colors, legend: null } },
      },
    ],
    config: { view: { stroke: null }, font: "system-ui, sans-serif", axis: { labelFontSize: 11 } },
  };
}

function inMilliseconds(rows) {
  return rows.map(row => ({ ...row, at: row.at * 1000 })); // copies: Vega writes into its rows
}

function drawChart(place, samples, keys, marks, label) {
  if (samples.length < 2 || !window.vegaEmbed) return; // the library is loading, or the page goes on without charts
  const first = samples[0].at, last = samples[samples.length - 1].at;
  const chart = charts[place];
  const mark = marks.length ? marks[marks.length - 1].text : "";
  const isNew = !chart || mark !== chart.mark || Math.abs(last - chart.last) >= Math.min((last - first) / STEPS, LONGEST);
  if (!isNew) return;
  const rows = { samples: inMilliseconds(samples), marks: inMilliseconds(marks.filter(mark => mark.at >= first && mark.at <= last)) };
  if (chart) {
    Object.assign(chart, { last, mark });
    chart.drawn.then(({ view }) => view.data("samples", rows.samples).data("marks", rows.marks).runAsync());
  } else {
    charts[place] = { last, mark, drawn: vegaEmbed(`#${place}`, specification(keys, label, rows), OPTIONS) };
  }
}
