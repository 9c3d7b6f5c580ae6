"use strict";
// Draws the samples as lines, with a vertical line for each mark. Texts come into the page as text only.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000, HEIGHT = 130, LEFT = 70, BOTTOM = 18, TOP = 8;

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (value >= 1e4) return `${(value / 1e3).toPrecision(3)} k`;
  return value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(1);
}

function clock(seconds) {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}

function pieces(samples, key) {
  const lines = [[]];
  for (const sample of samples) {
    if (sample[key] === null) lines.push([]);
    else lines[lines.length - 1].push(sample);
  }
  return lines.filter(line => line.length > 0);
}

function drawChart(place, samples, keys, marks, label) {
  if (samples.length < 2) return;
  const first = samples[0].at, last = samples[samples.length - 1].at;
  const values = keys.flatMap(key => samples.map(sample => sample[key] ?? 0));
  const top = Math.max(1, ...values);
  const x = at => LEFT + (at - first) / Math.max(1, last - first) * (WIDTH - LEFT - 10);
  const y = value => HEIGHT - BOTTOM - value / top * (HEIGHT - BOTTOM - TOP);
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label}, largest ${short(top)}` });
  for (const value of [0, top]) {
    svg.append(element("line", { class: "axis", x1: LEFT, x2: WIDTH - 10, y1: y(value), y2: y(value) }));
    svg.append(element("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  svg.append(element("text", { x: LEFT, y: HEIGHT - 3 }, `${clock(first)} UTC`));
  svg.append(element("text", { x: WIDTH - 10, y: HEIGHT - 3, "text-anchor": "end" }, clock(last)));
  for (const mark of marks.filter(mark => mark.at >= first && mark.at <= last)) {
    const line = element("line", { class: "mark", x1: x(mark.at), x2: x(mark.at), y1: TOP, y2: HEIGHT - BOTTOM });
    line.append(element("title", {}, `${clock(mark.at)} ${mark.text}`));
    svg.append(line);
  }
  keys.forEach((key, number) => {
    for (const line of pieces(samples, key)) {
      const points = line.map(sample => `${x(sample.at).toFixed(1)},${y(sample[key]).toFixed(1)}`).join(" ");
      svg.append(element("polyline", { class: number === 0 ? "first" : "second", points }));
    }
  });
  document.getElementById(place).replaceChildren(svg);
}
