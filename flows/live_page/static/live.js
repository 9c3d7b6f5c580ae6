"use strict";
// Asks for the page's document every two seconds and places its texts. Every value becomes text, never markup.

const EVERY = 2000, PATIENCE = 8000, STALE = 15000, SAMPLES = 1800, MARKS = 12; // times in milliseconds
const LINKS = { views: [0, "/view/"], quarantine: [3, "/trace/"] }; // by table: the column of links, and where they lead
const listed = {}; // by list: the lines that it shows
let tag = "", samples = [], marks = [], failed = 0, answered = performance.now();

function show(id, text) {
  const place = document.getElementById(id);
  if (place && place.textContent !== text) place.textContent = text;
}

// Only what changed is placed again: a screen reader reads every line of a new list.
function list(id, lines) {
  const joined = lines.join("\n");
  if (listed[id] === joined) return;
  listed[id] = joined;
  const place = document.getElementById(id);
  place.replaceChildren(...lines.map(line => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
}

function cellOf(name, number, numeric) {
  const cell = document.createElement("td");
  if (numeric) cell.className = "n";
  const [column, pages] = LINKS[name] || [];
  if (number === column) {
    cell.dataset.pages = pages;
    cell.append(document.createElement("a"));
  }
  return cell;
}

function write(cell, text) {
  const place = cell.firstElementChild || cell;
  if (place.textContent === text) return;
  place.textContent = text;
  if (place.href !== undefined) place.href = cell.dataset.pages + text.split("/").map(encodeURIComponent).join("/");
}

// Rows stay as long as their number does: a link that has the focus keeps it.
function fill(name, table) {
  const place = document.getElementById(`table-${name}`), body = place.tBodies[0];
  const numeric = [...place.tHead.rows[0].cells].map(cell => cell.className === "n");
  if (body.rows.length !== table.rows.length || body.querySelector(".empty")) {
    body.replaceChildren(...table.rows.map(row => {
      const line = document.createElement("tr");
      line.append(...row.map((_, number) => cellOf(name, number, numeric[number])));
      return line;
    }));
  }
  table.rows.forEach((row, index) => {
    const line = body.rows[index], state = table.bad.includes(index) ? "bad" : "";
    if (line.className !== state) line.className = state;
    row.forEach((text, number) => write(line.cells[number], text));
  });
  if (table.rows.length === 0) empty(body, numeric.length);
  show(`left-out-${name}`, table.left_out ? `${table.left_out} more rows are not shown` : "");
}

function empty(body, columns) {
  const line = document.createElement("tr"), cell = document.createElement("td");
  line.className = "empty";
  cell.colSpan = columns;
  cell.textContent = "none";
  line.append(cell);
  body.replaceChildren(line);
}

function health(state, verdict, lines) {
  const place = document.getElementById("health");
  if (place.dataset.state !== state) place.dataset.state = state;
  show("verdict", verdict);
  list("unhealthy", lines);
  document.title = `${state === "ok" ? "healthy" : verdict}: Lambda and Kappa`;
}

function place(page) {
  const bad = page.unhealthy.length;
  health(bad ? "bad" : "ok", bad ? "unhealthy" : "healthy", page.unhealthy);
  show("at", page.at);
  show("picture-summary", page.summary);
  document.getElementById("away").hidden = page.away.length === 0;
  list("away-lines", page.away);
  for (const [id, text] of Object.entries(page.texts)) show(id, text);
  for (const [id, state] of Object.entries(page.states)) document.getElementById(id).dataset.state = state;
  for (const [name, table] of Object.entries(page.tables)) fill(name, table);
  const quality = document.getElementById("quality");
  quality.hidden = page.quality === "";
  if (page.quality) quality.href = page.quality;
  const newest = samples.length ? samples[samples.length - 1].at : 0;
  if (page.sample && page.sample.at !== newest) { // one before the newest: the clock of the server was set back
    samples = [...samples.filter(sample => sample.at < page.sample.at), page.sample].slice(-SAMPLES);
  }
  marks = page.marks;
  draw();
}

function draw() {
  drawChart("chart-rates", samples, ["appended", "committed"], marks, "Records per second");
  drawChart("chart-lag", samples, ["lag"], marks, "Lag in records");
  drawChart("chart-waiting", samples, ["waiting"], marks, "Waiting in seconds");
  list("marks", marks.slice(-MARKS).reverse().map(mark => `${new Date(mark.at * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC: ${mark.text}`));
}

async function get(path, headers) {
  const answer = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status !== 200 && answer.status !== 304) throw new Error(`status ${answer.status}`);
  return answer;
}

async function ask() {
  const answer = await get("/page.json", tag ? { "If-None-Match": tag } : {});
  if (answer.status === 200) {
    place(await answer.json());
    tag = answer.headers.get("ETag") || "";
  }
}

async function remember() {
  const answer = await get("/history.json", {});
  const history = await answer.json();
  samples = history.samples;
  marks = history.marks;
}

function away() {
  tag = ""; // the next answer is placed whole, also if nothing changed
  health("bad", "this page's server does not answer, and what you see is old: `lk status` says why", []);
}

async function loop() {
  if (!document.hidden) {
    try {
      if (samples.length === 0) await remember();
      await ask();
      failed = 0;
      answered = performance.now();
    } catch (error) {
      failed += 1;
      if (failed > 1) away();
    }
  }
  setTimeout(loop, EVERY);
}

// Whatever the loop waits for: a page that got no answer for long does not say that all is well.
function watch() {
  if (!document.hidden && performance.now() - answered > STALE) away();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  samples = [];
  answered = performance.now(); // while it was hidden nothing was asked
});
setInterval(watch, 1000);
loop();
