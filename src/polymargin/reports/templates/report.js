"use strict";
// Draws the table of all points: sorted and filtered in memory, one page of rows in the document at a time.
(() => {
  document.documentElement.classList.remove("plain");
  const data = JSON.parse(document.getElementById("data").textContent);
  const count = data.class.length, size = 50;
  const value = (text) => text === "inf" ? Infinity : text;
  const lower = data.lower.map(value);
  const upper = data.upper.map((bound, row) => bound === 0 ? lower[row] : value(bound));
  const answer = (row) => data.standings[data.standing[row]] === "FAILED" ? "none"
    : !data.right ? "given" : data.right[row] === data.class[row] ? "right" : "wrong";
  const size4 = (x) => x === null ? "–" : x === Infinity ? "∞" : String(Number(x.toPrecision(4)));
  const margin = (row) => lower[row] === upper[row] ? size4(lower[row]) : `${size4(lower[row])} … ${size4(upper[row])}`;
  const time = (s) => s < 1 ? `${Number((1000 * s).toPrecision(2))} ms` : `${Number(s.toPrecision(2))} s`;
  const word = (x) => x === null ? "–" : data.names ? data.names[x] : String(x);
  const columns = [
    ["row", (row) => row, (row) => String(row)],
    ["predicted class", (row) => data.class[row], (row) => word(data.class[row])],
    ...(data.right ? [["true class", (row) => data.right[row], (row) => word(data.right[row])]] : []),
    ["nearest rival", (row) => data.rival[row], (row) => word(data.rival[row])],
    ["margin", (row) => lower[row], margin],
    ["standing", (row) => data.standing[row], (row) => data.standings[data.standing[row]]],
    ["method", (row) => data.methods[data.method[row]], (row) => data.methods[data.method[row]]],
    ["time", (row) => data.seconds[row], (row) => time(data.seconds[row])],
    ...(Object.keys(data.certificates).length ? [["certificate", (row) => row in data.certificates ? 0 : 1, null]] : []),
    ...(Object.keys(data.note).length ? [["remarks", (row) => row in data.note ? 0 : 1, (row) => row in data.note ? data.notes[data.note[row]] : ""]] : []),
  ];
  const state = { sort: columns.findIndex(([name]) => name === "margin"), up: true, page: 0, rows: [] };
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  // Filters
  const filters = {};
  const tests = {
    class: (row, chosen) => word(data.class[row]) === chosen,
    rival: (row, chosen) => word(data.rival[row]) === chosen,
    standing: (row, chosen) => data.standings[data.standing[row]] === chosen,
    answer: (row, chosen) => answer(row) === chosen,
    below: (row, chosen) => lower[row] !== null && lower[row] < Number(chosen),
  };
  const all = Array.from({ length: count }, (_, row) => row);
  const choices = {
    class: [...new Set(data.class)].sort((a, b) => a - b).map(word),
    rival: [...new Set(data.rival)].sort((a, b) => a - b).map(word),
    standing: data.standings.filter((_, index) => data.standing.includes(index)),
    answer: [...new Set(all.map(answer))].sort(),
  };
  for (const control of document.querySelectorAll("[data-filter]")) {
    const name = control.dataset.filter;
    if (control.tagName === "SELECT") {
      control.append(element("option", "all"), ...choices[name].map((text) => element("option", text)));
      control.options[0].value = "";
    }
    control.addEventListener("input", () => {
      const text = control.value.trim().replace(",", ".");
      if (text === "" || (name === "below" && !Number.isFinite(Number(text)))) delete filters[name];
      else filters[name] = text;
      state.page = 0;
      select();
    });
  }

  // Rows
  const compare = (a, b) => {
    const by = columns[state.sort][1], x = by(a), y = by(b);
    if (x === y) return a - b;
    if (x === null || y === null) return x === null ? 1 : -1;
    return (x < y ? -1 : 1) * (state.up ? 1 : -1);
  };
  const select = () => {
    const active = Object.entries(filters);
    state.rows = all.filter((row) => active.every(([name, chosen]) => tests[name](row, chosen))).sort(compare);
    show();
  };
  const head = document.querySelector("#table thead"), body = document.querySelector("#table tbody");
  const names = element("tr");
  const buttons = columns.map(([name], index) => {
    const cell = element("th"), button = element("button", name);
    button.type = "button";
    button.addEventListener("click", () => {
      state.up = state.sort === index ? !state.up : true;
      state.sort = index;
      state.page = 0;
      select();
    });
    cell.append(button);
    names.append(cell);
    return [cell, button, name];
  });
  head.append(names);
  const show = () => {
    buttons.forEach(([cell, button, name], index) => {
      const sorted = index === state.sort;
      button.textContent = name + (sorted ? (state.up ? " ▲" : " ▼") : "");
      cell.setAttribute("aria-sort", sorted ? (state.up ? "ascending" : "descending") : "none");
    });
    const from = state.page * size, shown = state.rows.slice(from, from + size);
    body.replaceChildren(...shown.map((row) => {
      const line = element("tr", undefined, answer(row) === "wrong" ? "wrong" : "");
      for (const [name, , text] of columns) {
        const cell = element("td", text ? text(row) : undefined,
          name === "standing" ? data.standings[data.standing[row]].toLowerCase() : name === "remarks" ? "note" : "");
        cell.dataset.name = name;
        if (name === "certificate" && row in data.certificates) {
          const link = element("a", "file");
          link.href = data.certificates[row];
          cell.append(link);
        }
        line.append(cell);
      }
      return line;
    }));
    const pages = Math.max(1, Math.ceil(state.rows.length / size));
    document.getElementById("count").textContent = `${state.rows.length} of ${count} points`;
    document.getElementById("place").textContent = `${state.page + 1} of ${pages}`;
    document.getElementById("previous").disabled = state.page === 0;
    document.getElementById("next").disabled = state.page >= pages - 1;
  };
  document.getElementById("previous").addEventListener("click", () => { state.page -= 1; show(); });
  document.getElementById("next").addEventListener("click", () => { state.page += 1; show(); });
  select();
})();
