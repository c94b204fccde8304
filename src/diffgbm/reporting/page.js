"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const H = 330, LEFT = 14, RIGHT = 14, TOP = 44, BOTTOM = 48;

  const nice = (low, high, most) => {
    const rough = (high - low) / (most - 1), unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * unit).find((s) => s >= rough * (1 - 1e-9));
    const values = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) values.push(k * step);
    return values;
  };
  const format = (value, digits = 4) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e9 || size < 1e-4) return value.toExponential(digits - 1).replaceAll("-", "−");
    return value.toLocaleString("en-US", { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(size + 1))) })
      .replaceAll("-", "−");
  };
  // ticks have as many decimals as their step needs
  const ticked = (value, step) => {
    if (Math.abs(step) < 1e-6 || Math.abs(value) >= 1e9) return value.toExponential(3).replaceAll("-", "−");
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (/^2\.5/.test((step / 10 ** Math.floor(Math.log10(step) + 1e-9)).toFixed(1)) ? 1 : 0));
    return (Math.abs(value) < step / 1e6 ? 0 : value)
      .toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replaceAll("-", "−");
  };

  // two characters of 6 bits each are a number between 0 and 1
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unpack = (text = "") => {
    const values = [];
    for (let i = 0; i < text.length; i += 2) values.push((64 * digits.indexOf(text[i]) + digits.indexOf(text[i + 1])) / 4095);
    return values;
  };
  const FEW = 12, MORE = 12;
  const rowNumber = (i) => (data.rows ? data.rows[i] : i + 1);
  const place = data.rows ? new Map(data.rows.map((row, i) => [row, i])) : null;
  const placeOf = (row) => (place ? place.get(row) : Number.isInteger(row) && row >= 1 && row <= data.count ? row - 1 : undefined);
  const drawnPlace = new Map(data.drawn.map((row, i) => [row, i]));
  const titleOf = (i) => `row ${rowNumber(i).toLocaleString("en-US")}` + (data.labels ? ` (labelled ${data.labels[i]})` : "");

  // what is known of a row: its numbers, and its density if it is in the file
  const rowOf = (response, i) => {
    const t = response.table, number = rowNumber(i), density = response.densities[number];
    const interval = [t.lower[i], t.upper[i]], observed = t.observed[i];
    const ends = [Math.min(...interval, observed), Math.max(...interval, observed)];
    const margin = 0.15 * (ends[1] - ends[0]) || 0.5 * Math.max(1, Math.abs(observed));
    return {
      row: number, title: titleOf(i), observed, interval, median: t.median[i], crps: t.crps[i],
      inside: interval[0] <= observed && observed <= interval[1], known: density !== undefined,
      range: density ? density.range : [ends[0] - margin, ends[1] + margin],
      inner: density ? density.inner : [t.median[i], t.median[i], t.median[i]],
      x: unpack(density?.x), y: unpack(density?.y), peak: density?.peak ?? 0, atoms: density?.atoms ?? [],
    };
  };

  const pickers = data.responses.map((response, number) => {
    const root = document.getElementById(`rows-${number}`);
    const svg = root.querySelector("svg.density"), space = svg.namespaceURI;
    const input = root.querySelector("input[type=number]"), same = root.querySelector("input[type=checkbox]");
    const status = root.querySelector(".status"), table = root.querySelector(".values tbody");
    const more = root.querySelector(".more");
    const buttons = [...root.querySelectorAll("button[data-row]")];
    const shown = Object.keys(response.densities).map(Number).sort((a, b) => a - b);
    let current = null, W = 620, expanded = false;

    const add = (name, attributes, text) => {
      const element = document.createElementNS(space, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (text !== undefined) element.textContent = text;
      svg.append(element);
    };
    const points = (list) => list.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

    const draw = (row) => {
      svg.replaceChildren();
      // drawn in screen pixels, so that texts keep their size on a phone
      W = Math.round(Math.min(Math.max(svg.clientWidth || 620, 300), 620));
      svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
      const own = row.range, common = response.range;
      // the common axis, extended where the interval or the observation of this row lies beyond it
      const [low, high] = same.checked
        ? [Math.min(common[0], row.observed, row.interval[0]), Math.max(common[1], row.observed, row.interval[1])] : own;
      const x = (v) => LEFT + (v - low) / (high - low) * (W - LEFT - RIGHT);
      const base = H - BOTTOM, tall = H - TOP - BOTTOM;
      const curve = row.x.map((v, i) => [row.range[0] + v * (row.range[1] - row.range[0]), row.y[i]]);
      const clear = (v) => Math.min(Math.max(v, LEFT), W - RIGHT);
      if (row.peak > 0) {
        response.climate.forEach(([a, b, f]) => {
          const left = clear(x(a)), right = clear(x(b)), height = Math.min(f / row.peak, 1.04) * tall;
          if (right > left && height > 0)
            add("rect", { class: "climate", x: left.toFixed(1), y: (base - height).toFixed(1), width: (right - left).toFixed(1), height: height.toFixed(1) });
        });
      }
      const step = (list) => (list.length > 1 ? list[1] - list[0] : 1);
      const ticks = nice(low, high, W < 450 ? 5 : 7);
      add("line", { class: "axis", x1: LEFT, y1: base, x2: W - RIGHT, y2: base });
      for (const t of ticks) {
        add("line", { class: "axis", x1: x(t).toFixed(1), y1: base, x2: x(t).toFixed(1), y2: base + 4 });
        add("text", { class: "tick", x: Math.min(Math.max(x(t), 22), W - 22).toFixed(1), y: base + 19, "text-anchor": "middle" }, ticked(t, step(ticks)));
      }
      add("text", { class: "label", x: W / 2, y: H - 7, "text-anchor": "middle" }, response.name);
      const outline = curve.filter(([a]) => a >= low && a <= high).map(([a, f]) => [x(a), base - f * tall]);
      const clip = (from, to) => curve.filter(([a]) => a > from && a < to).map(([a, f]) => [x(a), base - f * tall]);
      const height = (a) => {
        for (let i = 1; i < curve.length; i++) {
          const [[a0, f0], [a1, f1]] = [curve[i - 1], curve[i]];
          if (a >= a0 && a <= a1) return a1 > a0 ? f0 + (f1 - f0) * (a - a0) / (a1 - a0) : Math.max(f0, f1);
        }
        return 0;
      };
      const fill = (from, to, style) => {
        const edge = (a) => [x(a), base - height(a) * tall];
        add("polygon", { class: style, points: points([[x(from), base], edge(from), ...clip(from, to), edge(to), [x(to), base]]) });
      };
      const [q25, q50, q75] = row.inner;
      if (outline.length) {
        fill(row.interval[0], row.interval[1], "area");
        fill(q25, q75, "inner");
        add("polyline", { class: "curve", points: points(outline) });
        add("line", { class: "curve", x1: x(q50).toFixed(1), y1: base, x2: x(q50).toFixed(1), y2: (base - height(q50) * tall).toFixed(1) });
      }
      const largest = Math.max(...row.atoms.map((a) => a[1]), 0);
      let labelled = -1e9;
      for (const [value, mass] of row.atoms) {
        const up = outline.length ? mass * tall * 0.96 : mass / largest * tall * 0.94;
        add("line", { class: "stem", x1: x(value).toFixed(1), y1: base, x2: x(value).toFixed(1), y2: (base - up).toFixed(1) });
        if (x(value) - labelled > 42) {
          // beside the line of the observed value, not behind it
          const beside = Math.abs(x(value) - x(row.observed)) < 18;
          add("text", { class: "tick", x: (clear(x(value)) + (beside ? 6 : 0)).toFixed(1), y: (base - up - 6).toFixed(1), "text-anchor": beside ? "start" : "middle" }, `${(100 * mass).toFixed(0)}%`);
          labelled = x(value);
        }
      }
      for (const end of row.interval) {
        const at = clear(x(end));
        add("line", { class: "whisker", x1: at.toFixed(1), y1: base - 9, x2: at.toFixed(1), y2: base + 9 });
      }
      const seen = clear(x(row.observed));
      add("line", { class: "truth", x1: seen.toFixed(1), y1: TOP - 16, x2: seen.toFixed(1), y2: base });
      add("circle", { class: "truth-dot", cx: seen.toFixed(1), cy: TOP - 16, r: 5 });
      const anchor = seen > W - 130 ? "end" : "start", shift = anchor === "end" ? -10 : 10;
      add("text", { class: "observed", x: (seen + shift).toFixed(1), y: TOP - 12, "text-anchor": anchor }, `observed ${format(row.observed)}`);
      svg.setAttribute("aria-label",
        `Predictive density of ${response.name} in ${row.title}: median ${format(q50)}, 90% interval from ` +
        `${format(row.interval[0])} to ${format(row.interval[1])}, observed ${format(row.observed)}.`);
    };

    const listed = () => {
      const at = drawnPlace.get(current.row), long = response.features.length > MORE;
      const names = expanded || !long ? response.features : response.features.slice(0, FEW);
      table.replaceChildren(...names.map((key) => {
        const line = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td");
        head.scope = "row"; head.textContent = data.columns[key].name;
        cell.textContent = at === undefined ? "not in this file" : data.columns[key].values[at];
        line.append(head, cell);
        return line;
      }));
      more.hidden = !long;
      more.textContent = expanded ? `Show the first ${FEW} features` : `Show all ${response.features.length} features`;
      more.setAttribute("aria-expanded", String(expanded));
    };
    const choose = (row) => {
      current = rowOf(response, placeOf(row));
      draw(current);
      input.value = row;
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.row) === row)));
      status.textContent =
        `${current.title[0].toUpperCase()}${current.title.slice(1)}: median ${format(current.median)}, 90% interval ` +
        `${format(current.interval[0])} to ${format(current.interval[1])}, observed ${format(current.observed)} ` +
        `(${current.inside ? "inside" : "outside"}), CRPS ${format(current.crps, 3)}.` +
        (current.known ? "" : " The density of this row is not in this file.");
      listed();
    };

    buttons.forEach((b) => b.addEventListener("click", () => choose(Number(b.dataset.row))));
    root.querySelectorAll("button[data-step]").forEach((b) => b.addEventListener("click", () => {
      // from one row with a density to the next
      const step = Number(b.dataset.step);
      const next = step > 0 ? shown.find((row) => row > current.row) : shown.findLast((row) => row < current.row);
      choose(next ?? shown.at(step > 0 ? 0 : -1));
    }));
    input.addEventListener("change", () => {
      const wanted = Number(input.value);
      if (placeOf(wanted) !== undefined) choose(wanted);
      else status.textContent = `Row ${input.value} is not in this file.`;
    });
    same.addEventListener("change", () => draw(current));
    more.addEventListener("click", () => { expanded = !expanded; listed(); });
    choose(Number(buttons[0].dataset.row));
    new ResizeObserver(() => {
      if (Math.abs(Math.min(Math.max(svg.clientWidth, 300), 620) - W) > 4) draw(current);
    }).observe(svg);
    return { choose, root };
  });

  const FILTERS = {
    all: () => true,
    outside: (t, i) => t.observed[i] < t.lower[i] || t.observed[i] > t.upper[i],
    above: (t, i) => t.observed[i] > t.upper[i],
    below: (t, i) => t.observed[i] < t.lower[i],
    inside: (t, i) => t.observed[i] >= t.lower[i] && t.observed[i] <= t.upper[i],
  };
  const ORDERS = {
    crps: (t, i) => t.crps[i],
    error: (t, i) => Math.abs(t.observed[i] - t.median[i]),
    width: (t, i) => t.upper[i] - t.lower[i],
    observed: (t, i) => t.observed[i],
    median: (t, i) => t.median[i],
    novelty: (t, i) => (t.novelty ? -t.novelty[i] : 0),
  };
  // spreadsheets take a text that begins like this for a formula
  const csvText = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };

  data.responses.forEach((response, number) => {
    const root = document.getElementById(`table-rows-${number}`), t = response.table, size = Number(root.dataset.size);
    const search = root.querySelector("input[type=search]"), status = root.querySelector(".status");
    const filter = root.querySelector("[data-role=filter]"), order = root.querySelector("[data-role=order]");
    const body = root.querySelector("tbody"), steps = [...root.querySelectorAll("button[data-page]")];
    const every = Array.from({ length: data.count }, (_, i) => i);
    let found = every, page = 0;

    const cell = (line, label, text, style) => {
      const td = document.createElement("td");
      td.dataset.label = label;
      if (style) td.className = style;
      if (text !== undefined) td.textContent = text;
      line.append(td);
      return td;
    };
    const show = () => {
      const first = page * size, pages = Math.max(1, Math.ceil(found.length / size));
      body.replaceChildren(...found.slice(first, first + size).map((i) => {
        const line = document.createElement("tr"), button = document.createElement("button");
        const out = FILTERS.outside(t, i);
        button.type = "button";
        button.textContent = rowNumber(i).toLocaleString("en-US");
        button.setAttribute("aria-label", `show ${titleOf(i)}`);
        button.addEventListener("click", () => {
          pickers[number].choose(rowNumber(i));
          pickers[number].root.scrollIntoView({ block: "nearest" });
        });
        cell(line, "row").append(button);
        if (data.labels) cell(line, "label", data.labels[i], "wrap");
        cell(line, "observed", format(t.observed[i]) + (out ? " (outside)" : ""), out ? "out" : "");
        cell(line, "median", format(t.median[i]));
        cell(line, "lower", format(t.lower[i]));
        cell(line, "upper", format(t.upper[i]));
        cell(line, "CRPS", format(t.crps[i], 3));
        if (t.novelty) cell(line, "novelty", format(t.novelty[i], 2));
        if (t.epistemic) cell(line, "epistemic", t.epistemic[i] === null ? "" : `${Math.round(100 * t.epistemic[i])}%`);
        return line;
      }));
      const whole = data.count.toLocaleString("en-US");
      status.textContent = found.length === 0 ? `No row of ${whole} matches.`
        : `${found.length.toLocaleString("en-US")} of ${whole} rows match; page ${page + 1} of ${pages.toLocaleString("en-US")}.`;
      steps.forEach((b) => { b.disabled = b.dataset.page === "1" ? page + 1 >= pages : page === 0; });
    };
    const find = () => {
      const wanted = search.value.trim().toLowerCase(), digits = wanted.replaceAll(",", "");
      const matches = (i) => wanted === "" || String(rowNumber(i)).startsWith(digits)
        || (data.labels !== null && data.labels[i].toLowerCase().includes(wanted));
      found = every.filter((i) => FILTERS[filter.value](t, i) && matches(i));
      const key = ORDERS[order.value];
      if (key) found.sort((a, b) => key(t, b) - key(t, a) || a - b);
      // the row with exactly this number or label comes first
      const exact = wanted === "" ? -1 : found.findIndex((i) => String(rowNumber(i)) === digits || data.labels?.[i].toLowerCase() === wanted);
      if (exact > 0) found.unshift(...found.splice(exact, 1));
      page = 0;
      show();
    };
    const download = () => {
      const names = ["observed", "mean", "median", "lower", "upper", "crps", "pit"];
      const extra = ["novelty", "epistemic"].filter((name) => t[name]);
      const head = ["row", ...(data.labels ? ["label"] : []), "observed", "mean", "median", "lower_90", "upper_90", "crps", "pit", "inside_90", ...extra];
      const lines = found.map((i) => [
        rowNumber(i), ...(data.labels ? [csvText(data.labels[i])] : []), ...names.map((name) => t[name][i]),
        FILTERS.outside(t, i) ? 0 : 1, ...extra.map((name) => t[name][i] ?? "")].join(","));
      const blob = new Blob([[head.join(","), ...lines, ""].join("\r\n")], { type: "text/csv" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = data.responses.length > 1 ? `predictions-${number + 1}.csv` : "predictions.csv";
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    };
    search.addEventListener("input", find);
    filter.addEventListener("change", find);
    order.addEventListener("change", find);
    steps.forEach((b) => b.addEventListener("click", () => { page += Number(b.dataset.page); show(); }));
    root.querySelector(".download").addEventListener("click", download);
    find();
  });
})();
