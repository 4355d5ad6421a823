"use strict";

// A graph on a canvas: where its nodes come to lie, how they are drawn, and moving about in it. Without words and without
// controls, which the page around it has.

const GRAPH_COLORS = { message: "#4f8ef7", fact: "#2fa36b", summary: "#a06be0", episode: "#e08a2f", skill: "#d6558f",
  experience: "#8a94a8", task_step: "#5bb5c9", document: "#b0793f", concept: "#d9483b" };
const GRAPH_SPARE = ["#7c8f2e", "#c2408a", "#3f6f8f", "#96603f"];
const GRAPH_STROKES = { support: "#2fa36b", summarization: "#a06be0", milestone: "#e08a2f", dependency: "#d9483b",
  timeline: "#9aa3b5", semantic: "#4f8ef7" };

// How often each name comes, the most often first.
function graphCounts(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

// Draws nodes {type, name, text} and links {from, to, kind, weight}, which name nodes by their place.
// told({under, chosen, settled}) is called when what is pointed at, what is chosen, or where everything lies has changed.
function graphDrawing(canvas, nodes, links, told = () => {}) {
  const screen = canvas.getContext("2d");
  const near = nodes.map(() => []);
  for (const link of links) { near[link.from].push([link, link.to, true]); near[link.to].push([link, link.from, false]); }
  const types = graphCounts(nodes.map(node => node.type)), kinds = graphCounts(links.map(link => link.kind));
  let spare = 0;
  const color = new Map(types.map(([type]) => [type, GRAPH_COLORS[type] || GRAPH_SPARE[spare++ % GRAPH_SPARE.length]]));
  const hidden = { type: new Set(), kind: new Set() }, view = { x: 0, y: 0, zoom: 1 };
  let wanted = "", chosen = -1, under = -1, heat = 1, frame = 0, ended = false;

  // where they begin: on a spiral, always the same
  nodes.forEach((node, i) => { const r = 14 * Math.sqrt(i + 1), a = i * 2.399963;
    node.x = r * Math.cos(a); node.y = r * Math.sin(a); node.dx = node.dy = 0;
    node.size = 3.5 + Math.min(9, 1.4 * Math.sqrt(near[i].length)); });
  const shown = node => !hidden.type.has(node.type);
  const drawn = link => !hidden.kind.has(link.kind) && shown(nodes[link.from]) && shown(nodes[link.to]);
  const matches = node => wanted !== "" && `${node.name} ${node.text}`.toLowerCase().includes(wanted);

  // One round: nodes that are near push each other away, links pull.
  function settle() {
    const CELL = 60, cells = new Map(), cellOf = (x, y) => x * 73_856_093 + y;
    nodes.forEach((node, i) => { const key = cellOf(Math.floor(node.x / CELL), Math.floor(node.y / CELL));
      (cells.get(key) || cells.set(key, []).get(key)).push(i); });
    nodes.forEach((node, i) => {
      const cx = Math.floor(node.x / CELL), cy = Math.floor(node.y / CELL);
      for (let x = cx - 1; x <= cx + 1; x++) for (let y = cy - 1; y <= cy + 1; y++)
        for (const j of cells.get(cellOf(x, y)) || []) { if (j === i) continue;
          const dx = node.x - nodes[j].x || (i - j) * 1e-3, dy = node.y - nodes[j].y || 1e-3, d = dx * dx + dy * dy;
          if (d < CELL * CELL * 2) { const push = 260 / (d + 30); node.dx += dx * push; node.dy += dy * push; } }
      node.dx -= node.x * 0.004; node.dy -= node.y * 0.004;
    });
    for (const link of links) {
      const a = nodes[link.from], b = nodes[link.to], dx = b.x - a.x, dy = b.y - a.y, d = Math.hypot(dx, dy) || 1;
      const pull = 0.06 * (d - 46) / d * (0.4 + link.weight) / Math.sqrt(Math.min(near[link.from].length, near[link.to].length));
      a.dx += dx * pull; a.dy += dy * pull; b.dx -= dx * pull; b.dy -= dy * pull;
    }
    for (const node of nodes) { const d = Math.hypot(node.dx, node.dy), most = 30 * heat, by = d > most ? most / d : 1;
      node.x += node.dx * by; node.y += node.dy * by; node.dx *= 0.4; node.dy *= 0.4; }
    heat *= 0.985;
  }

  // All rounds, in slices that leave the page to whoever uses it.
  let round = 0;
  const rounds = nodes.length > 1500 ? 120 : 260;
  function settleOn() {
    if (ended) return;
    const until = performance.now() + 10;
    while (round < rounds && performance.now() < until) { settle(); round++; }
    if (round < rounds) { setTimeout(settleOn, 4); return; }
    fit(); draw();
    told({ settled: true });
  }

  function fit() {
    const box = canvas.getBoundingClientRect(), seen = nodes.filter(shown);
    if (!seen.length) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x, y } of seen) { left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y); }
    view.zoom = Math.min(2, 0.88 * Math.min(box.width / (right - left + 60), box.height / (bottom - top + 60)));
    view.x = box.width / 2 - view.zoom * (left + right) / 2; view.y = box.height / 2 - view.zoom * (top + bottom) / 2;
  }

  // Everything of one look is one path: a thousand links cost one stroke.
  function batch(list, lookOf, trace, paint) {
    const looks = new Map();
    for (const one of list) { const look = lookOf(one);
      let path = looks.get(look); if (!path) looks.set(look, path = new Path2D()); trace(path, one); }
    for (const [look, path] of looks) paint(look, path);
  }

  // The picture is larger than what is seen of it, and is moved as a whole while somebody moves: drawing thousands of
  // links anew takes longer than a frame may. It is drawn anew as soon as they rest, or come near its edge.
  const MARGIN = 0.5, REST_MS = 140;
  const picture = document.createElement("canvas"), pen = picture.getContext("2d");
  let taken = { ...view }, resting = 0;

  function show() {
    const box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1, by = view.zoom / taken.zoom;
    const [width, height] = [Math.round(box.width * scale), Math.round(box.height * scale)];
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    screen.setTransform(scale, 0, 0, scale, 0, 0); screen.clearRect(0, 0, box.width, box.height);
    const [x, y] = [view.x - by * (taken.x + MARGIN * box.width), view.y - by * (taken.y + MARGIN * box.height)];
    screen.drawImage(picture, x, y, by * (1 + 2 * MARGIN) * box.width, by * (1 + 2 * MARGIN) * box.height);
    for (const i of [chosen, under]) if (i >= 0 && shown(nodes[i])) {
      screen.strokeStyle = getComputedStyle(canvas).color; screen.lineWidth = 2; screen.beginPath();
      screen.arc(view.x + view.zoom * nodes[i].x, view.y + view.zoom * nodes[i].y, view.zoom * nodes[i].size + 1, 0, 7); screen.stroke(); }
  }

  function draw() {
    const box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1, ink = getComputedStyle(canvas).color;
    picture.width = Math.round((1 + 2 * MARGIN) * box.width * scale); picture.height = Math.round((1 + 2 * MARGIN) * box.height * scale);
    pen.setTransform(scale, 0, 0, scale, MARGIN * box.width * scale, MARGIN * box.height * scale);
    taken = { ...view };
    pen.translate(view.x, view.y); pen.scale(view.zoom, view.zoom);
    const focus = chosen >= 0 ? new Set([chosen, ...near[chosen].map(([, other]) => other)]) : null;
    batch(links.filter(drawn), link => `${chosen < 0 || link.from === chosen || link.to === chosen ? 1 : 0}${Math.round(4 * link.weight)}${link.kind}`,
      (path, link) => { path.moveTo(nodes[link.from].x, nodes[link.from].y); path.lineTo(nodes[link.to].x, nodes[link.to].y); },
      (look, path) => { pen.globalAlpha = look[0] === "1" ? 0.55 : 0.08; pen.strokeStyle = GRAPH_STROKES[look.slice(2)] || "#888";
        pen.lineWidth = (0.6 + 0.3 * Number(look[1])) / Math.sqrt(view.zoom); pen.stroke(path); });
    const lit = (node, i) => (wanted ? matches(node) : !focus || focus.has(i));
    const placed = nodes.map((node, i) => [node, i]).filter(([node]) => shown(node));
    batch(placed, ([node, i]) => `${lit(node, i) ? 1 : 0}${node.type}`,
      (path, [node]) => { path.moveTo(node.x + node.size, node.y); path.arc(node.x, node.y, node.size, 0, 7); },
      (look, path) => { pen.globalAlpha = look[0] === "1" ? 1 : 0.15; pen.fillStyle = color.get(look.slice(1)); pen.fill(path); });
    pen.globalAlpha = 1; pen.fillStyle = ink;
    label(placed.filter(([node, i]) => lit(node, i)), focus);
    show();
  }

  // Names: what is chosen, then facts, then what has the most links. One is left out rather than written over another.
  function label(placed, focus) {
    pen.font = `${12 / view.zoom}px system-ui, sans-serif`; pen.lineJoin = "round"; pen.lineWidth = 4 / view.zoom;
    pen.strokeStyle = getComputedStyle(canvas).backgroundColor;
    const right = (canvas.clientWidth - view.x) / view.zoom;
    const rank = ([node, i]) => (i === chosen ? 2e6 : 0) + (node.type === "fact" ? 1e6 : 0) + near[i].length;
    const filled = [];
    for (const [node] of placed.sort((a, b) => rank(b) - rank(a)).slice(0, focus ? 24 : 14)) {
      const text = node.name.length > 34 ? node.name.slice(0, 33) + "\u2026" : node.name, width = pen.measureText(text).width;
      const gap = node.size + 4 / view.zoom, y = node.y + 4 / view.zoom, high = 16 / view.zoom;
      // on the other side where it would be cut off
      const x = node.x + gap + width > right ? node.x - gap - width : node.x + gap;
      if (filled.some(t => x < t.x + t.width && x + width > t.x && Math.abs(y - t.y) < high)) continue;
      filled.push({ x, y, width }); pen.strokeText(text, x, y); pen.fillText(text, x, y); }
  }

  let anew = false;
  const redraw = (drawAnew = true) => { anew ||= drawAnew;
    frame ||= requestAnimationFrame(() => { frame = 0; if (anew) { anew = false; clearTimeout(resting); draw(); } else show(); }); };
  function moved() {
    const far = Math.abs(view.x - taken.x) > MARGIN * canvas.clientWidth || Math.abs(view.y - taken.y) > MARGIN * canvas.clientHeight;
    clearTimeout(resting); resting = setTimeout(redraw, REST_MS);
    redraw(far || Math.abs(Math.log(view.zoom / taken.zoom)) > 1);
  }

  function at(event) {
    const box = canvas.getBoundingClientRect(), x = (event.clientX - box.left - view.x) / view.zoom, y = (event.clientY - box.top - view.y) / view.zoom;
    let found = -1, best = Infinity;
    nodes.forEach((node, i) => { const d = Math.hypot(node.x - x, node.y - y);
      if (shown(node) && d < node.size + 5 / view.zoom && d < best) { best = d; found = i; } });
    return found;
  }

  function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    view.x = x - (x - view.x) * by; view.y = y - (y - view.y) * by; view.zoom *= by; moved();
  }
  function pan(dx, dy) { view.x += dx; view.y += dy; moved(); }
  function choose(i) { chosen = i; told({ chosen: i }); redraw(); }
  const drawing = { near, types, kinds, color, hidden, view, zoom, pan, choose, redraw, drawn, shown, matches,
    find: text => { wanted = text.trim().toLowerCase(); redraw(); },
    fit: () => { fit(); redraw(); },
    chosen: () => chosen,
    end: () => { ended = true; clearTimeout(resting); removeEventListener("resize", drawing.fit); } };

  let held = null;
  canvas.addEventListener("pointerdown", event => { held = { x: event.clientX, y: event.clientY, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", event => {
    if (held) { const dx = event.clientX - held.x, dy = event.clientY - held.y;
      if (held.moved || Math.hypot(dx, dy) > 4) { pan(dx, dy); held = { x: event.clientX, y: event.clientY, moved: true }; }
      return; }
    const now = at(event);
    if (now !== under) { under = now; canvas.style.cursor = now < 0 ? "default" : "pointer"; redraw(false); }
    told({ under: now, event });
  });
  canvas.addEventListener("pointerup", event => { if (held && !held.moved) choose(at(event)); held = null; });
  canvas.addEventListener("pointercancel", () => { held = null; });
  canvas.addEventListener("wheel", event => { event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 500), event.clientX - box.left, event.clientY - box.top); }, { passive: false });
  addEventListener("resize", drawing.fit);
  fit(); draw(); settleOn();
  return drawing;
}
