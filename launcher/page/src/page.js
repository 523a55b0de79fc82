// Copies commands and tables, marks the section in view, keeps the picked chart in the address, and closes explanations by Escape.
(() => {
"use strict";
const copy = (button, text) => {
	const label = button.textContent;
	const say = (words) => {
		button.textContent = words;
		setTimeout(() => (button.textContent = label), 1500);
	};
	const { clipboard } = navigator;
	if (!clipboard) return say("Select the text");
	clipboard.writeText(text).then(() => say("Copied"), () => say("Select the text"));
};
const field = (it) => {
	const safe = (/^[=+@]|^-[^\d]/.test(it) ? "'" : "") + it;
	return /[",]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
};
// A cell is its value; the interval below it has a column of its own.
const plain = (it) => (it?.textContent ?? "").trim().replace(/(\d),(?=\d{3})/g, "$1");
const value = (cell) => plain(cell.firstChild);
const csv = (table) => {
	const names = [...table.querySelectorAll("thead tr:last-child th")].map((it) => it.textContent);
	const groups = [...table.querySelectorAll("thead .groups th")].flatMap((it) => Array(it.colSpan).fill(it.textContent));
	const rows = [...table.querySelectorAll("tbody tr")].map((it) => [...it.cells]);
	const below = names.map((_, i) => rows.some((row) => row[i]?.querySelector("small")));
	const pair = (i, one, other) => (below[i] ? [one, other] : [one]);
	const head = names.flatMap((it, i) => {
		const name = [groups[i], it].filter(Boolean).join(" ");
		return pair(i, name, name + (i ? " 95 % interval" : " name"));
	});
	const body = rows.map((row) => row.flatMap((it, i) => pair(i, value(it), plain(it.querySelector("small")))));
	return [head, ...body].map((it) => it.map(field).join(",") + "\n").join("");
};
const each = (selector, action) => document.querySelectorAll(selector).forEach(action);
const ready = (selector, text) => each(selector, (button) => {
	button.hidden = false;
	button.addEventListener("click", () => copy(button, text(button)));
});
ready("button.copy-table", (it) => csv(it.closest("section").querySelector("table")));
ready("button.copy-text", (it) => it.parentElement.querySelector("pre").textContent);

const open = () => document.querySelectorAll("details.info[open]");
addEventListener("keydown", (event) => {
	if (event.key !== "Escape") return;
	open().forEach((it) => {
		it.open = false;
		it.firstElementChild.focus();
	});
});
addEventListener("click", (event) => open().forEach((it) => { if (!it.contains(event.target)) it.open = false; }));
// A link opens the fold that contains its target.
const reveal = () => {
	// No id has a character that an address escapes.
	const target = location.hash && document.getElementById(location.hash.slice(1));
	for (let it = target; it; it = it.parentElement) if (it.localName === "details") it.open = true;
};
addEventListener("hashchange", reveal);
reveal();
// The picked chart is in the address.
each(".pick input", (input) => {
	if (location.hash === "#" + input.id) input.checked = true;
	input.addEventListener("change", () => history.replaceState(null, "", "#" + input.id));
});

const links = [...document.querySelectorAll("nav a")];
const mark = new IntersectionObserver((seen) => seen.filter((it) => it.isIntersecting).forEach(({ target }) => {
	links.forEach((it) => (it.hash === "#" + target.id ? it.setAttribute("aria-current", "true") : it.removeAttribute("aria-current")));
}), { rootMargin: "-10% 0px -80%" });
links.forEach((it) => { const target = document.getElementById(it.hash.slice(1)); if (target) mark.observe(target); });
})();
