// ---- The table of runs, and the selected runs ----

// Indices of the selected runs in `data.compared`, and functions that show the selection.
const ticked = new Set(), watchers = [];
function tick(runs, on) {
  runs.forEach(run => on ? ticked.add(run) : ticked.delete(run));
  watchers.forEach(show => show());
}

function headline() {
  const table = $("headline");
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const numeric = head.classList.contains("number"), value = row => row.querySelectorAll("[data-key]")[column].dataset.value;
    const button = html("button", {type: "button", class: "sort"}, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.setAttribute("aria-sort", other === head ? (down ? "descending" : "ascending") : "none"));
      rows.sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === "" || y === "") return (x === "") - (y === "");  // unknown values stay at the bottom
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
  if (data.compared.length > 1) boxes(table, rows);
}

function boxes(table, rows) {
  table.tHead.rows[0].prepend(html("th", {scope: "col", class: "tick"}, ""));
  rows.forEach(row => {
    const run = Number(row.dataset.index), box = html("input", {type: "checkbox", "aria-label": `compare ${data.compared[run].label}`});
    row.prepend(html("td", {class: "tick"}, box));
    box.addEventListener("change", () => tick([run], box.checked));
    row.addEventListener("click", event => {
      if (!event.target.closest("input, a, button") && !String(getSelection())) tick([run], !ticked.has(run));
    });
    watchers.push(() => {
      box.checked = ticked.has(run);
      row.classList.toggle("ticked", ticked.has(run));
    });
  });
  watchers.push(compare);
  compare();
}

// The keys of the configuration that differ among the selected runs, and their results compared with the first run.
function compare() {
  const runs = [...ticked].sort((a, b) => a - b).map(run => data.compared[run]), view = $("compare-view");
  if (runs.length < 2) {
    view.replaceChildren(html("p", {class: "hint"}, "Select two or more runs to compare them, in the table or by a click on their points."));
    if (!runs.length) return;
  }
  const clear = html("button", {type: "button", id: "compare-clear"}, "Clear selection");
  clear.addEventListener("click", () => tick([...ticked], false));
  if (runs.length < 2) return view.append(clear);
  const names = part => [...new Set(runs.flatMap(run => Object.keys(run[part])))];
  const text = value => value === undefined || value === null ? "–" : typeof value === "number" ? number(value, 5) : String(value);
  const keys = names("keys").filter(key => new Set(runs.map(run => text(run.keys[key]))).size > 1);
  const change = (value, first) => typeof value !== "number" || typeof first !== "number" || !first ? "" : value === first ? " (same)"
    : ` (${value > first ? "+" : "−"}${number(Math.abs(100 * (value / first - 1)), 3)} %)`;
  const line = (name, values) => html("tr", {}, html("th", {scope: "row"}, name), ...values.map(value => html("td", {class: "number"}, value)));
  view.replaceChildren(
    html("h3", {}, `${runs.length} runs compared`), clear,
    html("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparison"}, html("table", {id: "compare", class: "wide"},
      html("thead", {}, html("tr", {}, html("th", {scope: "col"}, ""), ...runs.map(run => html("th", {scope: "col", class: "number"}, run.label)))),
      html("tbody", {},
        ...keys.map(key => line(key, runs.map(run => text(run.keys[key])))),
        ...names("results").map(key => line(key, runs.map((run, i) => text(run.results[key]) + (i ? change(run.results[key], runs[0].results[key]) : ""))))))),
    html("p", {class: "hint"}, "Percentages are relative to the first of these runs. A single run has no interval; flitgym compare lists the differences that exceed noise."));
}
