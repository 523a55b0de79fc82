// Figures answer to pointer and keyboard. They are complete without it. Texts are textContent alone.
(() => {
"use strict";
const NEAR = 24; // A value farther away is not shown. Across, the unit is that of the drawing: it is as wide as `data.width`.
const TIMES = [[10800, 3600, "h"], [600, 60, "min"], [1, 1, "s"], [1e-3, 1e-3, "ms"], [1e-6, 1e-6, "µs"], [0, 1e-9, "ns"]];
const LARGE = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [0, ""]];
const isNumber = (it) => typeof it === "number";

const digits = (it) => {
	const size = Math.abs(it);
	if (it && (size < 1e-6 || size >= 1e7)) return it.toExponential(2);
	return String(size >= 1000 ? Math.round(it) : Number(it.toPrecision(3)));
};

const written = (value, unit) => {
	if (unit === "share") return digits(value * 100) + "%";
	if (unit === "ms" || unit === "s") {
		const seconds = unit === "ms" ? value / 1000 : value;
		const [, one, name] = value ? TIMES.find(([least]) => Math.abs(seconds) >= least) : [0, 1, unit];
		return digits(seconds / one) + " " + name;
	}
	const [one, letter] = LARGE.find(([least]) => Math.abs(value) >= least);
	return digits(value / (one || 1)) + letter + (unit && " " + unit);
};

// From a value to a place in the drawing.
const place = (axis, value) => {
	if (!isNumber(value) || (axis.log && value <= 0)) return null;
	const to = axis.log ? Math.log10 : (it) => it;
	return axis.from + ((to(value) - to(axis.low)) / (to(axis.high) - to(axis.low))) * (axis.to - axis.from);
};

// A column may be the index of a series with the same one. Cells become rows.
const expand = (all) => all.forEach((series) => {
	if (series.heat) {
		const { x, y, counts } = series.heat;
		const rows = counts.slice(0, x.length - 1).flatMap((column, i) =>
			column.slice(0, y.length - 1).flatMap((count, j) => (count ? [[x[i], x[i + 1], y[j], y[j + 1], count]] : [])));
		series.cells = {};
		["x", "x_end", "low", "high", "count"].forEach((name, i) => { series.cells[name] = rows.map((it) => it[i]); });
	}
	const cells = series.cells;
	for (const name in cells) if (isNumber(cells[name])) cells[name] = all[cells[name]].cells[name];
	series.rows = [...Array(Math.max(0, ...Object.values(cells).map((it) => it.length))).keys()];
});

const csv = ({ columns, series }) => {
	const text = (it) => {
		const safe = (/^[=+\-@]/.test(it) ? "'" : "") + it;
		return /[",]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
	};
	const cell = (it) => (isNumber(it) ? it : text(it ?? ""));
	const lines = series.flatMap(({ name, cells, rows }) =>
		rows.map((row) => [text(name), ...columns.map(([column]) => cell(cells[column]?.[row]))]));
	return [["series", ...columns.map((it) => text(it[1]))], ...lines].map((it) => it + "\n").join("");
};

// What a series has at a place. `loose`: its x is that of the pointer.
const reading = ({ x, y }, { shape, cells: c, rows }, at) => {
	const px = (row, column = "x") => place(x, c[column][row]);
	const py = (row, column = "y") => place(y, c[column][row]);
	const words = (it) => written(it, y.unit);
	const within = (it) => px(it) <= at.x && at.x < px(it, "x_end");
	const points = shape === "points";
	if (shape === "line" || shape === "band" || points) {
		const column = shape === "band" ? "low" : "y";
		const far = (it) => Math.hypot((px(it) ?? 1e9) - at.x, points ? py(it) - at.y : 0);
		const row = rows.reduce((best, it) => (far(it) < far(best) ? it : best), 0);
		if (!rows.length || far(row) > NEAR || py(row, column) === null) return null;
		const range = isNumber(c.low?.[row]) ? words(c.low[row]) + " to " + words(c.high[row]) : "";
		if (shape === "band") return { x: px(row), text: range };
		const label = c.label?.[row] ? c.label[row] + ": " : "";
		const lead = points ? written(c.x[row], x.unit) + ", " : "";
		return { x: px(row), y: py(row), text: label + lead + words(c.y[row]) + (range && ` (${range})`) };
	}
	if (shape === "steps") {
		const row = rows.findLast((it) => px(it) <= at.x + 0.5);
		return row === undefined || py(row) === null ? null : { x: at.x, y: py(row), text: words(c.y[row]), loose: 1 };
	}
	if (shape === "bars") {
		const row = rows.find(within);
		return row === undefined ? null : { x: (px(row) + px(row, "x_end")) / 2, text: words(c.y[row]) };
	}
	if (shape === "heat") {
		const row = rows.find((it) => within(it) && py(it, "high") <= at.y && at.y < py(it, "low"));
		const text = row === undefined ? "0" : `${c.count[row]} from ${words(c.low[row])} to ${words(c.high[row])}`;
		return { x: at.x, y: at.y, text, loose: 1 };
	}
	const row = Math.floor((y.low * (at.y - y.to)) / (y.from - y.to));
	if (!rows.includes(row)) return null;
	const phases = [["waited", "due", "sent"], ["to the first token", "sent", "first_token"], ["then to the end", "first_token", "ended"]];
	const more = phases.filter(([, from, to]) => isNumber(c[from][row]) && isNumber(c[to][row]))
		.map(([name, from, to]) => [name, written(c[to][row] - c[from][row], x.unit)]);
	more.unshift(["due at", written(c.due[row], x.unit)]);
	const middle = y.to + ((row + 0.5) / y.low) * (y.from - y.to);
	return { x: at.x, y: middle, name: c.label[row], text: c.outcome[row], more, loose: 1 };
};

const add = (parent, name, text = "") => {
	const it = document.createElementNS(parent.namespaceURI, name);
	it.textContent = text;
	parent.append(it);
	return it;
};
const on = (it, name, action) => it.addEventListener(name, action);
const set = (it, attributes) => Object.entries(attributes).forEach(([name, value]) => it.setAttribute(name, value));

const start = (figure) => {
	const view = figure.querySelector(".chart-view");
	const svg = view.querySelector("svg");
	const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
	const { x, y } = data;
	const hidden = new Set();
	const visible = () => data.series.filter((it) => it.shape === "requests" || !hidden.has(it.key));
	expand(data.series);

	// A title would be a second tooltip.
	set(svg, { tabindex: 0 });
	svg.querySelectorAll("title").forEach((it) => it.remove());
	view.classList.add("live");

	const cursor = add(svg, "g");
	const tip = add(view, "div");
	tip.className = "chart-tip";
	tip.setAttribute("role", "status");
	const hide = () => {
		cursor.setAttribute("display", "none");
		tip.hidden = true;
	};
	hide();

	const line = (name, text, colour) => {
		const row = add(tip, "div");
		if (colour) add(row, "i").style.background = colour;
		add(row, "span", name);
		add(row, "b", text);
	};

	const scale = () => svg.getBoundingClientRect().width / data.width;
	const percent = (it) => (it / data.width) * 100 + "%";
	const at = { x: (x.from + x.to) / 2, y: (y.from + y.to) / 2 };
	const show = () => {
		const found = visible().map((series) => [series, reading(data, series, at)]).filter((it) => it[1]);
		if (!found.length) return hide();
		// The line stands at the nearest x with a value.
		const firm = found.map((it) => it[1]).filter((it) => !it.loose);
		const middle = firm.length ? firm.reduce((a, b) => (Math.abs(b.x - at.x) < Math.abs(a.x - at.x) ? b : a)).x : at.x;
		const share = (middle - x.from) / (x.to - x.from);
		const value = x.log ? x.low * (x.high / x.low) ** share : x.low + share * (x.high - x.low);
		cursor.replaceChildren();
		tip.replaceChildren();
		if (found.some(([series]) => series.shape !== "points")) {
			set(add(cursor, "line"), { class: "chart-rule", x1: percent(middle), x2: percent(middle), y1: y.to, y2: y.from });
			const names = data.shades.filter(([from, to]) => from <= value && value <= to).map((it) => it[2]);
			names.push(...data.marks.filter(([mark]) => Math.abs(place(x, mark) - middle) < 6).map((it) => it[1]));
			line([x.label, ...names].filter(Boolean).join(" · "), written(value, x.unit));
		}
		for (const [series, it] of found) {
			const same = found.filter(([other, { y }]) => other.name === series.name && isNumber(y) !== isNumber(it.y));
			// A band stands behind the value of its line.
			if (same.length && !isNumber(it.y)) continue;
			const text = it.text + same.map((other) => ` (${other[1].text})`).join("");
			line(it.name || series.name, text, /heat|requests/.test(series.shape) ? "" : series.colour);
			it.more?.forEach((it) => line(...it));
			if (!isNumber(it.y)) continue;
			set(add(cursor, "circle"), { cx: percent(it.x), cy: it.y, r: 4, fill: series.colour, class: "chart-dot" });
		}
		cursor.setAttribute("display", "inline");
		tip.hidden = false;
		const [inner, outer] = [svg.getBoundingClientRect(), view.getBoundingClientRect()];
		const left = middle * scale() + inner.left - outer.left;
		const beside = left > view.clientWidth / 2 ? left - tip.offsetWidth - 12 : left + 12;
		const within = (it, most) => Math.max(0, Math.min(it, most)) + "px";
		tip.style.left = within(beside, view.clientWidth - tip.offsetWidth);
		tip.style.top = within(at.y + inner.top - outer.top - tip.offsetHeight / 2, view.clientHeight - tip.offsetHeight);
	};

	on(svg, "pointermove", (event) => {
		const box = svg.getBoundingClientRect();
		at.x = (event.clientX - box.left) / scale();
		at.y = event.clientY - box.top;
		if (at.x > x.from - 6 && at.x < x.to + 6 && at.y > y.to - 6 && at.y < y.from + 6) show();
		else hide();
	});
	on(svg, "pointerleave", hide);
	on(svg, "blur", hide);

	// The next place with a value in a direction, or the last one.
	const next = (axis, names, from, step) => {
		const all = visible().flatMap((it) => names.flatMap((name) => it.cells[name] || [])).map((it) => place(axis, it));
		const known = all.filter((it) => it !== null);
		const beyond = known.filter((it) => (it - from) * step > 0.1);
		const nearest = (some) => some.reduce((a, b) => (Math.abs(b - from) < Math.abs(a - from) ? b : a));
		return known.length ? nearest(beyond.length ? beyond : known) : from;
	};
	on(svg, "keydown", (event) => {
		const [right, down] = { ArrowLeft: [-1], ArrowRight: [1], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] || [];
		if (event.key === "Escape") hide();
		if (right === undefined) return;
		event.preventDefault();
		const rows = data.series.some((it) => it.shape === "requests");
		if (right && !rows) {
			// A bar lies right of its place.
			at.x = next(x, ["x"], at.x - 0.06, right) + 0.06;
			const points = visible().filter((it) => it.shape === "points").flatMap(({ cells: c }) => c.x.map((it, i) => [it, c.y[i]]));
			const point = points.find(([it]) => Math.abs(place(x, it) - at.x) < 0.2);
			if (point) at.y = place(y, point[1]);
		} else if (rows) {
			const height = (y.from - y.to) / y.low;
			at.y = Math.max(y.to + height / 2, Math.min(at.y + (down || right) * height, y.from - height / 2));
		} else {
			at.y = next(y, ["high"], at.y - 0.06, down) + 0.06;
		}
		show();
	});

	figure.querySelectorAll(".chart-legend button").forEach((button) => on(button, "click", () => {
		const key = Number(button.dataset.key);
		const off = !hidden.delete(key);
		if (off) hidden.add(key);
		button.setAttribute("aria-pressed", !off);
		svg.querySelectorAll(`[data-key="${key}"]`).forEach((it) => it.setAttribute("display", off ? "none" : "inline"));
		hide();
	}));

	const copy = figure.querySelector(".chart-copy");
	const label = copy.textContent;
	const say = (text) => {
		copy.textContent = text;
		setTimeout(() => (copy.textContent = label), 2000);
	};
	// Without the clipboard: by a selection, or as a file.
	const otherwise = (text) => {
		const area = add(document.body, "textarea", text);
		area.className = "chart-area";
		area.select();
		const copied = document.execCommand("copy");
		area.remove();
		copy.focus();
		if (copied) return say("Copied");
		const link = document.createElement("a");
		set(link, { href: "data:text/csv;charset=utf-8," + encodeURIComponent(text), download: data.id + ".csv" });
		link.click();
		say("Saved as a file");
	};
	copy.hidden = false;
	on(copy, "click", () => {
		const text = csv(data);
		if (!navigator.clipboard) return otherwise(text);
		navigator.clipboard.writeText(text).then(() => say("Copied"), () => otherwise(text));
	});
};

document.querySelectorAll("figure.chart").forEach((figure) => {
	// A fault in one leaves the others.
	try { start(figure); } catch (error) { console.error("figure", figure.id, error); }
});

const { dataset } = document.documentElement;
const dark = () => (dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
document.querySelectorAll("button.theme-switch").forEach((button) => {
	const say = () => button.setAttribute("aria-pressed", dark());
	on(button, "click", () => {
		dataset.theme = dark() ? "light" : "dark";
		say();
	});
	button.hidden = false;
	say();
});
})();
