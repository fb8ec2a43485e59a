// Helpers of all sections. The page holds all scripts in one function and loads nothing else.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

// Okabe and Ito's colours, then darker ones of the same hues.
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#7a2f00", "#005a41", "#7b3f6b"];
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 5", "1 5"];
// From light to dark, so that the scale is readable without its hues.
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
function tip(event, text) {
  const box = $("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const {width, height} = box.getBoundingClientRect();
  box.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
  box.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8)) + "px";
}

function ticks(low, high, count) {
  const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(m => m * power >= raw);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

// The names of lines. A click hides a line or shows it again. An entry has key, name, color, dash and maybe a marker.
function legend(entries, hidden, show) {
  return html("div", {class: "legend"}, ...entries.map(({key, name, color, dash, shape}) => {
    const sample = svg("svg", {viewBox: "0 0 34 14"}, svg("line", {x1: 0, x2: 34, y1: 7, y2: 7, stroke: color, "stroke-width": 2, "stroke-dasharray": dash}));
    if (shape) sample.append(marker(shape, 17, 7, 5, {fill: color}));
    const button = html("button", {type: "button", "aria-pressed": String(!hidden.has(key))}, sample, name);
    button.addEventListener("click", () => { hidden.delete(key) || hidden.add(key); show(); });
    return button;
  }));
}

// The axes of a plot: horizontal rules, ticks and the label of the x axis. `x` and `y` are functions from values to places.
function axes(root, {width, height, left, right, bottom}, x, y, across, up, label, text = value => number(value, 5)) {
  const low = height - bottom, words = (at, attributes, content) => svg("text", {class: "soft", x: at[0], y: at[1], "font-size": 13, ...attributes}, content);
  up.forEach(v => root.append(svg("line", {class: "rule", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
    words([left - 8, y(v) + 4], {"text-anchor": "end"}, number(v, 4))));
  across.forEach(v => root.append(svg("line", {class: "axis", x1: x(v), x2: x(v), y1: low, y2: low + 5}),
    words([x(v), low + 19], {"text-anchor": "middle"}, text(v))));
  root.append(svg("line", {class: "axis", x1: left, x2: width - right, y1: low, y2: low}),
    words([(left + width - right) / 2, height - 6], {"text-anchor": "middle"}, label));
}
