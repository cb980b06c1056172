"use strict";
// The explorer's page: a picture of the plane with a point to drag. Answers come from the server or, in an exported page, from
// `solver` or a grid of answers. Few requests run at a time; when one is answered, the newest place is requested next.
(() => {
  document.documentElement.classList.remove("plain");
  const $ = (id) => document.getElementById(id);
  const embedded = $("data");
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const COUNTS = [[222, 235, 247], [158, 202, 225], [107, 174, 214], [66, 146, 198], [33, 113, 181], [8, 81, 156], [8, 48, 107]]; // ordered, few to many
  const hex = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));
  let colours = [];
  const colour = (k) => colours[k];
  const DISCRIMINANT = [213, 40, 110];
  const css = (rgb, alpha) => `rgba(${rgb.join(",")},${alpha})`;
  const number = (x, digits = 5) => x === null || x === undefined ? "–" : x === "inf" ? "∞" : String(Number(x.toPrecision(digits)));
  const unpack = (text, kind) => new kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  // Text with `code` in backticks as elements
  const marked = (text) => text.split("`").map((part, k) => k % 2 ? element("code", part) : document.createTextNode(part));

  // Sources of answers
  const ask = async (name, parameters = {}, signal = undefined) => {
    const query = new URLSearchParams(parameters).toString();
    const response = await fetch(name + (query ? `?${query}` : ""), { signal });
    const data = await response.json();
    if (!response.ok) throw new Error(data.error);
    return data;
  };
  const grids = (data) => {
    const all = unpack(data.values, Float32Array), n = data.size * data.size;
    return { ...data, grids: Array.from({ length: data.classes }, (_, k) => all.subarray(k * n, (k + 1) * n)) };
  };
  const live = {
    scene: () => ask("scene"),
    answer: (place) => ask("answer", { at: place.join(",") }),
    field: async (window) => grids(await ask("field", { window: window.join(",") })),
    overlay: (name, label, rival, window, signal) => ask(name, { label, rival, window: window.join(",") }, signal),
    overlays: true, ahead: 3,
  };
  const still = (data) => {
    const kept = data.answers;
    if (kept.kind === "solve") return { scene: () => data.scene, answer: (place) => solver.at(kept, place), field: (window) => solver.field(kept, window, 160), overlays: false };
    const [left, right, low, high] = data.scene.window, n = kept.size;
    const index = (x, from, to) => Math.min(n - 1, Math.max(0, Math.round((x - from) / (to - from) * (n - 1))));
    return {
      scene: () => data.scene,
      answer: (place) => {
        const i = index(place[0], left, right), j = index(place[1], low, high), found = kept.found[j * n + i];
        if (found.error) throw new Error(found.error);
        return { ...found, place: [left + (right - left) * i / (n - 1), low + (high - low) * j / (n - 1)], notes: ["Computed beforehand on a grid; the point snaps to the nearest place.", ...found.notes] };
      },
      field: () => grids(kept.field),
      overlays: false, fixed: true,
    };
  };
  const source = embedded ? still(JSON.parse(embedded.textContent)) : live;

  // State
  const canvas = $("picture"), context = canvas.getContext("2d");
  let scene, view, point, answer = null, field = null, backdrop = null, overlay = null, dark = matchMedia("(prefers-color-scheme: dark)");
  let under = 0, asked = 0, shown = 0, wanted = null, drawn = false; // requests that run, requests so far, the newest one shown

  const trouble = (error) => { $("trouble").hidden = !error; $("trouble").textContent = error ? error.message : ""; };

  // Places and pixels
  const fitView = (window) => { // as wide as the canvas, equal units
    const [left, right, low, high] = window, ratio = canvas.clientHeight / canvas.clientWidth || 1;
    const half = Math.max((right - left) / 2, (high - low) / 2 / ratio);
    return { s: (left + right) / 2, c: (low + high) / 2, half };
  };
  const windowOf = () => {
    const up = view.half * canvas.height / canvas.width;
    return [view.s - view.half, view.s + view.half, view.c - up, view.c + up];
  };
  const toPixel = ([s, c]) => {
    const unit = canvas.width / (2 * view.half);
    return [canvas.width / 2 + (s - view.s) * unit, canvas.height / 2 - (c - view.c) * unit];
  };
  const toPlace = (x, y) => {
    const unit = canvas.width / (2 * view.half);
    return [view.s + (x - canvas.width / 2) / unit, view.c - (y - canvas.height / 2) / unit];
  };

  // The backdrop: classes and boundaries, interpolated from the grid at the canvas' own resolution
  const sampler = (grid, size, window) => {
    const [left, right, low, high] = window;
    return (s, c) => {
      const x = Math.min(size - 1.001, Math.max(0, (s - left) / (right - left) * (size - 1))), y = Math.min(size - 1.001, Math.max(0, (c - low) / (high - low) * (size - 1)));
      const i = x | 0, j = y | 0, a = x - i, b = y - j, k = j * size + i;
      return (1 - b) * ((1 - a) * grid[k] + a * grid[k + 1]) + b * ((1 - a) * grid[k + size] + a * grid[k + size + 1]);
    };
  };
  // Where two classes tie below a third one: critical points lie there too.
  const MOST_FAINT = 4;
  const faintBoundaries = (out, samples, ink) => {
    const w = canvas.width, h = canvas.height, values = samples.map(() => new Float32Array(w * h));
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) { const [s, c] = toPlace(x + 0.5, y + 0.5); samples.forEach((sample, k) => { values[k][y * w + x] = sample(s, c); }); }
    for (let a = 0; a < samples.length; a++) for (let b = 0; b < a; b++) {
      const sign = (at) => values[a][at] > values[b][at];
      for (let y = 0; y < h - 1; y++) for (let x = 0; x < w - 1; x++) {
        const at = y * w + x, here = sign(at);
        if (here !== sign(at + 1) || here !== sign(at + w)) for (let k = 0; k < 3; k++) out[4 * at + k] += 0.35 * (ink[k] - out[4 * at + k]);
      }
    }
  };
  // Thin lines or dots, another pattern for each of six classes
  const hatched = (k, x, y, px) => {
    const on = (value, period) => ((value / px) % period + period) % period < 1;
    return [false, on(x + y, 16), on(x - y, 16), on(y, 12), on(x, 12), on(x, 8) && on(y, 8)][k % 6];
  };
  const paintBackdrop = () => {
    if (!field) return;
    const w = canvas.width, h = canvas.height, image = context.createImageData(w, h), out = image.data;
    const samples = field.grids.map((grid) => sampler(grid, field.size, field.window));
    const winner = new Uint8Array(w * h), paper = dark.matches ? [29, 31, 37] : [255, 255, 255], tint = dark.matches ? 0.34 : 0.24;
    const ink = dark.matches ? [230, 231, 236] : [34, 35, 42], hatch = Math.max(1, w / (canvas.clientWidth || w));
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) {
      const [s, c] = toPlace(x + 0.5, y + 0.5);
      let best = 0, most = -Infinity;
      for (let k = 0; k < samples.length; k++) { const value = samples[k](s, c); if (value > most) { most = value; best = k; } }
      winner[y * w + x] = best;
      const at = 4 * (y * w + x), rgb = colour(best), depth = hatched(best, x, y, hatch) ? tint + 0.3 : tint;
      for (let k = 0; k < 3; k++) out[at + k] = paper[k] + depth * (rgb[k] - paper[k]);
      out[at + 3] = 255;
    }
    if (overlay && overlay.name === "chambers") paintChambers(out);
    const thick = Math.max(1, Math.round(w / 500));
    if (samples.length > 2 && samples.length <= MOST_FAINT) faintBoundaries(out, samples, ink);
    for (let y = 0; y < h - thick; y++) for (let x = 0; x < w - thick; x++) {
      const here = winner[y * w + x];
      if (here !== winner[y * w + x + thick] || here !== winner[(y + thick) * w + x]) for (let k = 0; k < 3; k++) out[4 * (y * w + x) + k] = ink[k];
    }
    if (overlay && overlay.name === "discriminant") paintDiscriminant(out);
    backdrop = image;
  };
  const paintChambers = (out) => {
    const w = canvas.width, h = canvas.height, [left, right, low, high] = overlay.window, n = overlay.size;
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) {
      const [s, c] = toPlace(x + 0.5, y + 0.5), i = Math.floor((s - left) / (right - left) * n), j = Math.floor((c - low) / (high - low) * n);
      if (i < 0 || j < 0 || i >= n || j >= n || overlay.values[j * n + i] < 0) continue;
      const rgb = overlay.colours.get(overlay.values[j * n + i]), at = 4 * (y * w + x);
      for (let k = 0; k < 3; k++) out[at + k] = rgb[k];
    }
  };
  const paintDiscriminant = (out) => {
    const w = canvas.width, h = canvas.height, sample = sampler(overlay.values, overlay.size, overlay.window), sign = new Int8Array(w * h);
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) sign[y * w + x] = sample(...toPlace(x + 0.5, y + 0.5)) > 0 ? 1 : -1;
    const thick = Math.max(1, Math.round(w / 450)), rgb = DISCRIMINANT;
    for (let y = 0; y < h - thick; y++) for (let x = 0; x < w - thick; x++) {
      const here = sign[y * w + x];
      if (here !== sign[y * w + x + thick] || here !== sign[(y + thick) * w + x]) for (let k = 0; k < 3; k++) out[4 * (y * w + x) + k] = rgb[k];
    }
  };

  // The picture
  const draw = () => {
    drawn = false;
    if (backdrop) context.putImageData(backdrop, 0, 0); else context.clearRect(0, 0, canvas.width, canvas.height);
    const unit = canvas.width / (2 * view.half), px = canvas.width / (canvas.clientWidth || canvas.width);
    const ink = dark.matches ? "#e6e7ec" : "#22232a", paper = dark.matches ? "#1d1f25" : "#ffffff";
    const dot = (place, radius, fill, stroke, width = 1.2) => {
      const [x, y] = toPixel(place);
      context.beginPath(); context.arc(x, y, radius * px, 0, 7); context.fillStyle = fill; context.fill();
      context.lineWidth = width * px; context.strokeStyle = stroke; context.stroke();
    };
    const mark = (label, place, size, edge, width) => {
      const [x, y] = toPixel(place);
      context.beginPath();
      if (scene.marks[label].polygon.length) scene.marks[label].polygon.forEach(([a, b]) => context.lineTo(x + a * size * px, y + b * size * px));
      else context.arc(x, y, size * px, 0, 7);
      context.closePath();
      context.fillStyle = scene.marks[label].colour; context.fill();
      context.lineWidth = width * px; context.strokeStyle = edge; context.stroke();
    };
    axes(ink, paper, px);
    scene.points.forEach((place, row) => { context.globalAlpha = place[2] > 1e-9 ? 0.45 : 1; mark(scene.predicted[row], place, 4, paper, 0.8); });
    context.globalAlpha = 1;
    if (answer && answer.class !== null && answer.class !== undefined) {
      const [x, y] = toPixel(answer.place), rgb = colour(answer.class);
      const ring = (radius, dash) => { context.beginPath(); context.arc(x, y, radius * unit, 0, 7); context.setLineDash(dash); context.stroke(); context.setLineDash([]); };
      if (typeof answer.lower === "number") {
        context.fillStyle = css(rgb, 0.28); context.beginPath(); context.arc(x, y, answer.lower * unit, 0, 7); context.fill();
        context.strokeStyle = ink; context.lineWidth = 1.6 * px; ring(answer.lower, []);
      }
      if (typeof answer.upper === "number" && answer.upper > answer.lower * (1 + 1e-9)) ring(answer.upper, [5 * px, 4 * px]);
      for (const rival of answer.rivals) for (const place of rival.points) {
        dot(place, rival.rival === answer.rival ? 4 : 3.2, place[2] > 1e-6 ? "transparent" : paper, css(colour(rival.rival), 1), 1.8);
      }
      if (answer.nearest) {
        const [a, b] = toPixel(answer.nearest);
        context.strokeStyle = ink; context.lineWidth = 1.4 * px; context.beginPath(); context.moveTo(x, y); context.lineTo(a, b); context.stroke();
        dot(answer.nearest, 4.5, answer.nearest[2] > 1e-6 ? "transparent" : ink, ink);
      }
    }
    if (answer && answer.class !== null && answer.class !== undefined) mark(answer.class, point, 7.5, ink, 2); else dot(point, 7, ink, ink, 2);
  };
  // Ticks inside the picture, with a halo so that they can be read on any colour
  const steps = (low, high, count) => {
    const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999), found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(10)));
    return found;
  };
  const axes = (ink, paper, px) => {
    const [left, right, low, high] = windowOf(), w = canvas.width, h = canvas.height, count = Math.max(5, Math.round(canvas.clientWidth / 110));
    const write = (text, x, y, align, base) => {
      context.textAlign = align; context.textBaseline = base;
      context.lineWidth = 3.5 * px; context.strokeStyle = paper; context.strokeText(text, x, y);
      context.fillStyle = ink; context.fillText(text, x, y);
    };
    const line = (x, y, a, b) => { context.lineWidth = 1.2 * px; context.strokeStyle = ink; context.beginPath(); context.moveTo(x, y); context.lineTo(a, b); context.stroke(); };
    context.font = `${12 * px}px system-ui, sans-serif`; context.lineJoin = "round";
    line(0, h, w, h); line(0, 0, 0, h);
    for (const s of steps(left, right, count)) {
      const [x] = toPixel([s, low]);
      if (x < 40 * px || x > w - 24 * px) continue;
      line(x, h, x, h - 6 * px); write(number(s), x, h - 8 * px, "center", "bottom");
    }
    for (const c of steps(low, high, count)) {
      const [, y] = toPixel([left, c]);
      if (y < 30 * px || y > h - 24 * px) continue;
      line(0, y, 6 * px, y); write(number(c), 9 * px, y, "left", "middle");
    }
    write(scene.axes[0], w - 6 * px, h - 24 * px, "right", "bottom");
    write(scene.axes[1], 9 * px, 6 * px, "left", "top");
  };
  const redraw = () => { if (!drawn) { drawn = true; requestAnimationFrame(draw); } };

  // Legend and answer
  const SVG = "http://www.w3.org/2000/svg";
  const icon = (...shapes) => {
    const made = document.createElementNS(SVG, "svg");
    made.setAttribute("viewBox", "-8 -8 16 16"); made.setAttribute("aria-hidden", "true");
    for (const [name, attributes] of shapes) {
      const shape = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
      made.append(shape);
    }
    return made;
  };
  const markShape = (k, size) => scene.marks[k].polygon.length
    ? ["polygon", { points: scene.marks[k].polygon.map(([a, b]) => `${a * size},${b * size}`).join(" "), fill: scene.marks[k].colour }]
    : ["circle", { r: size, fill: scene.marks[k].colour }];
  const key = (symbol, text) => { const made = element("span", undefined, "key"); made.append(symbol, text); return made; };
  const drawLegend = () => {
    $("marks").replaceChildren(...scene.marks.map((_, k) => key(icon(markShape(k, 5)), `class ${called(k)}`)));
    $("key").replaceChildren(
      key(icon(["circle", { r: 6.5, class: "disc" }]), "no other class inside"),
      key(icon(["circle", { r: 4, class: "full" }]), "nearest tie"),
      key(icon(["circle", { r: 4, class: "ink" }]), "other critical points, in the rival's colour"),
      ...(source.overlays || !source.fixed ? [] : [key(icon(["circle", { r: 6.5, class: "ink dashed" }]), "upper bound")]),
      key(icon(["line", { x1: -8, x2: 8, class: "ink" }]), "decision boundary"),
      ...(scene.classes > 2 && scene.classes <= MOST_FAINT ? [key(icon(["line", { x1: -8, x2: 8, class: "faint" }]), "tie below a third class")] : []),
      ...(scene.points.some((place) => place[2] > 1e-9) ? [element("span", "Pale points lie off this plane.")] : []));
  };
  const called = (k) => k === null ? "–" : scene.names[k] ?? String(k);
  const swatch = (k) => { const made = element("span", undefined, "key"); made.append(icon(markShape(k, 5.5))); return made; };
  const show = () => {
    const bracket = answer.lower !== answer.upper && answer.upper !== null && Math.abs(answer.upper - answer.lower) > 1e-9 * answer.upper;
    $("margin").textContent = bracket ? `${number(answer.lower, 4)} … ${number(answer.upper, 4)}` : number(answer.upper, 6);
    $("standing").textContent = answer.standing;
    $("standing").className = answer.standing.toLowerCase();
    const off = answer.nearest && answer.nearest[2] > 1e-6 ? `, ${number(answer.nearest[2], 3)} off this plane` : "";
    $("sentence").replaceChildren(swatch(answer.class), answer.rival === null ? `class ${called(answer.class)}, and no tie with another class is known` : `class ${called(answer.class)}; the nearest tie is with class ${called(answer.rival)}${off}`);
    $("tie").hidden = answer.tied.length < 2;
    $("tie").textContent = answer.tied.length > 1 ? `Classes ${answer.tied.map(called).join(" and ")} are equally near.` : "";
    const order = (x) => x === null ? Infinity : x === "inf" ? 1e300 : x;
    $("rivals").replaceChildren(...[...answer.rivals].sort((a, b) => order(a.upper) - order(b.upper)).map((rival) => {
      const line = element("tr", undefined, rival.rival === answer.rival ? "nearest" : ""), name = element("td");
      name.append(swatch(rival.rival), `class ${called(rival.rival)}`);
      line.append(name, element("td", number(rival.upper)), element("td", number(rival.complex)), element("td", number(rival.real)));
      return line;
    }));
    $("place").textContent = `at (${answer.place.map((x) => number(x, 4)).join(", ")})`;
    $("notes").replaceChildren(...marked(answer.notes.join("; ")));
    document.body.dataset.answers = String(Number(document.body.dataset.answers || 0) + 1);
  };
  const move = async (place) => {
    point = wanted = place;
    redraw();
    if (under >= (source.ahead ?? 1)) return;
    under++;
    document.body.dataset.settled = "false";
    while (wanted) {
      const turn = ++asked, next = wanted;
      wanted = null;
      try {
        const found = await source.answer(next);
        if (turn < shown) continue; // a newer one came before it
        shown = turn;
        answer = found;
        if (source.fixed) point = answer.place;
        trouble(null);
        show();
      } catch (error) {
        if (turn < shown) continue;
        shown = turn;
        trouble(error);
      }
      redraw();
    }
    under--;
    document.body.dataset.settled = String(under === 0);
  };

  // Window
  let pending = 0;
  const refresh = async () => {
    const turn = ++pending;
    paintBackdrop(); // the old field at the new place
    redraw();
    await new Promise((done) => setTimeout(done, field ? 120 : 0));
    if (turn !== pending) return;
    try { const found = await source.field(windowOf()); if (turn === pending) { field = found; paintBackdrop(); redraw(); } } catch (error) { trouble(error); }
  };
  const resize = () => {
    const scale = Math.min(devicePixelRatio || 1, 2);
    const w = Math.max(160, Math.round(canvas.clientWidth * scale)), h = Math.max(160, Math.round(canvas.clientHeight * scale));
    if (canvas.width === w && canvas.height === h) return;
    canvas.width = w; canvas.height = h;
    refresh();
  };
  const zoom = (factor, about = [view.s, view.c]) => {
    view = { s: about[0] + (view.s - about[0]) * factor, c: about[1] + (view.c - about[1]) * factor, half: view.half * factor };
    refresh();
  };

  // Chambers and discriminant, on demand
  const legend = () => {
    if (!overlay) { $("legend").replaceChildren(); return; }
    const pair = `classes ${overlay.pair.map(called).join(" and ")}`;
    if (overlay.name === "discriminant") {
      const line = element("span", undefined, "swatch");
      line.style.background = css(DISCRIMINANT, 1);
      $("legend").replaceChildren(line, `ED discriminant of degree ${overlay.degree} (${pair}): two critical points merge there.`);
      return;
    }
    const parts = [`Number of real critical points (${pair}; ${overlay.total} complex): `];
    for (const [count, rgb] of overlay.colours) { const mark = element("span", undefined, "swatch"); mark.style.background = css(rgb, 1); parts.push(mark, `${count}  `); }
    $("legend").replaceChildren(...parts);
  };
  const pressed = () => { for (const name of ["chambers", "discriminant"]) $(name).setAttribute("aria-pressed", String(overlay !== null && overlay.name === name)); };
  // While a picture is computed: what is done so far, and a button to cancel it
  const watch = (name) => {
    const control = new AbortController(), began = performance.now(), word = name === "chambers" ? "samples" : "primes", limit = Number($("bar").max);
    const tell = (steps) => {
      const seconds = Math.floor((performance.now() - began) / 1000);
      $("doing").textContent = `${$(name).textContent}: ${steps ? `${steps} ${word}, ` : ""}${seconds} s${name === "discriminant" ? ` of at most ${limit} s` : ""}`;
      if (name === "discriminant") $("bar").value = Math.min(limit, seconds); else $("bar").removeAttribute("value");
    };
    const timer = setInterval(() => ask("progress").then((state) => tell(state.steps)).catch(() => tell(0)), 700);
    $("cancel").onclick = () => { ask("cancel").catch(() => {}); control.abort(); };
    $("work").hidden = false;
    tell(0);
    return { signal: control.signal, cancelled: () => control.signal.aborted, end: () => { clearInterval(timer); $("work").hidden = true; } };
  };
  const OVERLAYS = ["chambers", "discriminant"];
  const toggle = async (name) => {
    if (overlay && overlay.name === name) { overlay = null; pressed(); legend(); paintBackdrop(); redraw(); return; }
    if (!answer || answer.rival === null) return;
    const pair = [answer.class, answer.rival];
    for (const other of OVERLAYS) $(other).disabled = true;
    const watched = watch(name);
    try {
      const found = await source.overlay(name, pair[0], pair[1], windowOf(), watched.signal);
      const kind = name === "chambers" ? (found.bytes === 1 ? Int8Array : Int16Array) : Float32Array;
      overlay = { ...found, name, pair, values: unpack(found.values, kind) };
      if (name === "chambers") {
        const counts = Object.keys(found.shares).map(Number).sort((a, b) => a - b);
        overlay.colours = new Map(counts.map((count, k) => [count, COUNTS[Math.round(k * (COUNTS.length - 1) / Math.max(3, counts.length - 1))]]));
      }
      trouble(null);
    } catch (error) { if (!watched.cancelled()) { overlay = null; trouble(error); } }
    watched.end();
    for (const other of OVERLAYS) $(other).disabled = false;
    pressed(); legend(); paintBackdrop(); redraw();
  };

  // Gallery
  let first = 0;
  const pageSize = 48;
  const gallery = async () => {
    const found = await ask("gallery", { first });
    $("strip").replaceChildren(...found.points.map((entry) => {
      const button = element("button");
      button.type = "button";
      if (entry.image) { const image = element("img"); image.alt = ""; image.src = entry.image; button.append(image); }
      button.append(`${entry.row}: class ${called(entry.class)}${entry.right !== null && entry.right !== entry.class ? ` (true: ${called(entry.right)})` : ""}`);
      button.addEventListener("click", () => pick(entry.row).catch(trouble));
      return button;
    }));
    $("page").textContent = `${first + 1} – ${first + found.points.length} of ${found.total}`;
    $("previous").disabled = first === 0;
    $("next").disabled = first + pageSize >= found.total;
  };
  const pick = async (row) => {
    $("picked").replaceChildren(element("p", "computing …", "soft"));
    const found = await ask("point", { row });
    const bracket = found.lower === found.upper ? number(found.upper) : `${number(found.lower)} … ${number(found.upper)}`;
    const head = element("p", `Point ${row}, class ${called(found.class)}${found.right === null ? "" : `, true class ${called(found.right)}`}: margin ${bracket} (${found.standing}).`);
    const cards = element("div", undefined, "cards");
    for (const rival of found.rivals) {
      const card = element("figure"), pictures = element("div");
      if (rival.image) for (const [alt, address] of [["difference", rival.difference], ["counterexample", rival.image]]) {
        const image = element("img"); image.alt = alt; image.src = address; pictures.append(image);
      }
      const size = rival.lower === rival.upper ? number(rival.upper, 4) : `${number(rival.lower, 3)} … ${number(rival.upper, 3)}`;
      card.append(pictures, element("figcaption", `class ${called(rival.rival)} at ${size}${rival.change ? `; change ${rival.change.join(", ")}` : ""}`));
      cards.append(card);
    }
    const remarks = element("p", undefined, "soft");
    remarks.append(...marked(found.notes.join("; ")));
    $("picked").replaceChildren(head, remarks, cards);
    const place = row < scene.points.length ? scene.points[row] : null;
    if (place && place[2] < 1e-9) move([place[0], place[1]]);
  };

  // Begin
  const begin = async () => {
    scene = await source.scene();
    colours = scene.marks.map((mark) => hex(mark.colour));
    drawLegend();
    $("model").textContent = `${scene.model === scene.title ? "" : `${scene.model}; `}${scene.inputs === 2 ? "two inputs" : `a plane through ${scene.inputs} inputs`}`;
    canvas.width = canvas.height = 0;
    view = fitView(scene.window);
    point = scene.start;
    for (const name of ["chambers", "discriminant"]) $(name).hidden = !source.overlays || (name === "discriminant" && scene.inputs !== 2);
    for (const name of ["closer", "farther", "reset"]) $(name).hidden = Boolean(source.fixed);
    resize();
    addEventListener("resize", resize);
    dark.addEventListener("change", () => { paintBackdrop(); redraw(); });
    const at = (event) => { const box = canvas.getBoundingClientRect(), k = canvas.width / box.width; return toPlace((event.clientX - box.left) * k, (event.clientY - box.top) * k); };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); move(at(event)); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) move(at(event)); });
    canvas.addEventListener("wheel", (event) => { if (source.fixed) return; event.preventDefault(); zoom(Math.exp(event.deltaY * 0.0015), at(event)); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!way) return;
      event.preventDefault();
      const step = 2 * view.half / (source.fixed ? 32 : 100);
      move([point[0] + way[0] * step, point[1] + way[1] * step]);
    });
    $("closer").addEventListener("click", () => zoom(0.7));
    $("farther").addEventListener("click", () => zoom(1 / 0.7));
    $("reset").addEventListener("click", () => { view = fitView(scene.window); refresh(); });
    for (const name of ["chambers", "discriminant"]) $(name).addEventListener("click", () => toggle(name));
    if (source === live && scene.count > 0) {
      $("gallery").hidden = false;
      $("previous").addEventListener("click", () => { first = Math.max(0, first - pageSize); gallery().catch(trouble); });
      $("next").addEventListener("click", () => { first += pageSize; gallery().catch(trouble); });
      gallery().catch(trouble);
    }
    await move(point);
  };
  begin().catch(trouble);
})();
