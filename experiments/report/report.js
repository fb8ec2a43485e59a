// The order and the filter of the table of runs, the time series, and the network over time.
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
      name: chosen.length > 1 ? `${job} (${run.label})` : job, color: data.colours[job], dash: DASHES[r % DASHES.length], ...line,
    })));
    const shown = lines.filter(line => !hidden.has(line.name));
    const [from, to] = limits.map(limit => limit.valueAsNumber);
    const range = [from || 0, to > (from || 0) ? to : Math.max(0, ...lines.map(line => line.time_ms.at(-1)))];
    const names = lines.map(line => {
      const sample = svg("svg", {viewBox: "0 0 34 14"}, svg("path", {d: "M0 7H34", stroke: line.color, "stroke-dasharray": line.dash}));
      const button = html("button", {type: "button", "aria-pressed": !hidden.has(line.name)}, sample, line.name);
      button.addEventListener("click", () => { hidden.delete(line.name) || hidden.add(line.name); show(); });
      return button;
    });
    view.replaceChildren(html("div", {class: "legend"}, ...names),
      ...chart(shown, "throughput", "Throughput, GB/ms received", range), ...chart(shown, "latency_ns", "Mean packet latency, ns", range));
  };
  if (!select.value) select.selectedIndex = 0;
  [select, ...limits].forEach(control => control.addEventListener("change", show));
  addEventListener("resize", show);
  show();
}

// A heading, a plot, and the values at the pointer.
function chart(lines, key, title, [from, to]) {
  const left = 58, width = Math.max(200, $("curve-view").clientWidth - left - 20), height = 210;
  const inside = lines.flatMap(line => line[key].filter((value, i) => value !== null && line.time_ms[i] >= from));
  const most = 1.05 * Math.max(0, ...inside) || 1;
  const x = time => (time - from) / (to - from) * width, y = value => height - value / most * height;
  const area = svg("svg", {x: left, y: 0, width, height});  // which hides the parts of lines outside of it
  const root = svg("svg", {viewBox: `0 -12 ${left + width + 20} ${height + 56}`, role: "img", "aria-label": `${title}, over time`}, area);
  const text = (left, top, anchor, content) => root.append(svg("text", {x: left, y: top, "text-anchor": anchor}, content));
  ticks(0, most, 4).forEach(value => {
    area.append(svg("path", {d: `M0 ${y(value)}H${width}`, class: "rule"}));
    text(left - 8, y(value) + 4, "end", number(value, 4));
  });
  ticks(from, to, width / 90).forEach(time => text(left + x(time), height + 18, "middle", number(time, 4)));
  text(left + width / 2, height + 38, "middle", "time, ms");
  lines.forEach(line => area.append(svg("path", {d: steps(line, key, x, y), stroke: line.color, "stroke-dasharray": line.dash})));
  const readout = html("p", {class: "hint readout"}, "Values at the pointer");
  root.addEventListener("pointermove", event => {
    const box = root.getBoundingClientRect(), time = from + ((event.clientX - box.left) * root.viewBox.baseVal.width / box.width - left) / width * (to - from);
    const values = lines.map(line => `${line.name} ${number(line[key][line.time_ms.findIndex(end => end >= time)], 4)}`);
    readout.textContent = [`${number(time, 4)} ms`, ...values].join(", ");
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
    if (value !== null) path += `${pen}${x(i ? line.time_ms[i - 1] : 0).toFixed(1)} ${y(value).toFixed(1)}H${x(line.time_ms[i]).toFixed(1)}`;
    pen = value === null ? "M" : "L";
  });
  return path;
}

// ---- The network over time ----

// Numbers are 16-bit fractions of the maximum. All low bytes precede all high bytes, and both are deflated.
async function unpack({most, data: text}) {
  const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer()), count = planes.length / 2;
  return Float32Array.from({length: count}, (_, i) => (planes[i] + 256 * planes[count + i]) / 65535 * most);
}

function network(select) {
  const slider = $("film-frame"), play = $("film-play"), quantity = $("film-quantity"), view = $("film-view");
  let film, cells, timer;

  async function load() {
    const source = data.runs[select.value].film;
    const [utilisation, stall, ...sent] = await Promise.all([source.utilisation, source.stall, ...Object.values(source.bytes)].map(unpack));
    if (source !== data.runs[select.value].film) return;  // another run was selected in the meantime
    film = {...source, loads: {utilisation, stall}, sent: at => Object.keys(source.bytes).map((name, j) => `${name}: ${bytes(sent[j][at])}`)};
    slider.max = film.end_ms.length - 1;
    slider.value = film.busiest;
    cells = grid(film, view);
    paint();
  }
  function paint() {
    const frame = slider.valueAsNumber, offset = frame * film.bundles.length, key = quantity.value, most = film[key].most || 1;
    const load = i => film.loads[key][offset + i];
    cells.forEach((cell, i) => cell.setAttribute("fill", data.scale[Math.round(load(i) / most * (data.scale.length - 1))]));
    $("film-most").textContent = percent(most);
    $("film-time").textContent = `${number(film.begin_ms[frame], 5)} to ${number(film.end_ms[frame], 5)} ms (frame ${frame + 1} of ${film.end_ms.length})`;
    slider.setAttribute("aria-valuetext", $("film-time").textContent);
    const order = film.bundles.map((_, i) => i).sort((a, b) => load(b) - load(a) || a - b).slice(0, 12);
    $("film-busiest").replaceChildren(...order.map(i => html("tr", {},
      ...[place(film.bundles[i]), percent(load(i)), film.sent(offset + i).join(", ")].map(text => html("td", {}, text)))));
  }
  function describe(i) {
    const at = slider.valueAsNumber * film.bundles.length + i, links = film.bundles[i][3], {utilisation, stall} = film.loads;
    return [`${place(film.bundles[i])}, ${links} ${links === 1 ? "link" : "links"}`,
      `utilisation ${percent(utilisation[at])}, stalled ${percent(stall[at])}`, ...film.sent(at)].join("\n");
  }
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    timer = setInterval(() => { slider.stepUp(); paint(); if (slider.value === slider.max) stop(); }, 120);
  });
  view.addEventListener("mouseover", ({target}) => { if (target.dataset.bundle) target.firstChild.textContent = describe(Number(target.dataset.bundle)); });
  slider.addEventListener("input", paint);
  quantity.addEventListener("change", paint);
  select.addEventListener("change", () => { stop(); load(); });
  load();
}

const place = ([group, peer]) => peer < 0 ? `${group} to terminals` : peer === group ? `within ${group}` : `${group} → ${peer}`;

// Links go from the group of the row to that of the column. The diagonal has local links, the last column terminals.
function grid({groups, bundles}, view) {
  const size = (groups + 3) / 36;  // of the text; the unit is the side of a cell
  const cells = bundles.map(([group, peer], i) => svg("rect", {x: peer < 0 ? groups + 0.5 : peer, y: group, width: 1, height: 1,
    "data-bundle": i, class: peer === group ? "local" : "between"}, svg("title", {})));
  const text = (x, y, anchor, content) => svg("text", {x, y, "text-anchor": anchor, "font-size": size}, content);
  const shown = Array.from({length: groups}, (_, group) => group).filter(group => group % Math.ceil(1.6 * size) === 0);
  view.replaceChildren(svg("svg", {viewBox: `${-2.2 * size} ${-2.8 * size} ${groups + 1.6 + 3.2 * size} ${groups + 3 * size}`, role: "img",
    "aria-label": "Load of the links between groups; a table lists the busiest"},
    ...cells.filter(cell => cell.classList.contains("between")), ...cells.filter(cell => cell.classList.contains("local")),
    ...shown.flatMap(group => [text(-0.4 * size, group + 0.5 + 0.35 * size, "end", group), text(group + 0.5, -0.4 * size, "middle", group)]),
    text(0, -1.8 * size, "start", "from group (row) to group (column)"), text(groups + 1.5, -1.8 * size, "end", "terminals")));
  return cells;
}

const sections = {headline: sortAndFilter, "curve-runs": series, "film-run": network};
Object.entries(sections).forEach(([id, start]) => { if ($(id)) start($(id)); });
