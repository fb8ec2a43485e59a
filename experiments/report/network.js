// ---- The network over time ----

const PLAY_MS = 120;  // per frame
const SIDES = ["#0072b2", "#d55e00"];  // curves of the two runs

// Numbers are 16-bit fractions of the maximum. All low bytes precede all high bytes, and both are deflated.
async function unpack({most, data: text}) {
  const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer()), count = planes.length / 2;
  return Float32Array.from({length: count}, (_, i) => (planes[i] + 256 * planes[count + i]) / 65535 * most);
}

const place = ({unit, ends}, i) => {
  const [a, b] = ends[i];
  return b < 0 ? `${unit} ${a} to terminals` : a === b ? `within ${unit} ${a}` : `${unit} ${a} → ${b}`;
};
const kindOf = name => data.quantities[name] ?? {label: `utilisation by ${name}`, percent: true};
const shown = (name, value) => kindOf(name).percent ? percent(value) : `${number(value)} flits`;

function network(select) {
  const beside = $("view-beside"), quantity = $("view-quantity"), slider = $("view-frame"), play = $("view-play"), whole = $("view-whole");
  let panes = [], chosen = null, timer = null;

  async function load() {
    const order = [select.value, beside.value].filter(value => value !== "");
    const runs = await Promise.all(order.map(async value => {
      const run = data.runs[value];
      if (!run.values) run.values = Object.fromEntries(await Promise.all(
        Object.entries(run.view.values).map(async ([name, packed]) => [name, await unpack(packed)])));
      return run;
    }));
    if (order.join() !== [select.value, beside.value].filter(value => value !== "").join()) return;  // another selection
    panes = runs.map((run, side) => pane(run, side, pick));
    $("view-panes").replaceChildren(...panes.map(one => one.root));
    const parts = [...new Set(runs.flatMap(run => Object.keys(run.values).filter(name => !data.quantities[name])))];
    const before = quantity.value;
    quantity.replaceChildren(...[...Object.keys(data.quantities), ...parts].map(name => html("option", {value: name}, kindOf(name).label)));
    if ([...quantity.options].some(option => option.value === before)) quantity.value = before;
    slider.max = Math.max(...runs.map(run => run.view.end_us.length)) - 1;
    slider.value = panes[0].busiest();
    chosen = null;
    panes.forEach(one => one.fit());
    paint();
  }
  const time = () => {
    const {begin_us, end_us} = panes.reduce((a, b) => b.view.end_us.length > a.view.end_us.length ? b : a).view;
    const frame = slider.valueAsNumber;
    return [begin_us[frame], end_us[frame]];
  };
  function paint() {
    if (!panes.length) return;
    const name = quantity.value, [begin, end] = time();
    const most = Math.max(...panes.map(one => one.most(name))) || 1;
    $("view-most").textContent = shown(name, most);
    $("view-time").textContent = `${number(begin, 4)} to ${number(end, 4)} µs`;
    slider.setAttribute("aria-valuetext", $("view-time").textContent);
    panes.forEach(one => one.paint(name, most, (begin + end) / 2, whole.value === "run", chosen));
    curves((begin + end) / 2);
  }
  function pick(side, what) {
    chosen = what && {side, ...what};
    paint();
    if (what?.scroll) $("view-curves").scrollIntoView({block: "nearest"});
  }
  // Curves of the chosen link, or the mean over the links of the chosen router.
  function curves(now) {
    const view = $("view-curves");
    if (!chosen) return view.replaceChildren(html("p", {class: "hint"}, "Click a link, a router or a row of the table for its curves over time."));
    const source = data.networks[panes[chosen.side].view.network], same = panes.filter(one => one.net.ends.length === source.ends.length);
    const {node} = chosen, entries = node === undefined ? [chosen.entry] : source.ends.flatMap(([a], i) => a === node ? [i] : []);
    const title = node === undefined ? place(source, chosen.entry) : `${source.unit} ${node}, the mean over its ${entries.length} links`;
    const lines = same.map((one, side) => ({
      name: one.run.label, color: SIDES[side], dash: "", time: one.view.end_us,
      ...Object.fromEntries(Object.keys(data.quantities).map(name => [name, one.curve(name, entries)])),
    }));
    const to = Math.max(...lines.map(line => line.time.at(-1)));
    const names = lines.length < 2 ? [] : lines.map(line => html("span", {class: "key"}, html("i", {style: `background:${line.color}`}), line.name));
    view.replaceChildren(html("h3", {}, title), html("div", {class: "legend"}, ...names), html("div", {class: "curves"},
      ...Object.entries(data.quantities).map(([name, {label, percent}]) => html("div", {},
        ...chart(view, lines, name, label + (percent ? ", %" : ""), [0, to], {unit: "µs", now, factor: percent ? 100 : 1})))));
  }
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    timer = setInterval(() => { slider.stepUp(); paint(); if (slider.value === slider.max) stop(); }, PLAY_MS);
  });
  [slider, quantity, whole].forEach(control => control.addEventListener("input", paint));
  [select, beside].forEach(control => control.addEventListener("change", () => { stop(); load(); }));
  addEventListener("resize", () => { panes.forEach(one => one.fit()); paint(); });
  if (select.length === 2) beside.value = select[1 - select.selectedIndex].value;
  load();
}

// One run: its picture on a canvas, and its busiest links.
function pane(run, side, pick) {
  const {view} = run, net = data.networks[view.network], count = net.ends.length, frames = view.end_us.length;
  const canvas = html("canvas", {role: "img", "aria-label": `Links of ${run.label}; the table lists the busiest`});
  const tip = html("p", {class: "hint readout"}, "");
  const rows = html("tbody", {});
  const button = (text, label, act) => {
    const made = html("button", {type: "button", "aria-label": label}, text);
    made.addEventListener("click", () => { act(); again(); });
    return made;
  };
  const box = html("div", {class: "canvas"}, canvas, html("div", {class: "zoom"},
    button("+", "larger", () => scaleBy(1.5)), button("−", "smaller", () => scaleBy(1 / 1.5)), button("⤢", "fit", () => { zoom = {k: 1, x: 0, y: 0}; })));
  const root = html("div", {}, html("h3", {}, run.label), box, tip, html("div", {class: "scroll hot"}, html("table", {},
    html("thead", {}, html("tr", {}, ...["Busiest links", "Value", Object.keys(view.flows).length ? "Flows of waiting packets, group → group" : "Filled by"].map(text => html("th", {scope: "col"}, text)))), rows)));
  const xs = net.at.map(([x]) => x), ys = net.at.map(([, y]) => y);
  const low = [Math.min(...xs) - 0.9, Math.min(...ys) - 0.9], high = [Math.max(...xs) + 0.9, Math.max(...ys) + 0.9];
  let zoom = {k: 1, x: 0, y: 0}, size = [0, 0], unit = 1, last = null;

  const scaleBy = factor => { zoom = {k: zoom.k * factor, x: zoom.x * factor, y: zoom.y * factor}; };
  const radius = () => Math.max(1.5, Math.min(0.2 * net.space * unit * zoom.k, 13));  // of a dot
  const project = ([x, y]) => [
    size[0] / 2 + zoom.x + (x - (low[0] + high[0]) / 2) * unit * zoom.k,
    size[1] / 2 + zoom.y - (y - (low[1] + high[1]) / 2) * unit * zoom.k];
  function fit() {
    const width = box.clientWidth || 300, shape = (high[1] - low[1]) / (high[0] - low[0]);
    size = [width, Math.max(180, Math.min(width * shape, 620))];
    const labels = net.unit === "group" ? 40 : 0;  // px on both sides
    unit = Math.min(...size.map((length, k) => (length - labels) / (high[k] - low[k])));
    canvas.width = size[0] * devicePixelRatio;
    canvas.height = size[1] * devicePixelRatio;
    canvas.style.height = `${size[1]}px`;
  }
  // The ends and the control point of a link's arc.
  const arc = i => {
    const [[x, y], [u, v]] = net.ends[i].map(end => net.at[end]), length = Math.hypot(u - x, v - y) || 1e-9;
    const height = 2 * net.bend[i] / length;
    return [[x, y], [(x + u) / 2 - height * (v - y), (y + v) / 2 + height * (u - x)], [u, v]];
  };
  const between = net.ends.flatMap(([a, b], i) => b >= 0 && a !== b ? [i] : []), lines = new Map();  // paths as last drawn
  const frameAt = time => { const found = view.end_us.findIndex(end => end >= time); return found < 0 ? frames - 1 : found; };
  const at = (name, i, frame) => run.values[name]?.[frame * count + i] ?? 0;
  const mean = (name, i) => {
    let sum = 0, weight = 0;
    for (let f = 0; f < frames; f++) {
      const width = view.end_us[f] - view.begin_us[f];
      sum += width * at(name, i, f), weight += width;
    }
    return weight ? sum / weight : 0;
  };
  const filled = (i, frame, all) => {
    if (Object.keys(view.flows).length) return view.flows[i]?.replaceAll(/ (?!\S+ →)/g, "\u00a0") ?? "–";  // no line break within a flow
    const jobs = Object.keys(run.values).filter(name => !data.quantities[name] && !name.startsWith("class ")).map(name => [name, all ? mean(name, i) : at(name, i, frame)]);
    const total = jobs.reduce((sum, [, part]) => sum + part, 0);
    return jobs.filter(([, part]) => part > 0).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([name, part]) => `${name} ${Math.round(100 * part / total)} %`).join(", ") || "–";
  };

  function paint(name, most, time, all, chosen) {
    last = [name, most, time, all, chosen];
    const frame = frameAt(time), value = all ? i => means(name)[i] : i => at(name, i, frame), brush = canvas.getContext("2d");
    const share = i => Math.min(value(i) / most, 1), colour = part => data.scale[Math.round(part * (data.scale.length - 1))];
    brush.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    brush.clearRect(0, 0, ...size);
    const r = radius(), thin = Math.max(0.35, Math.min(1.4, 18 / Math.sqrt(between.length)) * Math.sqrt(zoom.k));
    brush.fillStyle = "#f2f4f7";
    net.areas.forEach(([x, y, radius]) => disc(brush, project([x, y]), radius * unit * zoom.k));
    brush.lineCap = "round";
    const stroke = (path, width, style, alpha = 1) => {
      Object.assign(brush, {lineWidth: width, strokeStyle: style, globalAlpha: alpha});
      brush.stroke(path);
      brush.globalAlpha = 1;
    };
    between.forEach(i => {
      const [from, middle, to] = arc(i).map(project);
      lines.set(i, new Path2D(`M${from}Q${middle} ${to}`));
    });
    const parts = new Map(between.map(i => [i, share(i)]));
    [...between].sort((a, b) => parts.get(a) - parts.get(b)).forEach(i => stroke(lines.get(i), thin * (0.7 + 2.5 * parts.get(i)), colour(parts.get(i)), 0.35 + 0.65 * parts.get(i)));
    brush.setLineDash([4, 3]);
    net.failed.forEach(ends => stroke(new Path2D(`M${ends.map(end => project(net.at[end])).join("L")}`), 1.6, "#d62728"));
    brush.setLineDash([]);
    tip.textContent = position(frame);
    const mine = chosen && sameAs(chosen) ? chosen : null;
    if (lines.has(mine?.entry)) stroke(lines.get(mine.entry), thin * 3 + 5, "#d55e0088");
    const inner = new Map(), ring = new Map(), every = Math.ceil(16 / (net.space * unit * zoom.k));  // labels do not touch
    net.ends.forEach(([a, b], i) => { if (b < 0) inner.set(a, i); else if (a === b) ring.set(a, i); });
    brush.textAlign = "center";
    brush.textBaseline = "middle";
    net.at.forEach((where, node) => {
      const here = project(where), picked = mine && (mine.node === node || (!lines.has(mine.entry) && net.ends[mine.entry]?.[0] === node));
      brush.strokeStyle = picked ? "#d55e00" : "#57606a";
      brush.lineWidth = picked ? 3 : 0.7;
      if (ring.has(node)) {
        brush.fillStyle = colour(share(ring.get(node)));
        disc(brush, here, r + 4, true);
      }
      brush.fillStyle = inner.has(node) ? colour(share(inner.get(node))) : "#fff";
      disc(brush, here, r, true);
      if (net.unit === "group" && node % every === 0) {
        const [u, v] = net.outward[node];
        label(brush, node, here[0] + (r + 13) * u, here[1] - (r + 13) * v, "#1b1f24", 11);
      } else if (net.unit !== "group" && r >= 8) label(brush, node, ...here, inner.has(node) && share(inner.get(node)) > 0.35 ? "#fff" : "#1b1f24", r * 0.95);
    });
    const busiest = net.ends.map((_, i) => i).sort((a, b) => value(b) - value(a) || a - b).slice(0, 10);
    rows.replaceChildren(...busiest.map(i => {
      const open = html("button", {type: "button", "aria-pressed": mine?.entry === i}, place(net, i));
      open.addEventListener("click", () => pick(side, {entry: i, count, scroll: true}));
      return html("tr", {}, html("td", {}, open), html("td", {}, shown(name, value(i))), html("td", {}, filled(i, frame, all)));
    }));
  }
  const position = frame => `${number(view.begin_us[frame], 4)} to ${number(view.end_us[frame], 4)} µs${frame === frames - 1 ? ", the end of the run" : ""}`;
  const cache = {};
  const means = name => cache[name] ??= Float32Array.from({length: count}, (_, i) => mean(name, i));
  const sameAs = chosen => chosen.side === side || chosen.count === count;
  const again = () => { if (last) paint(...last); };

  // The router or link under the pointer.
  function under(event) {
    const bounds = canvas.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    const near = net.at.findIndex(where => Math.hypot(...project(where).map((value, k) => value - [x, y][k])) < Math.max(5, radius()));
    if (near >= 0) return {node: near};
    const brush = canvas.getContext("2d");
    brush.lineWidth = 10;
    const entry = between.findLast(i => brush.isPointInStroke(lines.get(i), x * devicePixelRatio, y * devicePixelRatio));
    return entry === undefined ? null : {entry};
  }
  let drag = null;
  canvas.addEventListener("pointerdown", event => { drag = {x: event.clientX, y: event.clientY, zoom, moved: false}; });
  canvas.addEventListener("pointermove", event => {
    if (drag && event.buttons) {
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      drag.moved ||= Math.hypot(dx, dy) > 4;
      if (drag.moved) zoom = {...drag.zoom, x: drag.zoom.x + dx, y: drag.zoom.y + dy}, again();
      return;
    }
    const found = under(event);
    canvas.style.cursor = found ? "pointer" : "grab";
    if (!last) return;
    const frame = frameAt(last[2]);
    if (!found) { tip.textContent = position(frame); return; }
    const name = found.node === undefined ? place(net, found.entry) : `${net.unit} ${found.node}, to its terminals`;
    const entry = found.entry ?? net.ends.findIndex(([a, b]) => a === found.node && b < 0);
    tip.textContent = entry < 0 ? name : [name, ...Object.keys(data.quantities).map(key => `${key} ${shown(key, at(key, entry, frame))}`)].join(", ");
  });
  canvas.addEventListener("click", event => {
    if (drag?.moved) return;
    const found = under(event);
    pick(side, found && {...found, count});
  });
  const curve = (name, entries) => view.end_us.map((_, f) => entries.reduce((sum, i) => sum + at(name, i, f), 0) / entries.length);
  const busiest = () => {
    const sums = view.end_us.map((_, f) => run.values.utilisation.subarray(f * count, (f + 1) * count).reduce((a, b) => a + b, 0));
    return sums.indexOf(Math.max(...sums));
  };
  const most = name => (run.values[name] ?? []).reduce((a, b) => Math.max(a, b), 0);
  return {root, run, view, net, fit, paint, curve, most, busiest};
}

function disc(brush, [x, y], radius, edge = false) {
  brush.beginPath();
  brush.arc(x, y, radius, 0, 2 * Math.PI);
  brush.fill();
  if (edge) brush.stroke();
}

function label(brush, text, x, y, colour, size) {
  Object.assign(brush, {font: `${size}px system-ui, sans-serif`, fillStyle: colour});
  brush.fillText(text, x, y);
}

const sections = {headline: sortAndFilter, "curve-runs": series, "view-run": network};
Object.entries(sections).forEach(([id, start]) => { if ($(id)) start($(id)); });
