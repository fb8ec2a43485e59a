// ---- Curves of the sweep ----

// Corners of Matplotlib's markers around 0, for a radius of 1.
const ring = (corners, turn, radius = () => 1) => Array.from({length: corners}, (_, i) => {
  const angle = 2 * Math.PI * (i + turn) / corners - Math.PI / 2;
  return [radius(i) * Math.cos(angle), radius(i) * Math.sin(angle)];
});
const arms = turn => ring(12, turn, i => [0.45, 1.08, 1.08][i % 3]);
const SHAPES = {
  s: ring(4, 0.5), D: ring(4, 0), d: [[0, -1], [0.6, 0], [0, 1], [-0.6, 0]], "^": ring(3, 0), v: ring(3, 1.5), "<": ring(3, 2.25), ">": ring(3, 0.75),
  p: ring(5, 0), h: ring(6, 0), "*": ring(10, 0, i => i % 2 ? 0.45 : 1.25), P: arms(1.5), X: arms(0), x: arms(0), o: null,
};

function marker(shape, x, y, size, attributes) {
  const corners = SHAPES[shape];
  if (!corners) return svg("circle", {cx: x, cy: y, r: size * 0.9, ...attributes});
  return svg("polygon", {points: corners.map(([a, b]) => `${(x + size * a).toFixed(2)},${(y + size * b).toFixed(2)}`).join(" "), ...attributes});
}

function sweep() {
  const view = $("loads-view");
  if (!view) return;
  const hidden = new Set(), styles = new Map(data.loads.flatMap(block => block.panels.flatMap(panel => panel.lines.map(line => [line.label, line]))));
  const show = () => {
    view.replaceChildren();
    if (styles.size > 1) view.append(legend([...styles].map(([key, line]) => ({...line, key, name: key, shape: line.marker})), hidden, show));
    data.loads.forEach(block => {
      if (block.title) view.append(html("h3", {}, block.title));
      view.append(html("div", {class: "panels"}, ...block.panels.map(panel => html("div", {class: "panel"}, plot(panel, hidden)))));
    });
  };
  watchers.push(show);
  addEventListener("resize", show);
  show();
}

// The position of a value between the ends of an axis, from 0 to 1, and the axis' ticks.
function scale(low, high, log) {
  if (!log) return {at: value => (value - low) / (high - low || 1), ticks: ticks(low, high, 8)};
  const found = [], spread = Math.log(high / low);
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) found.push(...[1, 2, 5].map(m => m * power));
  return {at: value => Math.log(value / low) / spread, ticks: found.filter(value => value >= low && value <= high)};
}

function plot(panel, hidden) {
  const width = Math.max(340, Math.min(560, $("loads-view").clientWidth)), height = 320, left = 88, right = 14, top = 12, bottom = 50;
  const lines = panel.lines.filter(line => !hidden.has(line.label));
  const seen = (lines.length ? lines : panel.lines).flatMap(line => line.points);
  const highest = Math.max(...seen.flatMap(point => [point.mean, point.high ?? point.mean])), lowest = Math.min(...seen.flatMap(point => [point.mean, point.low ?? point.mean]));
  const log = panel.log && lowest > 0 && highest > 4 * lowest, room = log ? 0 : (highest - lowest || highest || 1) * 0.06;
  const up = log ? scale(lowest / 1.1, highest * 1.1, true) : scale(panel.zero ? 0 : lowest - room, highest + room, false);
  const values = panel.words ? [-0.5, panel.words.length - 0.5] : panel.lines.flatMap(line => line.points.map(point => point.x));
  const [first, last] = [Math.min(...values), Math.max(...values)], margin = panel.words ? 0 : (last - first || 1) * 0.04;
  const across = panel.log_x ? scale(first / 1.1, last * 1.1, true) : scale(panel.words || !panel.zero_x ? first - margin : 0, last + margin, false);
  const x = value => left + across.at(value) * (width - left - right), y = value => height - bottom - up.at(value) * (height - top - bottom);
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${panel.y} against ${panel.x}`});
  axes(root, {width, height, left, right, bottom}, x, y, panel.words ? panel.words.map((_, i) => i) : across.ticks, up.ticks, panel.x,
    v => panel.words ? panel.words[v] : number(v, 4));
  root.append(...upright(panel.y, (height - bottom + top) / 2));
  lines.forEach(line => root.append(drawn(line, panel, x, y)));
  return root;
}

// The label of the y axis. A long label has its unit in a second line.
function upright(label, middle) {
  const parts = label.length > 40 ? label.split(/ (?=\()/) : [label];
  return parts.map((part, i) => {
    const x = 13 + 16 * i;
    return svg("text", {x, y: middle, "text-anchor": "middle", "font-size": i ? 11 : 13, transform: `rotate(-90 ${x} ${middle})`}, part);
  });
}

function drawn(line, panel, x, y) {
  const chosen = point => point.runs.some(run => ticked.has(run));
  const group = svg("g", {opacity: ticked.size && !line.points.some(chosen) ? 0.25 : 1, "data-line": line.label});
  if (line.joined) group.append(svg("path", {d: line.points.map((point, i) => `${i ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.mean).toFixed(1)}`).join(""),
    fill: "none", stroke: line.color, "stroke-width": 2, "stroke-dasharray": line.dash}));
  line.points.forEach(point => {
    const cx = x(point.x), cy = y(point.mean);
    if (point.low !== null) group.append(svg("line", {x1: cx, x2: cx, y1: y(point.low), y2: y(point.high), stroke: line.color, "stroke-width": 2.5, opacity: 0.55}));
    if (chosen(point)) group.append(svg("circle", {cx, cy, r: 11, fill: "none", stroke: "#d55e00", "stroke-width": 2.5, class: "chosen"}));
    const spot = marker(line.marker, cx, cy, 5.5, {fill: point.saturated ? "#fff" : line.color, stroke: line.color, "stroke-width": 1.6});
    const reach = svg("circle", {cx, cy, r: 12, fill: "transparent", class: "reach"});
    const interval = point.low === null ? "one seed, no interval" : `95 % interval over ${point.runs.length} seeds: ${number(point.low, 5)} to ${number(point.high, 5)}`;
    const text = [line.label, `${panel.x}: ${panel.words ? panel.words[Math.round(point.x)] : number(point.x, 5)}`, `${panel.y}: ${number(point.mean, 5)}`, interval,
      ...(point.saturated ? ["saturated: the network accepts less than 97 % of the offered load"] : [])].filter(Boolean).join("\n");
    reach.addEventListener("mousemove", event => tip(event, text));
    reach.addEventListener("mouseleave", () => tip());
    reach.addEventListener("click", () => tick(point.runs, !chosen(point)));
    group.append(spot, reach);
  });
  return group;
}
