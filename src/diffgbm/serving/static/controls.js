// Controls of features. Each writes its value with `changed(name, value)` and shows one with `show(value)`.

const DAY = 86400000;

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "for" || key === "list" || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

export function dayOf(text) {
  if (typeof text !== "string") return null;
  const stamp = Date.parse(/[zZ]$|[+-]\d\d:?\d\d$/.test(text.slice(10)) || text.length === 10 ? text : `${text}Z`);
  return Number.isFinite(stamp) ? stamp / DAY : null;
}

export function dateText(day, timed, suffix) {
  const stamp = new Date(Math.round(day * 1440) * 60000);
  if (!Number.isFinite(stamp.getTime())) return null;
  const iso = stamp.toISOString();
  return timed ? iso.slice(0, 16) + suffix : iso.slice(0, 10);
}

export function written(value) {
  return value === null || value === undefined ? "missing" : String(value);
}

let count = 0;

// Makes the control of a feature: { root, show, tell }.
export function makeControl(facts, changed) {
  count += 1;
  const id = `control-${count}`;
  const makers = { number, flag, category, date: dated, moment: dated, time, text };
  const inputs = makers[facts.kind](facts, id, (value) => changed(facts.name, value));
  const differs = element("span", { className: "differs" });
  const head = element("div", { className: "head" }, element("label", { className: "name", for: id, textContent: facts.name }), differs);
  const row = element("div", { className: "inputs" }, ...inputs.nodes);
  const root = element("div", { className: "control" }, head, row);
  if (inputs.canMiss) {
    const box = element("input", { type: "checkbox" });
    const label = element("label", { className: "missing", title: `${facts.name} is missing` }, box, " missing");
    box.setAttribute("aria-label", `${facts.name} is missing`);
    row.append(label);
    let last = facts.value;
    box.addEventListener("change", () => {
      const value = box.checked ? null : last;
      show(value);
      changed(facts.name, value);
    });
    const plain = inputs.show;
    inputs.show = (value) => {
      box.checked = value === null;
      if (value !== null) last = value;
      plain(value);
    };
  }
  const show = (value) => inputs.show(value);
  const tell = (text) => { differs.textContent = text; };
  return { root, show, tell, name: facts.name };
}

function number(facts, id, changed) {
  const box = element("input", { type: "number", step: "any", id, inputMode: "decimal" });
  const nodes = [box];
  let slider = null;
  if (facts.low !== null) {
    slider = element("input", { type: "range", min: facts.low, max: facts.high, step: facts.step });
    slider.setAttribute("aria-label", `${facts.name}, slider`);
    slider.addEventListener("input", () => {
      box.value = slider.value;
      changed(Number(slider.value));
    });
    nodes.unshift(slider);
  }
  box.addEventListener("input", () => {
    const value = box.value === "" ? null : Number(box.value);
    if (value !== null && slider) slider.value = value;
    if (value === null || Number.isFinite(value)) changed(value);
  });
  const show = (value) => {
    box.value = value === null ? "" : value;
    if (slider && value !== null) slider.value = value;
  };
  return { nodes, show, canMiss: true };
}

function flag(facts, id, changed) {
  return menu([[1, "1 (yes)"], [0, "0 (no)"]], id, changed);
}

function category(facts, id, changed) {
  if (facts.levels.length <= 200 && !facts.more_levels) {
    return menu(facts.levels.map((level) => [level, String(level)]), id, changed);
  }
  const numeric = facts.levels.length > 0 && facts.levels.every((level) => typeof level === "number");
  const box = element("input", { type: "text", id, list: `${id}-levels`, autocomplete: "off" });
  const list = element("datalist", { id: `${id}-levels` }, ...facts.levels.map((level) => element("option", { value: String(level) })));
  const read = () => (box.value === "" ? null : numeric && Number.isFinite(Number(box.value)) ? Number(box.value) : box.value);
  box.addEventListener("input", () => changed(read()));
  return { nodes: [box, list], show: (value) => { box.value = value === null ? "" : String(value); }, canMiss: false };
}

// A menu of values; a value that it lacks, such as a new category of a table, is added.
function menu(pairs, id, changed) {
  const values = [...pairs.map(([value]) => value), null];
  const names = [...pairs.map(([, name]) => name), "(missing)"];
  const options = names.map((name, i) => element("option", { value: String(i), textContent: name }));
  const select = element("select", { id }, ...options);
  select.addEventListener("change", () => changed(values[Number(select.value)]));
  const show = (value) => {
    const plain = value === true ? 1 : value === false ? 0 : value;
    let i = values.findIndex((one) => one === value || one === plain || (one !== null && value !== null && String(one) === String(value)));
    if (i < 0) {
      i = values.push(value) - 1;
      select.append(element("option", { value: String(i), textContent: String(value) }));
    }
    select.value = String(i);
  };
  return { nodes: [select], show, canMiss: false };
}

function dated(facts, id, changed) {
  const timed = facts.kind === "moment";
  const box = element("input", { type: timed ? "datetime-local" : "date", id });
  const slider = element("input", { type: "range", min: facts.low, max: facts.high, step: facts.step });
  slider.setAttribute("aria-label", `${facts.name}, slider`);
  const put = (value) => { box.value = value === null ? "" : value.slice(0, timed ? 16 : 10); };
  slider.addEventListener("input", () => {
    const value = dateText(Number(slider.value), timed, facts.suffix);
    put(value);
    changed(value);
  });
  box.addEventListener("input", () => {
    const value = box.value === "" ? null : box.value + facts.suffix;
    if (value !== null && dayOf(value) !== null) slider.value = dayOf(value);
    changed(value);
  });
  const show = (value) => {
    const day = dayOf(value);
    put(value === null ? null : day === null ? "" : dateText(day, timed, ""));
    if (day !== null) slider.value = day;
  };
  return { nodes: [slider, box], show, canMiss: true };
}

function time(facts, id, changed) {
  const box = element("input", { type: "time", id });
  box.addEventListener("input", () => changed(box.value === "" ? null : box.value));
  return { nodes: [box], show: (value) => { box.value = value === null ? "" : value.slice(0, 5); }, canMiss: true };
}

function text(facts, id, changed) {
  const box = element("textarea", { id, rows: 2 });
  box.addEventListener("input", () => changed(box.value));
  return { nodes: [box], show: (value) => { box.value = value === null ? "" : value; }, canMiss: false };
}
