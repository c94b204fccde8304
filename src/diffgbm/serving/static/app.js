// The explorer: settings of a row on one side, its predictive distribution on the other.

import { LETTERS, drawDensity, drawFan, drawLevels, formatter, percent, rangeOf } from "/explore/charts.js";
import { dateText, dayOf, element, makeControl, written } from "/explore/controls.js";

const $ = (id) => document.getElementById(id);
const state = {
  facts: null, settings: [], active: 0, observed: null, loaded: null, threshold: null, axis: null,
  predictions: [], fan: null, controls: [],
};

async function post(name, body) {
  const answer = await fetch(`/explore/${name}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || `The server answered ${answer.status}.`);
  return found;
}

function tell(error) {
  $("error").hidden = error === null;
  $("error").textContent = error === null ? "" : error.message === "Failed to fetch" ? "The server does not answer. Is it still running?" : error.message;
}

let busy = 0;

// Runs one request at a time; what changes meanwhile is asked once, at the end.
function latest(work) {
  let running = false, again = false;
  return async function run() {
    if (running) { again = true; return; }
    running = true;
    busy += 1;
    do {
      again = false;
      try { await work(); } catch (error) { tell(error); }
    } while (again);
    running = false;
    busy -= 1;
    if (!busy) document.body.dataset.idle = "yes";
  };
}

function asked() {
  return { coverage: Number($("coverage").value), threshold: state.threshold, target: target() };
}

function target() {
  return state.facts.targets[Number($("target").value) || 0];
}

const predict = latest(async () => {
  const rows = state.settings.map((row) => ({ ...row }));
  const { predictions } = await post("predict", { rows, ...asked() });
  if (state.threshold === null) {
    setThreshold(Number(predictions[0].median.toPrecision(3)));
    predictions.forEach((one, k) => { if (rows[k]) one.above = null; });
  }
  state.predictions = predictions;
  tell(null);
  drawPrediction();
});

const drawFanLater = latest(async () => {
  const name = $("fan-column").value;
  if (name === "") return;
  const column = state.facts.controls[Number(name)];
  const row = { ...state.settings[state.active] };
  const fan = await post("fan", { row, column: column.name, ...asked() });
  state.fan = { ...fan, column, row, active: state.active };
  drawTheFan();
});

const writePython = latest(async () => {
  const { code } = await post("python", { row: state.settings[state.active], ...asked() });
  $("code").textContent = code;
});

function refresh() {
  document.body.dataset.idle = "no";
  predict();
  drawFanLater();
  writePython();
}

// The axis grows at once and shrinks only when much of it is empty, so that one sees the density move.
function keptAxis(needed) {
  const old = state.axis;
  if (old && needed[0] >= old[0] && needed[1] <= old[1] && needed[1] - needed[0] > 0.35 * (old[1] - old[0])) return old;
  const far = !old || needed[1] - needed[0] <= 0.35 * (old[1] - old[0]);
  return far ? needed : [Math.min(old[0], needed[0]), Math.max(old[1], needed[1])];
}

function observedValue() {
  const value = state.observed ? state.observed[target()] : null;
  return value === undefined ? null : value;
}

function drawPrediction() {
  const observed = observedValue();
  state.axis = keptAxis(rangeOf(state.predictions, observed === null ? [] : [observed]));
  const format = formatter(...state.axis);
  const several = state.predictions.length > 1;
  const coverage = $("coverage").selectedOptions[0].textContent;
  $("prediction-title").textContent = `Predicted ${target()}`;
  $("interval-head").textContent = `${coverage} interval`;
  $("above-head").textContent = state.threshold === null ? "P(above)" : `P(> ${format(state.threshold)})`;
  const sentences = [];
  $("numbers").tBodies[0].replaceChildren(...state.predictions.map((one, k) => {
    const cells = [format(one.mean), format(one.median), `${format(one.interval[0])} to ${format(one.interval[1])}`, percent(one.above)];
    const name = several ? `Setting ${LETTERS[k].toUpperCase()}` : "Row";
    sentences.push(`${name}: mean ${cells[0]}, ${coverage} interval ${cells[2]}, probability above ${state.threshold === null ? "the threshold" : format(state.threshold)} ${cells[3]}.`);
    return element("tr", { className: LETTERS[k] }, element("th", { scope: "row", textContent: name }), ...cells.map((text) => element("td", { textContent: text })));
  }));
  const label = `Predictive density of ${target()}. ${sentences.join(" ")}`;
  drawDensity($("density"), state.predictions, state.axis, { threshold: state.threshold, observed, label });
  $("status").textContent = sentences.join(" ");
  const atoms = state.predictions.some((one) => one.atoms.length) ? " A stem is the probability of exactly that value." : "";
  $("legend").textContent = `The curve is the density, filled more strongly above the threshold. The bar below is the ${coverage} interval, its dot the median.${atoms}`;
  moveSlider();
  writeNotes(several);
}

function writeNotes(several) {
  const notes = [];
  state.predictions.forEach((one, k) => {
    const name = several ? `Setting ${LETTERS[k].toUpperCase()}: ` : "";
    if (one.novelty !== null && one.novelty < 0.05) {
      notes.push(`${name}few training rows are like this one (novelty p = ${one.novelty.toFixed(3)}): take the prediction with care.`);
    }
    for (const warning of one.warnings) notes.push(name + warning);
  });
  $("notes").replaceChildren(...notes.map((text) => element("li", { textContent: text })));
}

function setThreshold(value) {
  state.threshold = value;
  $("threshold").value = value === null ? "" : String(value);
  refresh();
}

function moveSlider() {
  const slider = $("threshold-slider");
  slider.disabled = state.threshold === null;
  if (state.threshold === null || document.activeElement === slider) return;
  const share = (state.threshold - state.axis[0]) / (state.axis[1] - state.axis[0]);
  slider.value = String(Math.round(1000 * Math.min(1, Math.max(0, share))));
}

function drawTheFan() {
  const { fan } = state;
  if (!fan) return;
  const { column } = fan;
  const letter = LETTERS[fan.active];
  const coverage = $("coverage").selectedOptions[0].textContent;
  const label = `Median, 50% and ${coverage} intervals of ${target()} along ${column.name}`;
  $("fan-note").textContent = fan.values.length
    ? `Median, 50% and ${coverage} intervals if only ${column.name} changes${state.settings.length > 1 ? `, from setting ${letter.toUpperCase()}` : ""}.`
    : `No range of ${column.name} is known: give a table of rows to draw this.`;
  if (!fan.values.length) { $("fan").replaceChildren(); return; }
  const options = { threshold: state.threshold, label };
  const current = fan.row[column.name];
  if (column.kind === "category" || column.kind === "flag") {
    const number = current === true ? 1 : current === false ? 0 : current;
    drawLevels($("fan"), fan, fan.values.findIndex((value) => value === number || String(value) === String(current)), letter, options);
    return;
  }
  const dates = column.kind === "date" || column.kind === "moment";
  const positions = dates ? fan.values.map(dayOf) : fan.values;
  const format = formatter(positions[0], positions.at(-1));
  const write = dates ? (day) => dateText(day, false, "") : format;
  drawFan($("fan"), fan, positions, dates ? dayOf(current) : current, write, letter, { ...options, dated: dates });
}

function showSetting() {
  const row = state.settings[state.active];
  const other = state.settings[1 - state.active];
  document.body.classList.toggle("edits-b", state.active === 1);
  for (const control of state.controls) {
    control.show(row[control.name]);
    tellDifference(control, row, other);
  }
}

function tellDifference(control, row, other) {
  const differs = other !== undefined && other[control.name] !== row[control.name];
  control.tell(differs ? `${state.active === 0 ? "B" : "A"}: ${written(other[control.name])}` : "");
}

function changed(name, value) {
  state.settings[state.active][name] = value;
  state.observed = null;
  const row = state.settings[state.active];
  for (const control of state.controls) if (control.name === name) tellDifference(control, row, state.settings[1 - state.active]);
  refresh();
}

function setActive(k) {
  state.active = k;
  for (const input of document.querySelectorAll("input[name=setting]")) input.checked = Number(input.value) === k;
  showSetting();
  refresh();
}

function compare() {
  const on = state.settings.length === 1;
  if (on) state.settings.push({ ...state.settings[0] });
  else state.settings = [state.settings[state.active]];
  $("which").hidden = !on;
  $("compare").textContent = on ? "End the comparison" : "Compare with a second setting";
  state.axis = null;
  setActive(on ? 1 : 0);
}

function replaceSetting(row) {
  state.settings[state.active] = row;
  state.axis = null;
  showSetting();
  refresh();
}

async function loadRow(number) {
  const { rows } = state.facts.table;
  const wanted = Math.min(rows, Math.max(1, Math.round(number) || 1));
  try {
    const found = await post("row", { row: wanted - 1 });
    state.loaded = wanted;
    state.observed = Object.keys(found.observed).length ? found.observed : null;
    $("row-number").value = String(wanted);
    replaceSetting(found.row);
  } catch (error) {
    tell(error);
  }
}

function listen() {
  $("coverage").addEventListener("change", refresh);
  $("target").addEventListener("change", () => { state.axis = null; state.threshold = null; refresh(); });
  $("threshold").addEventListener("input", () => {
    const value = $("threshold").value === "" ? null : Number($("threshold").value);
    if (value !== null && Number.isFinite(value)) { state.threshold = value; refresh(); }
  });
  $("threshold-slider").addEventListener("input", () => {
    const [low, high] = state.axis;
    const value = low + (Number($("threshold-slider").value) / 1000) * (high - low);
    setThreshold(Number(value.toPrecision(Math.max(3, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / (high - low) || 1)) + 3))));
  });
  $("fan-column").addEventListener("change", refresh);
  $("compare").addEventListener("click", compare);
  $("reset").addEventListener("click", () => { state.observed = null; replaceSetting({ ...state.facts.start }); });
  for (const input of document.querySelectorAll("input[name=setting]")) {
    input.addEventListener("change", () => { state.observed = null; setActive(Number(input.value)); });
  }
  $("previous").addEventListener("click", () => loadRow((state.loaded || 2) - 1));
  $("next").addEventListener("click", () => loadRow((state.loaded || 0) + 1));
  $("row-number").addEventListener("change", () => loadRow(Number($("row-number").value)));
  $("find").addEventListener("input", () => {
    const wanted = $("find").value.trim().toLowerCase();
    for (const control of state.controls) control.root.hidden = !control.name.toLowerCase().includes(wanted);
  });
  $("copy").addEventListener("click", copy);
  let waiting = null;
  new ResizeObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (state.predictions.length) { drawPrediction(); drawTheFan(); } }, 60);
  }).observe($("prediction"));
}

async function copy() {
  try {
    await navigator.clipboard.writeText($("code").textContent);
    $("copied").textContent = "Copied.";
  } catch {
    const selection = getSelection();
    selection.selectAllChildren($("code"));
    $("copied").textContent = "Selected: press Ctrl+C.";
  }
  setTimeout(() => { $("copied").textContent = ""; }, 3000);
}

async function start() {
  try {
    const answer = await fetch("/explore/facts");
    state.facts = await answer.json();
  } catch (error) {
    tell(error);
    return;
  }
  const { facts } = state;
  document.title = `${facts.model}: explorer`;
  $("title").textContent = facts.model;
  $("subtitle").textContent = `The predictive distribution of ${facts.targets.join(", ")} (${facts.kind}). Change a feature and see it move.`;
  $("target").replaceChildren(...facts.targets.map((name, i) => element("option", { value: String(i), textContent: name })));
  $("target-label").hidden = facts.targets.length < 2;
  const used = facts.controls.filter((control) => control.kind !== "unused");
  const unused = facts.controls.filter((control) => control.kind === "unused").map((control) => control.name);
  $("unused").textContent = unused.length ? `Not used by the model: ${unused.join(", ")}.` : "";
  state.controls = used.map((control) => makeControl(control, changed));
  $("controls").replaceChildren(...state.controls.map((control) => control.root));
  $("find-label").hidden = used.length < 12;
  const drawn = facts.controls.map((control, i) => [control, i]).filter(([control]) => !["unused", "text", "time"].includes(control.kind));
  $("fan-column").replaceChildren(...drawn.map(([control, i]) => element("option", { value: String(i), textContent: control.name })));
  if (facts.table) {
    $("loader").hidden = false;
    $("table-name").textContent = facts.table.name;
    $("row-count").textContent = `of ${facts.table.rows}`;
    $("row-number").max = facts.table.rows;
  }
  state.settings = [{ ...facts.start }];
  listen();
  showSetting();
  if (facts.table) await loadRow(1);
  else refresh();
}

start();
