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

  for (const [number, response] of data.responses.entries()) {
    const root = document.getElementById(`rows-${number}`);
    const svg = root.querySelector("svg.density"), space = svg.namespaceURI;
    const input = root.querySelector("input[type=number]"), same = root.querySelector("input[type=checkbox]");
    const status = root.querySelector(".status"), table = root.querySelector(".values tbody");
    const buttons = [...root.querySelectorAll("button[data-row]")];
    let current = -1, W = 620;

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
      const [low, high] = same.checked ? response.range : row.range;
      const x = (v) => LEFT + (v - low) / (high - low) * (W - LEFT - RIGHT);
      const base = H - BOTTOM, tall = H - TOP - BOTTOM;
      const curve = row.x.map((v, i) => [row.range[0] + v / 10000 * (row.range[1] - row.range[0]), row.y[i] / 1000]);
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
      const outline = curve.map(([a, f]) => [x(a), base - f * tall]);
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
      const [q05, q25, q50, q75, q95] = row.quantiles;
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

    const choose = (index) => {
      current = index;
      const row = response.rows[index];
      draw(row);
      input.value = row.row;
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.row) === row.row)));
      status.textContent =
        `${row.title[0].toUpperCase()}${row.title.slice(1)}: median ${format(row.quantiles[2])}, 90% interval ${format(row.interval[0])} to ` +
        `${format(row.interval[1])}, observed ${format(row.observed)} (${row.inside ? "inside" : "outside"}), CRPS ${format(row.crps, 3)}.`;
      table.replaceChildren(...response.features.map((name, j) => {
        const line = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td");
        head.scope = "row"; head.textContent = name; cell.textContent = row.features[j];
        line.append(head, cell);
        return line;
      }));
    };
    const nearest = (wanted) => response.rows.reduce(
      (best, row, i) => (Math.abs(row.row - wanted) < Math.abs(response.rows[best].row - wanted) ? i : best), 0);

    buttons.forEach((b) => b.addEventListener("click", () => choose(nearest(Number(b.dataset.row)))));
    root.querySelectorAll("button[data-step]").forEach((b) => b.addEventListener("click", () => {
      const count = response.rows.length;
      choose((current + Number(b.dataset.step) + count) % count);
    }));
    input.addEventListener("change", () => {
      const wanted = Number(input.value), index = nearest(wanted);
      choose(index);
      if (response.rows[index].row !== wanted) status.textContent = `Row ${wanted} is not in this file. The nearest row in it: ${status.textContent}`;
    });
    same.addEventListener("change", () => draw(response.rows[current]));
    choose(nearest(Number(buttons[0].dataset.row)));
    new ResizeObserver(() => {
      if (Math.abs(Math.min(Math.max(svg.clientWidth, 300), 620) - W) > 4) draw(response.rows[current]);
    }).observe(svg);
  }
})();
