// The order and the filter of the table of runs, and the time series.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 5", "1 5"];  // of the selected runs

const number = (value, digits = 3) => value?.toLocaleString("en", {maximumSignificantDigits: digits}) ?? "–";
const percent = value => (100 * value).toFixed(value < 0.0995 ? 2 : 1) + " %";
const bytes = value => {
  const [unit, size] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, size]) => value >= size) || ["B", 1];
  return `${number(value / size)} ${unit}`;
};

const html = (tag, attributes, ...children) => made(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => made(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
function made(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function sortAndFilter(table) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells], filter = $("headline-filter");
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const numeric = head.classList.contains("number"), value = row => row.cells[column].dataset.value;
    heads.forEach(other => other.setAttribute("aria-sort", other !== head ? "none" : down < 0 ? "descending" : "ascending"));
    rows.sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === "" || y === "") return (x === "") - (y === "");  // unknown values stay at the bottom
      return (numeric ? x - y : x.localeCompare(y)) * down;
    });
    body.append(...rows);
  }));
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    rows.forEach(row => { row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word)); });
    $("headline-count").textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} rows`;
  };
  filter.addEventListener("input", show);
  show();
}

// ---- Throughput and latency over time ----

function series(select) {
  const view = $("curve-view"), limits = [$("curve-from"), $("curve-to")], hidden = new Set();
  const show = () => {
    const chosen = [...select.selectedOptions].map(option => data.runs[option.value]);
    const lines = chosen.flatMap((run, r) => Object.entries(run.series).map(([job, line]) => ({
      name: chosen.length > 1 ? `${job} (${run.label})` : job, color: data.colours[job], dash: DASHES[r % DASHES.length], time: line.time_ms, ...line,
    })));
    const shown = lines.filter(line => !hidden.has(line.name));
    const [from, to] = limits.map(limit => limit.valueAsNumber);
    const range = [from || 0, to > (from || 0) ? to : Math.max(0, ...lines.map(line => line.time.at(-1)))];
    const names = lines.map(line => {
      const sample = svg("svg", {viewBox: "0 0 34 14"}, svg("path", {d: "M0 7H34", stroke: line.color, "stroke-dasharray": line.dash}));
      const button = html("button", {type: "button", "aria-pressed": !hidden.has(line.name)}, sample, line.name);
      button.addEventListener("click", () => { hidden.delete(line.name) || hidden.add(line.name); show(); });
      return button;
    });
    view.replaceChildren(html("div", {class: "legend"}, ...names),
      ...chart(view, shown, "throughput", "Throughput, GB/ms received", range), ...chart(view, shown, "latency_ns", "Mean packet latency, ns", range));
  };
  if (!select.value) select.selectedIndex = 0;
  [select, ...limits].forEach(control => control.addEventListener("change", show));
  addEventListener("resize", show);
  show();
}

// A heading, a plot, and the values at the pointer.
function chart(view, lines, key, title, [from, to], {unit = "ms", now = null, factor = 1} = {}) {
  const inside = lines.flatMap(line => line[key].filter((value, i) => value !== null && line.time[i] >= from));
  const most = 1.05 * Math.max(0, ...inside) || 1, marks = ticks(0, most, 4).map(value => [value, number(value * factor, 4)]);
  const small = now !== null, wide = small && view.clientWidth > 640 ? view.clientWidth / 2 - 12 : view.clientWidth;
  const left = Math.max(58, 10 + 7.5 * Math.max(...marks.map(([, text]) => text.length))), width = Math.max(200, wide - left - 20), height = small ? 110 : 210;
  const x = time => (time - from) / (to - from) * width, y = value => height - value / most * height;
  const area = svg("svg", {x: left, y: 0, width, height});  // which hides the parts of lines outside of it
  const root = svg("svg", {viewBox: `0 -12 ${left + width + 20} ${height + 56}`, role: "img", "aria-label": `${title}, over time`}, area);
  const text = (left, top, anchor, content) => root.append(svg("text", {x: left, y: top, "text-anchor": anchor}, content));
  marks.forEach(([value, content]) => {
    area.append(svg("path", {d: `M0 ${y(value)}H${width}`, class: "rule"}));
    text(left - 8, y(value) + 4, "end", content);
  });
  ticks(from, to, width / 90).forEach(time => text(left + x(time), height + 18, "middle", number(time, 4)));
  text(left + width / 2, height + 38, "middle", `time, ${unit}`);
  lines.forEach(line => area.append(svg("path", {d: steps(line, key, x, y), stroke: line.color, "stroke-dasharray": line.dash})));
  if (small) area.append(svg("path", {d: `M${x(now)} 0V${height}`, class: "now"}));
  const readout = html("p", {class: "hint readout"}, "Values at the pointer");
  root.addEventListener("pointermove", event => {
    const box = root.getBoundingClientRect(), time = from + ((event.clientX - box.left) * root.viewBox.baseVal.width / box.width - left) / width * (to - from);
    const values = lines.map(line => `${line.name} ${number(factor * line[key][line.time.findIndex(end => end >= time)], 4)}`);
    readout.textContent = [`${number(time, 4)} ${unit}`, ...values].join(", ");
  });
  return [html("h3", {}, title), root, readout];
}

function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= raw), first = Math.ceil(low / step - 1e-9);
  return Array.from({length: Math.floor(high / step + 1e-9) - first + 1}, (_, i) => (first + i) * step);
}

// A value holds for the whole interval that ends at its time. An interval without packets is a gap in the line.
function steps(line, key, x, y) {
  let path = "", pen = "M";
  line[key].forEach((value, i) => {
    if (value !== null) path += `${pen}${x(i ? line.time[i - 1] : 0).toFixed(1)} ${y(value).toFixed(1)}H${x(line.time[i]).toFixed(1)}`;
    pen = value === null ? "M" : "L";
  });
  return path;
}
