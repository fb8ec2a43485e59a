"use strict";
// Draws what moves from the data in the page. Nothing is fetched.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

// Okabe and Ito's colours, then darker ones of the same hues.
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#7a2f00", "#005a41", "#7b3f6b"];
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 5", "1 5"];
const PARTS = {"own waiting": "#56b4e9", "others' waiting": "#d55e00", "own stalls": "#0072b2", "others' stalls": "#7a2f00", "rest": "#d0d7de"};
// Light to dark, so that it is read without its hues.
const SCALE = [[232, 236, 239], [253, 221, 155], [246, 158, 92], [214, 83, 82], [141, 38, 107], [52, 13, 77]];

const colourOf = job => PALETTE[data.jobs.indexOf(job) % PALETTE.length] || "#4d4d4d";
const mix = part => {
  const at = Math.max(0, Math.min(1, part || 0)) * (SCALE.length - 1), low = Math.min(Math.floor(at), SCALE.length - 2);
  return "rgb(" + SCALE[low].map((a, i) => Math.round(a + (SCALE[low + 1][i] - a) * (at - low))).join(",") + ")";
};
const number = (value, digits = 3) => value === null || value === undefined ? "–"
  : value > 0 && value < 0.001 ? "<0.001"
  : Number(value.toPrecision(digits)).toLocaleString("en", {maximumFractionDigits: 6});
const percent = value => (100 * value).toFixed(value < 0.0995 ? 2 : 1) + " %";
const bytes = value => value >= 1e9 ? number(value / 1e9) + " GB" : value >= 1e6 ? number(value / 1e6) + " MB" : value >= 1e3 ? number(value / 1e3) + " kB" : Math.round(value) + " B";

function html(tag, attributes = {}, ...children) { return made(document.createElement(tag), attributes, children); }
function svg(tag, attributes = {}, ...children) { return made(document.createElementNS(SVG, tag), attributes, children); }
function made(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
function options(select, runs, chosen) {
  runs.forEach(run => select.append(html("option", {value: data.runs.indexOf(run)}, run.label)));
  chosen.forEach(i => { if (select.options[i]) select.options[i].selected = true; });
}
// The run to begin with: finished, of several jobs, and the one in which they delay each other most.
function first(runs) {
  const others = run => Math.max(0, ...Object.entries(run.parts || {}).map(([job, parts]) =>
    (parts["others' waiting"] + parts["others' stalls"]) / run.latency[job]));
  const score = run => (run.finished ? 2 : 0) + (run.jobs.length > 1 ? 1 : 0) + others(run);
  return [runs.reduce((best, run, i) => score(run) > score(runs[best]) ? i : best, 0)];
}
function tip(event, text) {
  const box = $("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const {width, height} = box.getBoundingClientRect();
  box.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
  box.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8)) + "px";
}

// ---- Runs ----

function headline() {
  const table = $("headline");
  if (!table) {  // of forwarding tables alone
    $("headline-filter").closest(".controls").hidden = true;
    return;
  }
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => row.cells[column].dataset.value;
  heads.forEach((head, column) => {
    if (rows[0].cells[column].classList.contains("number")) head.classList.add("number");
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.setAttribute("aria-sort", other === head ? (down ? "descending" : "ascending") : "none"));
      const numeric = head.classList.contains("number");
      rows.sort((a, b) => {
        const x = value(a, column), y = value(b, column);
        if (x === "" || y === "") return (x === "") - (y === "");  // what is not known stays below
        return (numeric ? x - y : x.localeCompare(y)) * (down ? -1 : 1);
      });
      body.append(...rows);
    });
  });
  const filter = $("headline-filter");
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach(row => { row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word)); });
    $("headline-count").textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} rows`;
  };
  filter.addEventListener("input", show);
  show();
}

function matrices() {
  const select = $("matrix-select");
  if (!select) return;
  const show = () => document.querySelectorAll("[data-matrix]").forEach(one => {
    one.hidden = select.value !== "all" && one.dataset.matrix !== select.value;
  });
  select.addEventListener("change", show);
  show();
}

// ---- Who delays whom ----

function blame() {
  const runs = data.runs.filter(run => run.blame), view = $("blame-view"), select = $("blame-run");
  if (!runs.length) {
    view.append(html("p", {class: "empty"}, "No run of jobs kept an account (workload.blame=true)."));
    select.closest(".controls").hidden = true;
    return;
  }
  options(select, runs, first(runs));
  const show = () => {
    const run = data.runs[select.value], {jobs} = run.blame;
    view.replaceChildren(
      html("h3", {}, "Mean packet latency, and what it is made of (ns)"), parts(run),
      html("p", {class: "hint"}, "Waiting: before a link, or behind a packet that was (in an input queue, in its NIC), while the link carried flits "
        + "of the one or the other. Stalls: the same while the link stood still for lack of credits, shared out by who held the "
        + "buffer beyond. Rest: the flight, pipelines, and the crossbar."),
      html("div", {class: "pair"},
        html("div", {}, html("h3", {}, "Waiting, ns per packet of the victim"), heat(jobs, run.blame.wait_ns_per_packet)),
        html("div", {}, html("h3", {}, "Stalls, ns per packet of the victim"), heat(jobs, run.blame.stall_ns_per_packet))));
  };
  select.addEventListener("change", show);
  show();
}

function heat(jobs, values) {
  const most = Math.max(...values.flat().filter(Boolean), 1e-12);
  const table = html("table", {class: "heat"});
  table.append(html("thead", {}, html("tr", {}, html("td", {}, "victim \\ culprit"), ...jobs.map(job => html("th", {scope: "col"}, job)))));
  table.append(html("tbody", {}, ...jobs.map((victim, v) => html("tr", {}, html("th", {scope: "row"}, victim), ...values[v].map((value, c) => {
    const part = (value || 0) / most;
    return html("td", {
      style: `background:${mix(0.9 * part)};color:${part > 0.5 ? "#fff" : "#111"}`,
      title: value === null ? `${victim} sent no packet` : `each packet of ${victim} lost ${number(value, 4)} ns to ${victim === jobs[c] ? "its own job" : jobs[c]}`,
    }, number(value));
  })))));
  return table;
}

function parts(run) {
  const jobs = Object.keys(run.parts || {});
  if (!jobs.length) return html("p", {class: "empty"}, "No packet arrived.");
  const names = Object.keys(PARTS), most = Math.max(...jobs.map(job => run.latency[job]));
  const left = 130, right = 110, width = 1100, bar = 26, step = 38, height = jobs.length * step + 4;
  const at = ns => ns / most * (width - left - right);
  const chart = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Parts of the mean packet latency per job"});
  jobs.forEach((job, row) => {
    const y = row * step + 4;
    let x = left;
    chart.append(svg("text", {x: left - 10, y: y + bar / 2 + 5, "text-anchor": "end", "font-size": 15}, job));
    names.forEach(name => {
      const ns = run.parts[job][name], wide = at(Math.max(0, ns));
      const piece = svg("rect", {x, y, width: wide, height: bar, fill: PARTS[name], stroke: "#fff", "stroke-width": wide > 3 ? 1 : 0});
      piece.addEventListener("mousemove", event => tip(event, `${job}: ${name}\n${number(ns, 4)} ns of ${number(run.latency[job], 4)} ns (${percent(ns / run.latency[job])})`));
      piece.addEventListener("mouseleave", () => tip());
      chart.append(piece);
      if (wide > 52) chart.append(svg("text", {x: x + wide / 2, y: y + bar / 2 + 5, "text-anchor": "middle", "font-size": 13, "pointer-events": "none",
        style: `fill:${["own stalls", "others' stalls", "others' waiting"].includes(name) ? "#fff" : "#111"}`}, number(ns)));
      x += wide;
    });
    chart.append(svg("text", {x: x + 8, y: y + bar / 2 + 5, "font-size": 14}, `${number(run.latency[job], 4)} ns`));
  });
  return html("div", {}, html("div", {}, ...names.map(name => html("span", {class: "key"}, html("span", {class: "swatch", style: `background:${PARTS[name]}`}), name))), chart);
}

// ---- Over time ----

function curves() {
  const runs = data.runs.filter(run => run.series), select = $("curve-runs"), view = $("curve-view");
  if (!runs.length) {
    view.append(html("p", {class: "empty"}, "No run of jobs kept a series (workload.series_interval_ns)."));
    select.closest(".picker").hidden = true;
    return;
  }
  select.size = Math.max(2, Math.min(14, runs.length));
  options(select, runs, first(runs));
  const hidden = new Set();
  let range = null;
  const show = () => {
    const chosen = [...select.selectedOptions].map(option => data.runs[option.value]);
    const lines = chosen.flatMap((run, r) => Object.entries(run.series).map(([job, line]) => ({
      key: run.label + "\n" + job, run, job, colour: colourOf(job), dash: DASHES[r % DASHES.length],
      name: chosen.length > 1 ? `${job} (${run.label})` : job, ...line,
    })));
    const legend = html("div", {class: "legend"}, ...lines.map(line => {
      const button = html("button", {type: "button", "aria-pressed": String(!hidden.has(line.key))},
        svg("svg", {viewBox: "0 0 30 8"}, svg("line", {x1: 0, x2: 30, y1: 4, y2: 4, stroke: line.colour, "stroke-width": 2.5, "stroke-dasharray": line.dash})), line.name);
      button.addEventListener("click", () => { hidden.delete(line.key) || hidden.add(line.key); show(); });
      return button;
    }));
    const shown = lines.filter(line => !hidden.has(line.key));
    const zoom = to => { range = to; show(); };
    view.replaceChildren(legend,
      html("h3", {}, "Throughput, GB/ms received"), chart(shown, "throughput", "GB/ms", range, zoom),
      html("h3", {}, "Mean packet latency, ns"), chart(shown, "latency_ns", "ns", range, zoom));
    $("curve-reset").disabled = !range;
    const end = Math.max(...shown.map(line => line.time_ms.at(-1)), 0);
    const [from, to] = range || [0, end];
    $("curve-from").value = Number(from.toPrecision(5));
    $("curve-to").value = Number(to.toPrecision(5));
  };
  select.addEventListener("change", () => { range = null; show(); });
  ["curve-from", "curve-to"].forEach(id => $(id).addEventListener("change", () => {
    const wanted = [Number($("curve-from").value), Number($("curve-to").value)];
    if (wanted[0] >= 0 && wanted[1] > wanted[0]) range = wanted;
    show();
  }));
  $("curve-reset").addEventListener("click", () => { range = null; show(); });
  show();
}

function ticks(low, high, count) {
  const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(m => m * power >= raw);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

function chart(lines, what, unit, range, zoom) {
  const width = 1000, height = 270, left = 70, right = 26, top = 10, bottom = 42;
  const end = Math.max(...lines.map(line => line.time_ms.at(-1)), 1e-9);
  const [from, to] = range || [0, end];
  const inside = line => line[what].filter((value, i) => value !== null && line.time_ms[i] >= from && line.time_ms[i] <= to);
  const most = Math.max(...lines.flatMap(inside), 1e-9) * 1.05;
  const x = t => left + (t - from) / (to - from) * (width - left - right), y = v => height - bottom - v / most * (height - top - bottom);
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${what} over time, ${unit}`});
  const clip = "clip-" + what;
  root.append(svg("defs", {}, svg("clipPath", {id: clip}, svg("rect", {x: left, y: 0, width: width - left - right, height: height - bottom + 2}))));
  ticks(0, most, 4).forEach(v => root.append(
    svg("line", {class: "rule", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
    svg("text", {class: "soft", x: left - 8, y: y(v) + 4, "text-anchor": "end", "font-size": 13}, number(v, 4))));
  ticks(from, to, 8).forEach(t => root.append(
    svg("line", {class: "axis", x1: x(t), x2: x(t), y1: height - bottom, y2: height - bottom + 5}),
    svg("text", {class: "soft", x: x(t), y: height - bottom + 19, "text-anchor": "middle", "font-size": 13}, number(t, 5))));
  root.append(svg("line", {class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom}),
    svg("text", {class: "soft", x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle", "font-size": 13}, "time, ms"));
  lines.forEach(line => {
    // A gap stays a gap: nothing arrived there.
    let path = "", pen = false;
    line[what].forEach((value, i) => {
      if (value === null) { pen = false; return; }
      // A value is of the whole interval that ends there: steps.
      path += `${pen ? "L" : "M"}${x(i ? line.time_ms[i - 1] : 0).toFixed(1)} ${y(value).toFixed(1)}H${x(line.time_ms[i]).toFixed(1)}`;
      pen = true;
    });
    root.append(svg("path", {d: path, fill: "none", stroke: line.colour, "stroke-width": line.dash ? 1.8 : 2.2, "stroke-linecap": "round", "stroke-linejoin": "round", "stroke-dasharray": line.dash, "clip-path": `url(#${clip})`}));
  });
  const cross = svg("line", {class: "axis", y1: top, y2: height - bottom, visibility: "hidden"});
  const band = svg("rect", {y: top, height: height - bottom - top, fill: "#0072b2", opacity: 0.15, visibility: "hidden"});
  root.append(band, cross);
  let grip = null;
  const timeAt = event => {
    const box = root.getBoundingClientRect();
    return Math.max(from, Math.min(to, from + ((event.clientX - box.left) * width / box.width - left) / (width - left - right) * (to - from)));
  };
  root.addEventListener("pointerdown", event => { grip = timeAt(event); root.setPointerCapture(event.pointerId); event.preventDefault(); });
  root.addEventListener("pointermove", event => {
    const time = timeAt(event);
    cross.setAttribute("x1", x(time)); cross.setAttribute("x2", x(time)); cross.setAttribute("visibility", "visible");
    if (grip !== null) {
      band.setAttribute("x", x(Math.min(grip, time))); band.setAttribute("width", Math.abs(x(time) - x(grip))); band.setAttribute("visibility", "visible");
    }
    // A point stands for the interval that ends there.
    const read = lines.map(line => [line, line.time_ms.findIndex(t => t >= time)]).filter(([, i]) => i >= 0);
    tip(event, [`${number(time, 4)} ms`, ...read.map(([line, i]) => `${line.name}: ${number(line[what][i], 4)} ${unit}`)].join("\n"));
  });
  root.addEventListener("pointerup", event => {
    const begin = grip, time = timeAt(event);
    grip = null;
    if (begin !== null && Math.abs(x(time) - x(begin)) > 8) { tip(); zoom([Math.min(begin, time), Math.max(begin, time)]); }
  });
  root.addEventListener("pointerleave", () => { cross.setAttribute("visibility", "hidden"); tip(); });
  return root;
}

// ---- The network over time ----

// 16-bit parts of the maximum, high bytes after low bytes, deflated.
async function unpack({most, data: text}) {
  const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer()), count = planes.length / 2;
  return Float32Array.from({length: count}, (_, i) => (planes[i] + 256 * planes[count + i]) / 65535 * most);
}

function network() {
  const runs = data.runs.filter(run => run.film), select = $("film-run"), view = $("film-view");
  const nothing = text => {
    view.replaceChildren(html("p", {class: "empty"}, text));
    document.querySelectorAll("#network .controls").forEach(one => { one.hidden = true; });
  };
  if (!runs.length) return nothing("No run of jobs kept the load of its links over time (workload.map_interval_ns).");
  if (typeof DecompressionStream === "undefined") return nothing("This browser is too old to unpack the network's load (DecompressionStream).");
  options(select, runs, first(runs));
  const slider = $("film-frame"), play = $("film-play");
  let film = null, draw = null, timer = null, turn = 0;

  async function load() {
    const mine = ++turn, source = data.runs[select.value].film;
    const names = Object.keys(source.bytes);
    const [utilisation, stall, ...sent] = await Promise.all([source.utilisation, source.stall, ...names.map(name => source.bytes[name])].map(unpack));
    if (mine !== turn) return;  // another run was chosen meanwhile
    film = {...source, utilisation, stall, names, sent, frames: source.end_ms.length,
      peak: {utilisation: source.utilisation.most, stall: source.stall.most}};
    slider.max = film.frames - 1;
    slider.value = busiest(film);
    if (film.groups > 80) $("film-layout").value = "grid";
    lay();
  }
  function lay() {
    draw = ($("film-layout").value === "grid" ? grid : circle)(film, view);
    paint();
  }
  function paint() {
    if (!film) return;
    const frame = Number(slider.value), what = $("film-quantity").value;
    const full = $("film-scale").value === "peak" ? film.peak[what] || 1 : 1;
    const at = bundle => film[what][frame * film.bundles.length + bundle];
    draw(bundle => [at(bundle) / full, at(bundle)], bundle => describe(film, frame, bundle), full,
      what === "stall" ? "part of the time stalled for credits" : "utilisation");
    $("film-time").textContent = `${number(film.begin_ms[frame], 5)} to ${number(film.end_ms[frame], 5)} ms (frame ${frame + 1} of ${film.frames})`;
    slider.setAttribute("aria-valuetext", $("film-time").textContent);
    table(frame, what, at);
  }
  function table(frame, what, at) {
    const order = film.bundles.map((_, i) => i).sort((a, b) => at(b) - at(a) || a - b).slice(0, 12);
    $("film-busiest").replaceChildren(
      html("h3", {}, what === "stall" ? "Most stalled in this frame" : "Busiest in this frame"),
      html("table", {}, html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "links"),
        ...[what === "stall" ? "stalled" : "used", ...film.names].map(text => html("th", {scope: "col", class: "number"}, text)))),
        html("tbody", {}, ...order.map(i => html("tr", {}, html("td", {}, place(film, i)), html("td", {class: "number"}, percent(at(i))),
          ...film.sent.map(sent => html("td", {class: "number"}, bytes(sent[frame * film.bundles.length + i]))))))),
      html("p", {class: "hint"}, "A frame shows all links from one group to another as one. "
        + (film.merged > 1 ? `${film.merged} frames were made one to keep this page small; all are in links.parquet.` : "")));
  }
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; play.setAttribute("aria-pressed", "false"); };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (Number(slider.value) >= film.frames - 1) slider.value = 0;
    play.textContent = "Pause"; play.setAttribute("aria-pressed", "true");
    timer = setInterval(() => {
      if (Number(slider.value) >= film.frames - 1) return stop();
      slider.value = Number(slider.value) + 1;
      paint();
    }, 120);
  });
  slider.addEventListener("input", paint);
  select.addEventListener("change", () => { stop(); load(); });
  $("film-layout").addEventListener("change", () => film && lay());
  ["film-quantity", "film-scale"].forEach(id => $(id).addEventListener("change", paint));
  if (data.runs[select.value].film.topology !== "dragonfly") $("film-layout").value = "grid";
  load();
}

function busiest(film) {
  const sums = film.end_ms.map((_, frame) => film.sent.reduce((sum, sent) => {
    for (let i = 0; i < film.bundles.length; i++) sum += sent[frame * film.bundles.length + i];
    return sum;
  }, 0) / (film.end_ms[frame] - film.begin_ms[frame]));
  return sums.indexOf(Math.max(...sums));
}

function place(film, i) {
  const [group, peer] = film.bundles[i];
  return peer < 0 ? `${group} to terminals` : peer === group ? `within ${group}` : `${group} → ${peer}`;
}

function describe(film, frame, i) {
  const k = frame * film.bundles.length + i, [group, peer, , links] = film.bundles[i];
  const what = peer < 0 ? `group ${group} to its terminals` : peer === group ? `within group ${group}` : `group ${group} → group ${peer}`;
  return [`${what}, ${links} ${links === 1 ? "link" : "links"}`, `utilisation ${percent(film.utilisation[k])}, stalled ${percent(film.stall[k])}`,
    ...film.names.map((name, j) => `${name}: ${bytes(film.sent[j][k])}`)].join("\n");
}

// Hover over anything that stands for a bundle of links.
function stage(view, width, height) {
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Load of the links between groups; the busiest are listed beside"});
  let text = null;
  root.addEventListener("mousemove", event => { const i = event.target.dataset.bundle; tip(event, i === undefined || !text ? null : text(Number(i))); });
  root.addEventListener("mouseleave", () => tip());
  view.replaceChildren(root);
  return [root, made_text => { text = made_text; }];
}

function bar(root, x, y, width) {
  const steps = 40, texts = [0, 1, 2].map(k => svg("text", {class: "soft", x: x + k * width / 2, y: y + 30, "text-anchor": ["start", "middle", "end"][k], "font-size": 12}));
  for (let k = 0; k < steps; k++) root.append(svg("rect", {x: x + k * width / steps, y, width: width / steps + 0.5, height: 13, fill: mix(k / (steps - 1))}));
  const title = svg("text", {class: "soft", x, y: y - 6, "font-size": 12});
  root.append(title, ...texts);
  return (full, name) => { title.textContent = name; texts.forEach((text, k) => { text.textContent = percent(full * k / 2); }); };
}

// Groups on a circle: their local links the large disc, the links to their terminals the small one outside it.
function circle(film, view) {
  const size = 720, middle = size / 2, n = film.groups, ring = 262;
  const large = Math.max(3, Math.min(26, Math.PI * ring / n * 0.82)), small = Math.max(2, large * 0.42);
  const [root, hover] = stage(view, size, size + 44);
  const spot = (group, radius) => {
    const angle = 2 * Math.PI * group / n - Math.PI / 2;
    return [middle + radius * Math.cos(angle), middle + radius * Math.sin(angle)];
  };
  const reach = svg("g"), lines = svg("g"), discs = svg("g"), elements = [];
  film.bundles.forEach(([group, peer], i) => {
    if (peer < 0 || peer === group) {
      const radius = peer < 0 ? small : large, [cx, cy] = spot(group, peer < 0 ? ring + large + small + 3 : ring);
      elements[i] = svg("circle", {cx, cy, r: radius, stroke: "#57606a", "stroke-width": 0.8, "data-bundle": i});
      discs.append(elements[i]);
    } else {
      // Bent to the right of its way, so that there and back lie apart.
      const [ax, ay] = spot(group, ring), [bx, by] = spot(peer, ring), dx = bx - ax, dy = by - ay, long = Math.hypot(dx, dy);
      const bend = Math.min(26, long * 0.09), mx = (ax + bx) / 2 - dy / long * bend * 2, my = (ay + by) / 2 + dx / long * bend * 2;
      const d = `M${ax} ${ay}Q${mx} ${my} ${bx} ${by}`;
      elements[i] = svg("path", {d, fill: "none", "data-bundle": i});
      lines.append(elements[i]);
      reach.append(svg("path", {d, fill: "none", stroke: "transparent", "stroke-width": 7, "data-bundle": i}));  // easy to hit
    }
  });
  const labels = svg("g", {"pointer-events": "none"}), every = Math.ceil(n / 72);
  for (let group = 0; group < n; group += every) {
    const [x, y] = spot(group, ring + large + 2 * small + 16);
    labels.append(svg("text", {x, y: y + 4, "text-anchor": "middle", "font-size": 12}, String(group)));
  }
  root.append(reach, lines, discs, labels);
  const key = bar(root, 20, size + 8, 240);
  root.append(svg("text", {class: "soft", x: size - 10, y: size + 18, "text-anchor": "end", "font-size": 12}, "large disc: links within the group; small disc: to its terminals"),
    svg("text", {class: "soft", x: size - 10, y: size + 36, "text-anchor": "end", "font-size": 12}, "a line bends to the right of the way its traffic goes"));
  return (value, text, full, name) => {
    hover(text);
    key(full, name);
    const order = [];
    film.bundles.forEach(([group, peer], i) => {
      const [part] = value(i);
      if (peer < 0 || peer === group) { elements[i].setAttribute("fill", mix(part)); return; }
      elements[i].setAttribute("stroke", mix(part));
      // Where there are many, the idle ones step back.
      elements[i].setAttribute("stroke-width", (n > 16 ? 0.4 : 0.9) + (n > 16 ? 2 : 2.6) * Math.min(1, part) ** (n > 16 ? 2 : 1));
      if (n > 16) elements[i].setAttribute("stroke-opacity", 0.1 + 0.9 * Math.min(1, part) ** 3);
      order.push([part, i]);
    });
    // The busy ones lie on top.
    order.sort((a, b) => a[0] - b[0]).forEach(([, i]) => lines.append(elements[i]));
  };
}

// From the group of the row to that of the column; on the diagonal the links within; the last column is to terminals.
function grid(film, view) {
  const n = film.groups, cell = Math.min(56, 640 / (n + 1.5)), left = 56, top = 44, width = 720;
  const height = Math.max(240, top + n * cell + 64);
  const [root, hover] = stage(view, width, height);
  const elements = film.bundles.map(([group, peer], i) => {
    const column = peer < 0 ? n + 0.5 : peer;
    const one = svg("rect", {x: left + column * cell, y: top + group * cell, width: cell, height: cell, stroke: peer === group ? "#57606a" : "#fff",
      "stroke-width": cell > 8 ? 1 : 0.2, "data-bundle": i});
    return one;
  });
  // The frames of the diagonal lie on top.
  root.append(...elements.filter((_, i) => film.bundles[i][0] !== film.bundles[i][1]), ...elements.filter((_, i) => film.bundles[i][0] === film.bundles[i][1]));
  const every = Math.ceil(15 / cell);
  for (let group = 0; group < n; group += every) root.append(
    svg("text", {class: "soft", x: left - 6, y: top + (group + 0.5) * cell + 4, "text-anchor": "end", "font-size": 11}, String(group)),
    svg("text", {class: "soft", x: left + (group + 0.5) * cell, y: top - 6, "text-anchor": "middle", "font-size": 11}, String(group)));
  root.append(svg("text", {class: "soft", x: left, y: 14, "font-size": 12}, "to group →"),
    svg("text", {class: "soft", x: left + (n + 1) * cell, y: 14, "text-anchor": "middle", "font-size": 12}, "terminals"),
    svg("text", {class: "soft", x: 14, y: top + n * cell / 2, "text-anchor": "middle", "font-size": 12, transform: `rotate(-90 14 ${top + n * cell / 2})`}, "← from group"));
  const key = bar(root, left, top + n * cell + 26, 240);
  return (value, text, full, name) => {
    hover(text);
    key(full, name);
    elements.forEach((one, i) => one.setAttribute("fill", mix(value(i)[0])));
  };
}

headline();
matrices();
blame();
curves();
network();
})();
