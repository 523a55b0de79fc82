// Figures of a page answer to pointer and keyboard: values, hiding of series, copying of data, light and dark.
// Texts are set as textContent alone; there is no handler in markup. Without this script all figures are complete.
(() => {
  "use strict";
  const NS = "http://www.w3.org/2000/svg";
  const NEAR = 24; // A value farther away than this, in pixels of the drawing, is not shown.
  const TIMES = [[10800, 3600, "h"], [600, 60, "min"], [1, 1, "s"], [1e-3, 1e-3, "ms"], [1e-6, 1e-6, "µs"], [0, 1e-9, "ns"]];
  const LARGE = [[1e12, "T"], [1e9, "G"], [1e6, "M"]];

  const digits = (value) => {
    if (value !== 0 && (Math.abs(value) < 1e-6 || Math.abs(value) >= 1e7)) return value.toExponential(2);
    return String(Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
  };

  const shown = (value, unit) => {
    if (unit === "share") return digits(value * 100) + "%";
    if (unit === "ms" || unit === "s") {
      const seconds = unit === "ms" ? value / 1000 : value;
      if (seconds === 0) return "0 " + unit;
      const [, one, name] = TIMES.find(([least]) => Math.abs(seconds) >= least);
      return digits(seconds / one) + " " + name;
    }
    const [one, letter] = LARGE.find(([least]) => Math.abs(value) >= least) || [1, ""];
    return digits(value / one) + letter + (unit ? " " + unit : "");
  };

  const place = (axis, value) => {
    if (typeof value !== "number" || (axis.log && value <= 0)) return null;
    const scaled = axis.log ? Math.log10 : (it) => it;
    const share = (scaled(value) - scaled(axis.low)) / (scaled(axis.high) - scaled(axis.low));
    return axis.from + share * (axis.to - axis.from);
  };

  // Columns that are equal stand once in the data; cells of a heat map become rows.
  const expand = (data) => {
    for (const series of data.series) {
      if (series.heat) {
        const { x, y, counts } = series.heat;
        const cells = { x: [], x_end: [], low: [], high: [], count: [] };
        counts.slice(0, x.length - 1).forEach((column, i) => column.slice(0, y.length - 1).forEach((count, j) => {
          if (count) [x[i], x[i + 1], y[j], y[j + 1], count].forEach((it, k) => Object.values(cells)[k].push(it));
        }));
        series.cells = cells;
      }
      for (const name of Object.keys(series.cells)) {
        const cells = series.cells[name];
        if (typeof cells === "number") series.cells[name] = data.series[cells].cells[name];
      }
      series.size = Math.max(0, ...Object.values(series.cells).map((it) => it.length));
    }
  };

  const csv = (data) => {
    const text = (it) => {
      const safe = /^[=+\-@]/.test(it) ? "'" + it : it;
      return /[",]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
    };
    const cell = (it) => (it === null || it === undefined ? "" : typeof it === "number" ? String(it) : text(it));
    const lines = [["series", ...data.columns.map(([, title]) => text(title))].join(",")];
    for (const { name, cells, size } of data.series) {
      for (let row = 0; row < size; row++) {
        lines.push([text(name), ...data.columns.map(([column]) => cell(cells[column] && cells[column][row]))].join(","));
      }
    }
    return lines.join("\n") + "\n";
  };

  // What each shape says at a point of the drawing: [{ x, y, lines: [[name, value]] }] with places in pixels.
  const readings = (data, series, at) => {
    const { x, y } = data;
    const c = series.cells;
    const px = (row, column = "x") => place(x, c[column][row]);
    const py = (row, column = "y") => place(y, c[column][row]);
    const yes = (value) => shown(value, y.unit);
    let best = null;
    let least = Infinity;
    const nearest = (distance) => {
      for (let row = 0; row < series.size; row++) {
        const found = distance(row);
        if (found !== null && found < least) [best, least] = [row, found];
      }
      return best !== null && least <= NEAR;
    };
    switch (series.shape) {
      case "line":
      case "points": {
        const flat = series.shape === "line" ? 0 : 1;
        if (!nearest((row) => (px(row) === null || py(row) === null ? null : Math.hypot(px(row) - at.x, flat * (py(row) - at.y))))) return null;
        const range = c.low && typeof c.low[best] === "number" ? ` (${yes(c.low[best])} to ${yes(c.high[best])})` : "";
        const label = c.label && c.label[best] ? c.label[best] + ": " : "";
        const lead = flat ? shown(c.x[best], x.unit) + ", " : "";
        return { x: px(best), y: py(best), text: label + lead + yes(c.y[best]) + range };
      }
      case "steps": {
        for (let row = 0; row < series.size && px(row) <= at.x + 0.5; row++) best = row;
        if (best === null || py(best) === null) return null;
        return { x: at.x, y: py(best), text: yes(c.y[best]), loose: true };
      }
      case "band": {
        if (!nearest((row) => (px(row) === null ? null : Math.abs(px(row) - at.x)))) return null;
        return { x: px(best), y: null, text: yes(c.low[best]) + " to " + yes(c.high[best]) };
      }
      case "bars": {
        for (let row = 0; row < series.size; row++) if (px(row) <= at.x && at.x < px(row, "x_end")) best = row;
        if (best === null) return null;
        return { x: (px(best) + px(best, "x_end")) / 2, y: null, text: yes(c.y[best]) };
      }
      case "heat": {
        for (let row = 0; row < series.size; row++) {
          if (px(row) <= at.x && at.x < px(row, "x_end") && py(row, "high") <= at.y && at.y < py(row, "low")) best = row;
        }
        const text = best === null ? "0" : `${c.count[best]} from ${yes(c.low[best])} to ${yes(c.high[best])}`;
        return { x: at.x, y: at.y, text, loose: true };
      }
      default: {
        best = Math.floor(y.low * ((at.y - y.to) / (y.from - y.to)));
        if (!(best >= 0 && best < series.size)) return null;
        const times = [["waited", c.due[best], c.sent[best]], ["first token after", c.sent[best], c.first_token[best]],
          ["tokens for", c.first_token[best], c.ended[best]], ["in all", c.due[best], c.ended[best]]];
        const known = times.filter(([, from, to]) => typeof from === "number" && typeof to === "number");
        const phases = known.map(([name, from, to]) => `${name} ${shown(to - from, x.unit)}`).join(", ");
        const row = y.to + ((best + 0.5) / y.low) * (y.from - y.to);
        return { x: at.x, y: row, text: `${c.outcome[best]}, due at ${shown(c.due[best], x.unit)}: ${phases}`, name: c.label[best], loose: true };
      }
    }
  };

  const element = (name, attributes, parent) => {
    const it = document.createElementNS(NS, name);
    for (const key of Object.keys(attributes)) it.setAttribute(key, attributes[key]);
    parent.append(it);
    return it;
  };

  const start = (figure) => {
    const view = figure.querySelector(".chart-view");
    const svg = view && view.querySelector("svg");
    const source = figure.querySelector('script[type="application/json"]');
    if (!svg || !source) return;
    const data = JSON.parse(source.textContent);
    expand(data);
    const hidden = new Set();

    // A title element would show the browser's own tooltip beside ours.
    const name = svg.querySelector("title");
    if (name) svg.setAttribute("aria-label", name.textContent);
    svg.removeAttribute("aria-labelledby");
    svg.querySelectorAll("title").forEach((it) => it.remove());

    const cursor = element("g", { display: "none", "pointer-events": "none" }, svg);
    const rule = element("path", { class: "chart-rule", d: "" }, cursor);
    const tip = document.createElement("div");
    tip.className = "chart-tip";
    tip.hidden = true;
    tip.setAttribute("role", "status");
    view.append(tip);

    const hide = () => {
      cursor.setAttribute("display", "none");
      tip.hidden = true;
    };

    const line = (name, text, colour) => {
      const row = document.createElement("div");
      if (colour) {
        const dot = document.createElement("i");
        dot.style.background = colour;
        row.append(dot);
      }
      const label = document.createElement("span");
      label.textContent = name;
      const value = document.createElement("b");
      value.textContent = text;
      row.append(label, value);
      tip.append(row);
    };

    const { x, y } = data;
    const at = { x: (x.from + x.to) / 2, y: (y.from + y.to) / 2 };
    const show = () => {
      const visible = data.series.filter((it) => it.shape === "requests" || !hidden.has(it.key));
      const found = visible.map((series) => ({ series, it: readings(data, series, at) })).filter(({ it }) => it);
      if (!found.length) return hide();
      // All values are of the x that is nearest to the pointer.
      const firm = found.filter(({ it }) => !it.loose);
      const near = firm.reduce((best, { it }) => (best === null || Math.abs(it.x - at.x) < Math.abs(best - at.x) ? it.x : best), null);
      const middle = near === null ? at.x : near;
      const share = (middle - x.from) / (x.to - x.from);
      const value = x.log ? x.low * (x.high / x.low) ** share : x.low + share * (x.high - x.low);
      rule.setAttribute("d", `M${middle} ${y.to}V${y.from}`);
      cursor.querySelectorAll("circle").forEach((it) => it.remove());
      tip.replaceChildren();
      const points = found.every(({ series }) => series.shape === "points");
      const shades = data.shades.filter(([from, to]) => from <= value && value <= to).map((it) => it[2]);
      const marks = data.marks.filter(([mark]) => Math.abs(place(x, mark) - middle) < 6).map((it) => it[1]);
      line(points ? "" : [x.label, ...shades, ...marks].filter(Boolean).join(" · "), points ? "" : shown(value, x.unit));
      if (points) tip.replaceChildren();
      for (const { series, it } of found) {
        line(it.name || series.name, it.text, series.shape === "heat" || series.shape === "requests" ? "" : series.colour);
        if (it.y !== null) element("circle", { cx: it.x, cy: it.y, r: 4, fill: series.colour, class: "chart-dot" }, cursor);
      }
      rule.setAttribute("display", points ? "none" : "inline");
      cursor.setAttribute("display", "inline");
      tip.hidden = false;
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const left = middle * scale;
      const flip = left > view.clientWidth / 2;
      tip.style.left = (flip ? Math.max(0, left - tip.offsetWidth - 12) : Math.min(left + 12, view.clientWidth - tip.offsetWidth)) + "px";
      tip.style.top = Math.max(0, Math.min(at.y * scale - tip.offsetHeight / 2, view.clientHeight - tip.offsetHeight)) + "px";
    };

    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      at.x = (event.clientX - box.left) * scale;
      at.y = (event.clientY - box.top) * scale;
      const inside = at.x >= x.from - 6 && at.x <= x.to + 6 && at.y >= y.to - 6 && at.y <= y.from + 6;
      if (inside) show();
      else hide();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.setAttribute("tabindex", "0");

    // The places at which the arrow keys stop.
    const stops = (axis, names) => {
      const all = data.series.filter((it) => !hidden.has(it.key)).flatMap((it) => names.flatMap((name) => it.cells[name] || []));
      return [...new Set(all.map((it) => place(axis, it)).filter((it) => it !== null).map((it) => Math.round(it * 10) / 10))].sort((a, b) => a - b);
    };
    const next = (all, from, step) => (step > 0 ? all.find((it) => it > from + 0.05) : all.findLast((it) => it < from - 0.05)) ?? from;
    svg.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-2, 0], End: [2, 0] }[event.key];
      if (event.key === "Escape") hide();
      if (!steps) return;
      event.preventDefault();
      const rows = data.series.some((it) => it.shape === "requests");
      if (steps[0]) {
        const all = stops(x, ["x", "due"]);
        at.x = Math.abs(steps[0]) === 2 ? (steps[0] < 0 ? all[0] : all[all.length - 1]) ?? at.x : next(all, at.x, steps[0]);
        // The value of a bar or a cell is right of its beginning.
        if (data.series.some((it) => it.cells.x_end)) at.x += 0.05;
        const point = data.series.find((it) => it.shape === "points" && !hidden.has(it.key));
        const row = point ? point.cells.x.findIndex((it) => Math.abs(place(x, it) - at.x) < 0.2) : -1;
        if (row >= 0) at.y = place(y, point.cells.y[row]);
      } else if (rows) {
        const height = (y.from - y.to) / y.low;
        at.y = Math.min(y.from - height / 2, Math.max(y.to + height / 2, at.y + steps[1] * height));
      } else {
        at.y = next(stops(y, ["high"]), at.y - 0.1, steps[1]) + 0.1;
      }
      show();
    });

    figure.querySelectorAll(".chart-legend button").forEach((button) => button.addEventListener("click", () => {
      const key = Number(button.dataset.key);
      const off = !hidden.delete(key);
      if (off) hidden.add(key);
      button.setAttribute("aria-pressed", String(!off));
      svg.querySelectorAll(`[data-key="${key}"]`).forEach((it) => it.setAttribute("display", off ? "none" : "inline"));
      hide();
    }));

    const copy = figure.querySelector(".chart-copy");
    if (!copy) return;
    copy.hidden = false;
    const label = copy.textContent;
    const say = (text) => {
      copy.textContent = text;
      setTimeout(() => { copy.textContent = label; }, 2000);
    };
    // Without the clipboard of a secure page: a selection, and then a file.
    const otherwise = (text) => {
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "chart-area";
      document.body.append(area);
      area.select();
      let copied = false;
      try { copied = document.execCommand("copy"); } catch { copied = false; }
      area.remove();
      copy.focus();
      if (copied) return say("Copied");
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.download = data.id + ".csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      say("Saved as a file");
    };
    copy.addEventListener("click", () => {
      const text = csv(data);
      if (navigator.clipboard && window.isSecureContext) {
        navigator.clipboard.writeText(text).then(() => say("Copied"), () => otherwise(text));
      } else {
        otherwise(text);
      }
    });
  };

  document.querySelectorAll("figure.chart").forEach((figure) => {
    // A fault in one figure leaves the others as they are.
    try { start(figure); } catch (error) { console.warn("figure", figure.id, error); }
  });

  const root = document.documentElement;
  document.querySelectorAll("button.theme-switch").forEach((button) => {
    button.hidden = false;
    const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
    button.setAttribute("aria-pressed", String(dark()));
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      button.setAttribute("aria-pressed", String(dark()));
    });
  });
})();
