// Charts as SVG. Values from data are set as text or as numbers of attributes, never as markup.

const SVG = "http://www.w3.org/2000/svg";
export const LETTERS = ["a", "b"];

export function node(name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== null) made.textContent = text;
  return made;
}

// Numbers with as many digits as the range that they lie in needs.
export function formatter(low, high) {
  const span = Math.abs(high - low);
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!(span > 0) || size >= 1e12 || (size > 0 && size < 1e-5)) return (value) => Number(value.toPrecision(5)).toString();
  const decimals = Math.min(10, Math.max(0, 2 - Math.floor(Math.log10(span))));
  const format = new Intl.NumberFormat("en", { maximumFractionDigits: decimals });
  return (value) => format.format(Math.abs(value) < 0.5 * 10 ** -decimals ? 0 : value);
}

export function percent(share) {
  if (share === null || share === undefined) return "–";
  // a distribution has some 250 points: it does not tell rarer events apart
  if (share < 0.005) return "< 0.5%";
  if (share > 0.995) return "> 99.5%";
  return `${(100 * share).toFixed(1)}%`;
}

export function ticks(low, high, most) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  let step = 10 ** Math.floor(Math.log10(span / most));
  for (const factor of [1, 2, 5, 10]) if (span / (step * factor) <= most) { step *= factor; break; }
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * span; k += 1) found.push(k * step);
  return found;
}

function prepared(svg, height, label) {
  const width = Math.max(260, Math.round(svg.getBoundingClientRect().width) || 600);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", label);
  svg.replaceChildren();
  return width;
}

function path(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

function anchor(x, width) {
  return x < 40 ? "start" : x > width - 40 ? "end" : "middle";
}

function axis(svg, scale, range, y, width) {
  svg.append(node("path", { class: "axis", d: `M${scale(range[0])} ${y}H${scale(range[1])}` }));
  const format = formatter(...range);
  for (const tick of ticks(...range, Math.max(2, Math.floor(width / 90)))) {
    svg.append(node("path", { class: "axis", d: `M${scale(tick)} ${y}v4` }));
    svg.append(node("text", { x: scale(tick), y: y + 17, "text-anchor": anchor(scale(tick), width) }, format(tick)));
  }
}

// The range of the response that drawings of these predictions need.
export function rangeOf(predictions, more = []) {
  const values = predictions.flatMap((one) => [...one.grid, ...one.atoms, ...one.interval, one.mean]);
  const known = [...values, ...more].filter((value) => Number.isFinite(value));
  if (!known.length) return [0, 1];
  const low = Math.min(...known), high = Math.max(...known);
  const pad = high > low ? 0.03 * (high - low) : Math.max(1, Math.abs(low)) * 0.1;
  return [low - pad, high + pad];
}

export function drawDensity(svg, predictions, range, options) {
  const { threshold, observed, label } = options;
  const height = svg.getBoundingClientRect().width < 460 ? 170 : 250;
  const bottom = height - 24 - 12 * predictions.length, top = 26;
  const width = prepared(svg, height, label);
  const scale = (value) => 8 + ((value - range[0]) / (range[1] - range[0])) * (width - 16);
  const peak = Math.max(...predictions.flatMap((one) => one.density), 1e-300);
  const rise = (density) => bottom - (density / peak) * (bottom - top - 8);
  predictions.forEach((one, k) => drawOne(svg, one, k, { scale, rise, bottom, top, threshold }));
  axis(svg, scale, range, height - 22, width);
  const format = formatter(...range);
  predictions.forEach((one, k) => {
    const y = bottom + 9 + 12 * k;
    svg.append(node("path", { class: `bar ${LETTERS[k]}`, d: `M${scale(one.interval[0])} ${y}H${scale(one.interval[1])}` }));
    svg.append(node("circle", { class: `dot ${LETTERS[k]}`, cx: scale(one.median), cy: y, r: 4.5 }));
  });
  if (threshold !== null && threshold >= range[0] && threshold <= range[1]) {
    const x = scale(threshold);
    svg.append(node("path", { class: "threshold", d: `M${x} ${top - 6}V${bottom}` }));
    const side = x > width - 130 ? "end" : x < 130 ? "start" : "middle";
    svg.append(node("text", { class: "threshold-text", x, y: 12, "text-anchor": side }, `threshold ${format(threshold)}`));
  }
  if (observed !== null) {
    const x = scale(observed);
    svg.append(node("path", { class: "observed", d: `M${x} ${bottom}v-16` }));
    svg.append(node("text", { class: "strong", x: x + (x > width / 2 ? -5 : 5), y: bottom - 6, "text-anchor": x > width / 2 ? "end" : "start" }, `observed ${format(observed)}`));
  }
}

function drawOne(svg, one, k, { scale, rise, bottom, top, threshold }) {
  const letter = LETTERS[k];
  const points = one.grid.map((x, i) => [scale(x), rise(one.density[i])]);
  if (points.length > 1) {
    const area = (part) => `${path(part)}L${part.at(-1)[0].toFixed(1)} ${bottom}L${part[0][0].toFixed(1)} ${bottom}Z`;
    svg.append(node("path", { class: `area ${letter}`, d: area(points) }));
    const tail = threshold === null ? [] : beyond(one, threshold).map(([x, y]) => [scale(x), rise(y)]);
    if (tail.length > 1) svg.append(node("path", { class: `area tail ${letter}`, d: area(tail) }));
    svg.append(node("path", { class: `curve ${letter}`, d: path(points) }));
  }
  const largest = one.masses.map((_, i) => i).sort((i, j) => one.masses[j] - one.masses[i]);
  const named = new Set(largest.slice(0, 3));
  one.atoms.forEach((value, i) => {
    const x = scale(value) + 2 * k, y = bottom - one.masses[i] * (bottom - top - 12);
    svg.append(node("path", { class: `atom ${letter}`, d: `M${x} ${bottom}V${y}` }));
    svg.append(node("circle", { class: `dot ${letter}`, cx: x, cy: y, r: 4 }));
    if (named.has(i) && one.masses[i] >= 0.01) {
      svg.append(node("text", { x: x + 7, y: y + 4 }, percent(one.masses[i])));
    }
  });
}

// The part of a density above a threshold, cut where it crosses.
function beyond(one, threshold) {
  const found = [];
  one.grid.forEach((x, i) => {
    if (x >= threshold && i && one.grid[i - 1] < threshold) {
      const share = (threshold - one.grid[i - 1]) / (x - one.grid[i - 1]);
      found.push([threshold, one.density[i - 1] + share * (one.density[i] - one.density[i - 1])]);
    }
    if (x >= threshold) found.push([x, one.density[i]]);
  });
  return found;
}

function spread(fan, threshold) {
  const values = [...fan.outer.flat(), ...fan.median].filter((value) => value !== null && Number.isFinite(value));
  const low = Math.min(...values), high = Math.max(...values);
  const pad = high > low ? 0.05 * (high - low) : Math.max(1, Math.abs(low)) * 0.1;
  const range = [low - pad, high + pad];
  return { range, line: threshold !== null && threshold > range[0] && threshold < range[1] ? threshold : null };
}

// A fan along numbers or dates; `positions` are the values as numbers, `write` formats one of them.
export function drawFan(svg, fan, positions, here, write, letter, options) {
  const height = 230, left = 56, bottom = height - 24, top = 10;
  const width = prepared(svg, height, options.label);
  const { range, line } = spread(fan, options.threshold);
  const ends = [positions[0], positions.at(-1)];
  const across = (value) => left + ((value - ends[0]) / (ends[1] - ends[0] || 1)) * (width - left - 10);
  const up = (value) => bottom - ((value - range[0]) / (range[1] - range[0])) * (bottom - top);
  for (const [name, band] of [["outer", fan.outer], ["inner", fan.inner]]) {
    const upper = positions.map((x, i) => [across(x), up(band[i][1])]);
    const lower = positions.map((x, i) => [across(x), up(band[i][0])]).reverse();
    svg.append(node("path", { class: `band ${name} ${letter}`, d: `${path([...upper, ...lower])}Z` }));
  }
  svg.append(node("path", { class: `curve ${letter}`, "stroke-dasharray": "none", d: path(positions.map((x, i) => [across(x), up(fan.median[i])])) }));
  if (line !== null) svg.append(node("path", { class: "threshold", d: `M${left} ${up(line)}H${width - 10}` }));
  if (here !== null && here >= ends[0] && here <= ends[1]) {
    svg.append(node("path", { class: "here", d: `M${across(here)} ${top}V${bottom}` }));
  }
  const format = formatter(...range);
  for (const tick of ticks(...range, 4)) {
    svg.append(node("path", { class: "axis", d: `M${left - 4} ${up(tick)}h4` }));
    svg.append(node("text", { x: left - 7, y: up(tick) + 4, "text-anchor": "end" }, format(tick)));
  }
  svg.append(node("path", { class: "axis", d: `M${left} ${top}V${bottom}H${width - 10}` }));
  const marks = options.dated ? [0, 0.5, 1].map((k) => ends[0] + k * (ends[1] - ends[0])) : ticks(...ends, Math.max(2, Math.floor(width / 100)));
  for (const tick of marks) {
    svg.append(node("path", { class: "axis", d: `M${across(tick)} ${bottom}v4` }));
    svg.append(node("text", { x: across(tick), y: bottom + 17, "text-anchor": anchor(across(tick), width) }, write(tick)));
  }
}

// Intervals of categories, one below the other.
export function drawLevels(svg, fan, here, letter, options) {
  const step = 24, height = 30 + step * fan.values.length;
  const width = prepared(svg, height, options.label);
  const left = Math.min(150, 0.36 * width), most = Math.floor(left / 7.5);
  const { range, line } = spread(fan, options.threshold);
  const scale = (value) => left + ((value - range[0]) / (range[1] - range[0])) * (width - left - 10);
  if (line !== null) svg.append(node("path", { class: "threshold", d: `M${scale(line)} 0V${height - 24}` }));
  fan.values.forEach((value, i) => {
    const y = 14 + step * i;
    const name = value === null ? "(missing)" : String(value);
    const short = name.length > most ? `${name.slice(0, most - 1)}…` : name;
    const text = node("text", { x: left - 8, y: y + 4, "text-anchor": "end", class: i === here ? "strong" : "" }, short);
    if (short !== name) text.append(node("title", {}, name));
    svg.append(text);
    for (const [kind, band] of [["outer", fan.outer], ["inner", fan.inner]]) {
      const [x0, x1] = band[i].map(scale);
      svg.append(node("rect", { class: `band ${kind} ${letter}`, x: x0, y: y - 7, width: Math.max(1, x1 - x0), height: 14 }));
    }
    svg.append(node("circle", { class: `dot ${letter}`, cx: scale(fan.median[i]), cy: y, r: i === here ? 5.5 : 4 }));
  });
  axis(svg, scale, range, height - 22, width);
}
