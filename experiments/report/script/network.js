// ---- The network over time ----

// Numbers are 16-bit fractions of the maximum. All low bytes precede all high bytes, and both are deflated.
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
  if (!runs.length) return;
  if (typeof DecompressionStream === "undefined") return nothing("This browser is too old to show the network (it lacks DecompressionStream).");
  options(select, runs, first(runs));
  const slider = $("film-frame"), play = $("film-play");
  let film = null, draw = null, timer = null, turn = 0;

  async function load() {
    const mine = ++turn, source = data.runs[select.value].film;
    const names = Object.keys(source.bytes);
    const [utilisation, stall, ...sent] = await Promise.all([source.utilisation, source.stall, ...names.map(name => source.bytes[name])].map(unpack));
    if (mine !== turn) return;  // another run was selected in the meantime
    film = {...source, utilisation, stall, names, sent, frames: source.end_ms.length,
      peak: {utilisation: source.utilisation.most, stall: source.stall.most}};
    slider.max = film.frames - 1;
    slider.value = busiest(film);
    draw = grid(film, view);
    paint();
  }
  function paint() {
    if (!film) return;
    const frame = Number(slider.value), what = $("film-quantity").value;
    const full = film.peak[what] || 1;
    const at = bundle => film[what][frame * film.bundles.length + bundle];
    draw(at, bundle => describe(film, frame, bundle), full,
      what === "stall" ? "fraction of time stalled for credits" : "utilisation");
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
      html("p", {class: "hint"}, "A frame shows all links from one group to another as one cell. "
        + (film.merged > 1 ? `Each frame merges ${film.merged} frames to keep this page small; links.parquet has all of them.` : "")));
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
  $("film-quantity").addEventListener("change", paint);
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

// Links go from the group of the row to that of the column. The diagonal has local links, the last column terminals.
function grid(film, view) {
  const n = film.groups, cell = Math.min(56, 640 / (n + 1.5)), left = 56, top = 44, width = 720;
  const height = Math.max(240, top + n * cell + 64);
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Load of the links between groups; a table lists the busiest"});
  const soft = (x, y, text, attributes = {}) => svg("text", {class: "soft", x, y, "font-size": 12, ...attributes}, text);
  let about = null;
  root.addEventListener("mousemove", event => { const i = event.target.dataset.bundle; tip(event, i === undefined || !about ? null : about(Number(i))); });
  root.addEventListener("mouseleave", () => tip());
  view.replaceChildren(root);
  const elements = film.bundles.map(([group, peer], i) => svg("rect", {x: left + (peer < 0 ? n + 0.5 : peer) * cell, y: top + group * cell,
    width: cell, height: cell, stroke: peer === group ? "#57606a" : "#fff", "stroke-width": cell > 8 ? 1 : 0.2, "data-bundle": i}));
  // The outlined cells of the diagonal are drawn on top.
  const local = i => film.bundles[i][0] === film.bundles[i][1];
  root.append(...elements.filter((_, i) => !local(i)), ...elements.filter((_, i) => local(i)));
  for (let group = 0; group < n; group += Math.ceil(15 / cell)) root.append(
    soft(left - 6, top + (group + 0.5) * cell + 4, String(group), {"text-anchor": "end"}),
    soft(left + (group + 0.5) * cell, top - 6, String(group), {"text-anchor": "middle"}));
  root.append(soft(left, 14, "to group →"), soft(left + (n + 1) * cell, 14, "terminals", {"text-anchor": "middle"}),
    soft(14, top + n * cell / 2, "← from group", {"text-anchor": "middle", transform: `rotate(-90 14 ${top + n * cell / 2})`}));
  const steps = 40, below = top + n * cell + 26;
  for (let k = 0; k < steps; k++) root.append(svg("rect", {x: left + k * 240 / steps, y: below, width: 240 / steps + 0.5, height: 13, fill: mix(k / (steps - 1))}));
  const title = soft(left, below - 6, ""), ends = [0, 1, 2].map(k => soft(left + k * 120, below + 30, "", {"text-anchor": ["start", "middle", "end"][k]}));
  root.append(title, ...ends);
  return (value, text, full, name) => {
    about = text;
    title.textContent = name;
    ends.forEach((end, k) => { end.textContent = percent(full * k / 2); });
    elements.forEach((one, i) => one.setAttribute("fill", mix(value(i) / full)));
  };
}
