// Uses each figure of the page as a reader does, and writes what went wrong into the element `result`.
(async () => {
  const faults = [];
  const check = (name, found, wanted) => {
    if (found !== wanted) faults.push(`${name}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
  };
  const wanted = JSON.parse(document.getElementById("wanted").textContent);
  const later = () => new Promise((go) => setTimeout(go, 0));
  let copied = null;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied = text; } } });
  for (const figure of document.querySelectorAll("figure.chart")) {
    const { id } = figure;
    const svg = figure.querySelector(".chart-view > svg");
    const tip = figure.querySelector(".chart-tip");
    const copy = figure.querySelector(".chart-copy");
    copy.click();
    await later();
    check(id + " copies its data", copied, wanted[id].csv);
    check(id + " says so", copy.textContent, "Copied");
    for (const button of figure.querySelectorAll(".chart-legend button")) {
      const parts = () => [...svg.querySelectorAll(`[data-key="${button.dataset.key}"]`)];
      button.click();
      check(id + " hides " + button.textContent, parts().every((it) => it.getAttribute("display") === "none"), true);
      check(id + " has a button that is not pressed", button.getAttribute("aria-pressed"), "false");
      button.click();
      check(id + " shows " + button.textContent, parts().some((it) => it.getAttribute("display") === "none"), false);
    }
    const box = svg.getBoundingClientRect();
    const at = (x, y) => svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
    const { width } = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const [x, y] = wanted[id].at;
    at((x / width) * box.width, y);
    check(id + " shows values under the pointer", tip.hidden ? null : tip.innerText.replace(/\s+/g, " ").trim(), wanted[id].tip);
    svg.dispatchEvent(new PointerEvent("pointerleave"));
    check(id + " hides values", tip.hidden, true);
    if (wanted[id].tip === null) continue;
    const key = (name) => svg.dispatchEvent(new KeyboardEvent("keydown", { key: name, cancelable: true, bubbles: true }));
    svg.focus();
    check(id + " takes the focus", document.activeElement, svg);
    const seen = new Set();
    for (let step = 0; step < 5; step++) {
      key(id === "requests" ? "ArrowDown" : "ArrowRight");
      seen.add(tip.innerText);
    }
    check(id + " moves by keys", seen.size >= 4 && !tip.hidden, true);
    key("Escape");
    check(id + " closes by Escape", tip.hidden, true);
    check(id + " has no element with a style of its own but the tip", figure.querySelectorAll("[style]").length <= 1 + tip.querySelectorAll("i").length, true);
  }
  const colour = () => getComputedStyle(document.querySelector("figure.chart")).color;
  const before = colour();
  document.querySelector("button.theme-switch").click();
  check("the switch changes colours", before !== colour(), true);
  document.getElementById("result").textContent = faults.length ? "FAULTS\n" + faults.join("\n") : "PASSED";
})();
