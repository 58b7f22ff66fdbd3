"use strict";
// All texts come from the file that is shown: they are set as text, and never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const make = (name, text, cls) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
};
const makeSvg = (name, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  return e;
};
const boxes = new Map();
for (const e of document.querySelectorAll("[data-node]")) boxes.set(Number(e.dataset.node), e);

const isNarrow = () => matchMedia("(max-width:860px)").matches;

// ---- the tree of modules

const rows = new Map();  // path -> its line
function addModule(part, path, under) {
  const label = part.name ? `${part.name}: ${part.type}` : part.type;
  const line = make(part.parts.length ? "summary" : "div", label, part.parts.length ? "" : "leaf");
  if (part.note) line.append(make("span", part.note, "note"));
  line.tabIndex = 0;
  rows.set(path, line);
  line.addEventListener("click", () => chooseModule(path));
  if (!part.parts.length) return under.append(line);
  const fold = make("details");
  fold.open = path.split(".").length < 2;
  fold.append(line);
  for (const p of part.parts) addModule(p, path ? `${path}.${p.name}` : p.name, fold);
  under.append(fold);
}
addModule(data.tree, "", byId("modules"));

const isIn = (node, path) => !path || node.path === path || node.path.startsWith(`${path}.`);
function chooseModule(path) {
  markRow(path);
  data.nodes.forEach((node, i) => boxes.get(i)?.classList.toggle("faint", !isIn(node, path)));
  const first = data.nodes.findIndex((n) => isIn(n, path));
  if (path && first >= 0) center(first);
  showWeights(path);
}
function markRow(path) {
  for (const [p, line] of rows) line.classList.toggle("on", p === path);
}
function openTo(path) {
  for (let e = rows.get(path)?.parentElement; e; e = e.parentElement) {
    if (e.tagName === "DETAILS") e.open = true;
  }
}

// ---- the graph: zoom, pan, choose

const pane = byId("graph"), svg = pane.querySelector("svg");
const size = { w: svg.viewBox.baseVal.width, h: svg.viewBox.baseVal.height };
const view = { x: 0, y: 0, k: 1 };
function place() {
  svg.style.transform = `translate(${view.x}px,${view.y}px) scale(${view.k})`;
}
function fit() {
  view.k = Math.min(1, Math.max(0.2, (pane.clientWidth - 20) / size.w));
  view.x = Math.max(10, (pane.clientWidth - size.w * view.k) / 2);
  view.y = isNarrow() ? byId("tabs").offsetHeight + 6 : 6;
  place();
}
// Of a wide graph the beginning, large enough to be read.
function start() {
  const first = svg.querySelector(".n")?.getBBox();
  if (!first || view.k >= 0.55) return;
  view.k = 0.7;
  view.x = pane.clientWidth / 2 - (first.x + first.width / 2) * view.k;
  place();
}
function zoom(factor, x, y) {
  const k = Math.min(4, Math.max(0.05, view.k * factor));
  view.x = x - (x - view.x) * k / view.k;
  view.y = y - (y - view.y) * k / view.k;
  view.k = k;
  place();
}
pane.addEventListener("wheel", (e) => {
  e.preventDefault();
  const box = pane.getBoundingClientRect();
  if (e.ctrlKey || e.metaKey) {
    return zoom(Math.exp(-e.deltaY / 300), e.clientX - box.left, e.clientY - box.top);
  }
  view.x -= e.deltaX;
  view.y -= e.deltaY;
  place();
}, { passive: false });
let drag = null;
pane.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, y: e.clientY, moved: false }; });
window.addEventListener("pointermove", (e) => {
  if (!drag) return;
  const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
  if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
  drag = { x: e.clientX, y: e.clientY, moved: true };
  view.x += dx;
  view.y += dy;
  place();
});
window.addEventListener("pointerup", () => { setTimeout(() => { drag = null; }, 0); });
byId("in").addEventListener("click", () => zoom(1.3, pane.clientWidth / 2, pane.clientHeight / 2));
byId("less").addEventListener("click", () => zoom(1 / 1.3, pane.clientWidth / 2, pane.clientHeight / 2));
byId("fit").addEventListener("click", fit);

function center(i) {
  const box = boxes.get(i);
  if (!box) return;
  const b = box.getBBox();
  view.k = Math.max(view.k, 0.6);
  view.x = pane.clientWidth / 2 - (b.x + b.width / 2) * view.k;
  view.y = pane.clientHeight / 2 - (b.y + Math.min(b.height / 2, 60)) * view.k;
  place();
}
let chosen = -1;
function choose(i, move) {
  boxes.get(chosen)?.classList.remove("on");
  chosen = i;
  boxes.get(i)?.classList.add("on");
  const node = data.nodes[i];
  if (move) center(i);
  showNode(node);
  markRow(node.path);
  openTo(node.path);
  if (node.source) showLine(node.source[0], node.source[1]);
}
for (const [i, box] of boxes) {
  box.addEventListener("click", (e) => {
    e.stopPropagation();
    if (!drag?.moved) choose(i, false);
  });
  box.addEventListener("keydown", (e) => { if (e.key === "Enter") choose(i, false); });
}

// ---- tabs

const tabs = ["node", "source", "weights", "memory"];
function show(name) {
  document.body.classList.toggle("show-modules", name === "modules");
  document.body.classList.toggle("show-side", tabs.includes(name));
  for (const t of tabs) byId(t).hidden = t !== name;
  for (const b of byId("tabs").children) b.setAttribute("aria-selected", b.dataset.tab === name);
  if (name === "graph") {
    fit();
    start();
  }
}
for (const b of byId("tabs").children) b.addEventListener("click", () => show(b.dataset.tab));
// ---- a node

function showNode(node) {
  const list = make("table");
  const add = (name, value) => {
    if (value === undefined || value === null || value === "") return;
    const row = make("tr");
    row.append(make("th", name), make("td", value));
    list.append(row);
  };
  add("operator", node.op);
  add("module", node.path || "the module itself");
  add("gives", node.gives);
  add("takes", node.takes);
  add("holds", node.inside);
  add("FLOPs", node.flops);
  add("bytes moved", node.bytes);
  add("time", node.time);
  add("place", node.place);
  byId("node").replaceChildren(list);
  if (!isNarrow() && byId("source").hidden) show("node");
}

// ---- source

const lines = new Map();
function addSources() {
  const linked = new Map();
  data.nodes.forEach((n, i) => {
    if (n.source) {
      const key = n.source.join(":");
      if (!linked.has(key)) linked.set(key, []);
      linked.get(key).push(i);
    }
  });
  data.sources.forEach((s, k) => {
    const pre = make("pre");
    pre.append(make("div", s.name, "file"));
    s.text.split("\n").forEach((text, j) => {
      const number = s.first + j, line = make("span", undefined, "ln");
      line.append(make("i", number), text);
      const nodes = linked.get(`${k}:${number}`);
      if (nodes) {
        line.classList.add("linked");
        line.title = `${nodes.length} operators`;
        let turn = 0;
        line.addEventListener("click", () => {
          if (isNarrow()) show("graph");
          choose(nodes[turn++ % nodes.length], true);
        });
      }
      lines.set(`${k}:${number}`, line);
      pre.append(line);
    });
    byId("source").append(pre);
  });
  if (!data.sources.length) byId("source").append(make("p", "The file has no source.", "empty"));
}
addSources();
function showLine(source, number) {
  document.querySelector("pre .on")?.classList.remove("on");
  const line = lines.get(`${source}:${number}`);
  line?.classList.add("on");
  if (!byId("source").hidden) line?.scrollIntoView({ block: "center" });
}

// ---- weights

function bars(weight) {
  const most = Math.max(...weight.counts, 1), n = weight.counts.length;
  const chart = makeSvg("svg", { class: "bars", viewBox: `0 0 ${n * 8} 40`, width: "100%", height: 40,
    preserveAspectRatio: "none" });
  weight.counts.forEach((c, k) => {
    const h = 40 * c / most;
    chart.append(makeSvg("rect", { x: k * 8, y: 40 - h, width: 7, height: h }));
  });
  return chart;
}
function showWeights(path) {
  const found = data.weights.filter((w) => !path || w.name.startsWith(`${path}.`));
  const shown = found.slice(0, 60).map((w) => {
    const block = make("div", undefined, "weight");
    block.append(make("b", w.name), make("br"), make("span", w.facts));
    if (w.counts.length) block.append(bars(w));
    return block;
  });
  if (found.length > 60) shown.push(make("p", `and ${found.length - 60} more: choose a module`, "empty"));
  if (!found.length) shown.push(make("p", "no weights", "empty"));
  byId("weights").replaceChildren(...shown);
}
showWeights("");

// ---- memory

function drawMemory() {
  const m = data.memory;
  if (!m) {
    byId("memory").append(make("p", "Give the shapes of the inputs (--shapes x=1,3,224,224) to see " +
      "how much memory the tensors take over time.", "empty"));
    return;
  }
  byId("memory").append(make("p", m.text));
  const most = Math.max(...m.live, 1), n = m.live.length;
  const chart = makeSvg("svg", { class: "mem", viewBox: `0 0 ${n} 100`, width: "100%", height: 160,
    preserveAspectRatio: "none" });
  let d = "M0 100";
  m.live.forEach((v, k) => { d += `V${100 - 98 * v / most}H${k + 1}`; });
  chart.append(makeSvg("path", { d: `${d}V100Z` }));
  const told = make("p", "", "empty");
  chart.addEventListener("pointermove", (e) => {
    const box = chart.getBoundingClientRect();
    const k = Math.min(n - 1, Math.max(0, Math.floor((e.clientX - box.left) / box.width * n)));
    told.textContent = m.steps[k];
  });
  byId("memory").append(chart, told);
}
drawMemory();

// ---- search

let hits = [], at = -1;
function search() {
  const text = byId("search").value.trim().toLowerCase();
  hits = [];
  data.nodes.forEach((n, i) => {
    const hit = text && n.find.includes(text);
    boxes.get(i)?.classList.toggle("hit", Boolean(hit));
    if (hit) hits.push(i);
  });
  for (const [path, line] of rows) {
    const hit = text && (`${path} ${line.textContent}`).toLowerCase().includes(text);
    line.style.textDecoration = hit ? "underline" : "";
    if (hit) openTo(path);
  }
  at = -1;
  byId("count").textContent = text ? `${hits.length} operators` : "";
}
byId("search").addEventListener("input", search);
byId("search").addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || !hits.length) return;
  at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
  byId("count").textContent = `${at + 1} of ${hits.length}`;
  choose(hits[at], true);
});
window.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== byId("search")) {
    e.preventDefault();
    byId("search").focus();
  }
});

// ---- heat of a profile

data.nodes.forEach((n, i) => {
  const box = boxes.get(i)?.querySelector("rect");
  if (!box || !n.heat) return;
  box.parentElement.classList.add("hot");
  box.style.fill = `color-mix(in srgb, #e5484d ${Math.round(n.heat * 100)}%, var(--op))`;
});

show(isNarrow() ? "graph" : "source");
fit();
start();
document.body.dataset.ready = "yes";
