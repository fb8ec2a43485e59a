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
      html("p", {class: "hint"}, "A frame shows all links from one group to another as one line. "
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

// An SVG whose elements with `data-bundle` show a tip for their bundle of links.
function stage(view, width, height) {
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Load of the links between groups; a table lists the busiest"});
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

// Groups on a circle. A large disc shows the local links of a group, a small one outside the links to its terminals.
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
      // Lines bend to the right of their direction, so that the two directions do not overlap.
      const [ax, ay] = spot(group, ring), [bx, by] = spot(peer, ring), dx = bx - ax, dy = by - ay, long = Math.hypot(dx, dy);
      const bend = Math.min(26, long * 0.09), mx = (ax + bx) / 2 - dy / long * bend * 2, my = (ay + by) / 2 + dx / long * bend * 2;
      const d = `M${ax} ${ay}Q${mx} ${my} ${bx} ${by}`;
      elements[i] = svg("path", {d, fill: "none", "data-bundle": i});
      lines.append(elements[i]);
      reach.append(svg("path", {d, fill: "none", stroke: "transparent", "stroke-width": 7, "data-bundle": i}));  // wide, to catch the pointer
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
    svg("text", {class: "soft", x: size - 10, y: size + 36, "text-anchor": "end", "font-size": 12}, "a line bends to the right of its direction of traffic"));
  return (value, text, full, name) => {
    hover(text);
    key(full, name);
    const order = [];
    film.bundles.forEach(([group, peer], i) => {
      const [part] = value(i);
      if (peer < 0 || peer === group) { elements[i].setAttribute("fill", mix(part)); return; }
      elements[i].setAttribute("stroke", mix(part));
      // With many groups, idle links are thin and faint.
      elements[i].setAttribute("stroke-width", (n > 16 ? 0.4 : 0.9) + (n > 16 ? 2 : 2.6) * Math.min(1, part) ** (n > 16 ? 2 : 1));
      if (n > 16) elements[i].setAttribute("stroke-opacity", 0.1 + 0.9 * Math.min(1, part) ** 3);
      order.push([part, i]);
    });
    // Busy links are drawn on top.
    order.sort((a, b) => a[0] - b[0]).forEach(([, i]) => lines.append(elements[i]));
  };
}

// Links go from the group of the row to that of the column. The diagonal has local links, the last column terminals.
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
  // The outlined cells of the diagonal are drawn on top.
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
