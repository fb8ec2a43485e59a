// ---- Slowdown, and delays between jobs ----

const PARTS = {"own waiting": "#56b4e9", "others' waiting": "#d55e00", "own stalls": "#0072b2", "others' stalls": "#7a2f00", "rest": "#d0d7de"};

function options(select, runs, chosen) {
  runs.forEach(run => select.append(html("option", {value: data.runs.indexOf(run)}, run.label)));
  chosen.forEach(i => { if (select.options[i]) select.options[i].selected = true; });
}
// The run that is shown first: finished runs of several jobs precede others, and large delays between jobs small ones.
function first(runs) {
  const others = run => Math.max(0, ...Object.entries(run.parts || {}).map(([job, parts]) =>
    (parts["others' waiting"] + parts["others' stalls"]) / run.latency[job]));
  const score = run => (run.finished ? 2 : 0) + (run.jobs.length > 1 ? 1 : 0) + others(run);
  return [runs.reduce((best, run, i) => score(run) > score(runs[best]) ? i : best, 0)];
}

function blame() {
  const runs = data.runs.filter(run => run.blame), view = $("blame-view"), select = $("blame-run");
  if (!runs.length) return;
  options(select, runs, first(runs));
  const show = () => {
    const run = data.runs[select.value], {jobs} = run.blame;
    view.replaceChildren(
      html("h3", {}, "Mean packet latency and its parts (ns)"), parts(run),
      html("p", {class: "hint"}, "Waiting: the packet waited for a link, or behind such a packet in an input queue or in its NIC, while the link "
        + "carried flits. The job of these flits gets the delay. Stalls: the packet waited while the link had no credits. The jobs that held "
        + "the downstream buffer share the delay. Rest: flight time, pipelines and the crossbar."),
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
  if (!jobs.length) return html("p", {class: "empty"}, "No packet was delivered.");
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
  if (!runs.length) return;
  select.size = Math.max(2, Math.min(14, runs.length));
  options(select, runs, first(runs));
  const hidden = new Set();
  let range = null;
  const show = () => {
    const chosen = [...select.selectedOptions].map(option => data.runs[option.value]);
    const lines = chosen.flatMap((run, r) => Object.entries(run.series).map(([job, line]) => ({
      key: run.label + "\n" + job, color: colourOf(job), dash: DASHES[r % DASHES.length],
      name: chosen.length > 1 ? `${job} (${run.label})` : job, ...line,
    })));
    const shown = lines.filter(line => !hidden.has(line.key));
    const zoom = to => { range = to; show(); };
    view.replaceChildren(legend(lines, hidden, show),
      html("h3", {}, "Throughput, GB/ms received"), chart(shown, "throughput", "GB/ms", range, zoom),
      html("h3", {}, "Mean packet latency, ns"), chart(shown, "latency_ns", "ns", range, zoom));
    $("curve-reset").disabled = !range;
  };
  select.addEventListener("change", () => { range = null; show(); });
  $("curve-reset").addEventListener("click", () => { range = null; show(); });
  show();
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
  axes(root, {width, height, left, right, bottom}, x, y, ticks(from, to, 8), ticks(0, most, 4), "time, ms");
  lines.forEach(line => {
    // An interval without packets is a gap in the line.
    let path = "", pen = false;
    line[what].forEach((value, i) => {
      if (value === null) { pen = false; return; }
      // Steps, because a value holds for the whole interval that ends at its time.
      path += `${pen ? "L" : "M"}${x(i ? line.time_ms[i - 1] : 0).toFixed(1)} ${y(value).toFixed(1)}H${x(line.time_ms[i]).toFixed(1)}`;
      pen = true;
    });
    root.append(svg("path", {d: path, fill: "none", stroke: line.color, "stroke-width": line.dash ? 1.8 : 2.2, "stroke-linecap": "round", "stroke-linejoin": "round", "stroke-dasharray": line.dash, "clip-path": `url(#${clip})`}));
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
    // The value of the interval that contains the time.
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
