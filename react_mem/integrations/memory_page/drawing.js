"use strict";

const NEAR = 46, COLD = 0.4, SLICE = 8, CROWD = 12, LABELS = 60, CANDIDATES = 500;

// Where memories stand: linked ones near each other, all others apart. It is found in steps, between which the page goes on.
class Layout {
  // `before` has the places of memories that were drawn already, by id.
  constructor(nodes, links, before = new Map()) {
    const count = nodes.length, at = new Map(nodes.map((node, place) => [node.id, place]));
    this.x = new Float64Array(count);
    this.y = new Float64Array(count);
    this.degree = new Float64Array(count);
    this.ends = links.map(link => [at.get(link.from), at.get(link.to)]).filter(([from, to]) => from !== undefined && to !== undefined && from !== to);
    const beside = nodes.map(() => []);
    for (const [from, to] of this.ends) {
      beside[from].push(to);
      beside[to].push(from);
      this.degree[from] += 1;
      this.degree[to] += 1;
    }
    let known = 0, placed = 0;
    const far = count => 0.8 * NEAR * Math.sqrt(count), turned = turn => 2.39996 * turn;
    this.#groups(beside).forEach((group, turn) => {
      const out = far(placed + (placed && group.length / 2)), left = out * Math.cos(turned(turn)), top = out * Math.sin(turned(turn));
      group.forEach((node, step) => {
        const old = before.get(nodes[node].id);
        this.x[node] = old ? old[0] : left + far(step) * Math.cos(turned(step));
        this.y[node] = old ? old[1] : top + far(step) * Math.sin(turned(step));
        known += old ? 1 : 0;
      });
      placed += group.length;
    });
    // among few everybody keeps away from many, which untangles them; among many only from those beside
    this.reach = NEAR * (count < 300 ? 5 : count < 1_000 ? 2.5 : 1.5);
    this.weight = 0.02 / Math.sqrt(count + 1);
    this.cooling = count < 300 ? 0.988 : 0.965;
    this.heat = count && known === count ? 2 : 24;
  }

  // What hangs together, as it is linked from one to the next: around the most linked first, what is linked with nothing last.
  #groups(beside) {
    const groups = [], seen = new Uint8Array(beside.length);
    for (const start of [...beside.keys()].sort((a, b) => this.degree[b] - this.degree[a])) {
      if (seen[start]) continue;
      seen[start] = 1;
      const order = [];
      groups.push(order);
      for (let queue = [start]; queue.length;) {
        const next = [];
        for (const node of queue) {
          order.push(node);
          for (const other of beside[node]) if (!seen[other]) { seen[other] = 1; next.push(other); }
        }
        queue = next;
      }
    }
    return groups;
  }

  // Go on for some milliseconds; whether there is more to do.
  run(milliseconds) {
    const until = performance.now() + milliseconds;
    while (this.heat > COLD && performance.now() < until) this.#step();
    return this.heat > COLD;
  }

  #step() {
    const { x, y, ends, degree, reach } = this, count = x.length, dx = new Float64Array(count), dy = new Float64Array(count);
    const cells = new Map(), cellOf = (a, b) => a * 1e6 + b;
    for (let node = 0; node < count; node += 1) {
      const key = cellOf(Math.floor(x[node] / reach), Math.floor(y[node] / reach));
      const cell = cells.get(key);
      if (cell) cell.push(node); else cells.set(key, [node]);
    }
    for (let node = 0; node < count; node += 1) {
      const a = Math.floor(x[node] / reach), b = Math.floor(y[node] / reach);
      for (let i = a - 1; i <= a + 1; i += 1) for (let j = b - 1; j <= b + 1; j += 1) {
        const cell = cells.get(cellOf(i, j));
        if (!cell) continue;
        // of a crowd some stand for all
        const stride = Math.ceil(cell.length / CROWD);
        for (let k = node % stride; k < cell.length; k += stride) {
          const other = cell[k];
          if (other === node) continue;
          let ox = x[node] - x[other], oy = y[node] - y[other], square = ox * ox + oy * oy;
          if (square > reach * reach) continue;
          if (square < 0.01) { ox = Math.cos(node); oy = Math.sin(node); square = 1; }
          const push = Math.min(0.1 * stride * NEAR * NEAR / square * (1 - Math.sqrt(square) / reach), 4);
          dx[node] += ox * push;
          dy[node] += oy * push;
        }
      }
    }
    for (const [from, to] of ends) {
      const ox = x[to] - x[from], oy = y[to] - y[from], far = Math.hypot(ox, oy) || 1;
      const pull = 0.2 * (far - NEAR) / far;
      dx[from] += ox * pull / Math.sqrt(degree[from]); dy[from] += oy * pull / Math.sqrt(degree[from]);
      dx[to] -= ox * pull / Math.sqrt(degree[to]); dy[to] -= oy * pull / Math.sqrt(degree[to]);
    }
    for (let node = 0; node < count; node += 1) {
      const mx = dx[node] - this.weight * x[node], my = dy[node] - this.weight * y[node], far = Math.hypot(mx, my) || 1;
      const most = Math.min(far, this.heat) / far;
      x[node] += mx * most;
      y[node] += my * most;
    }
    this.heat *= this.cooling;
  }
}

// The drawing of a graph: a canvas that is moved by pointer, wheel and keys. `colours` gives the colour of a kind.
class Drawing {
  constructor(canvas, { choose, colours }) {
    Object.assign(this, { canvas, choose, colours, nodes: [], links: [], named: [], at: new Map(), chosen: "", scale: 1, left: 0, top: 0, moved: false, dense: 1 });
    this.layout = new Layout([], []);
    this.pen = canvas.getContext("2d");
    this.frame = 0;
    this.watch = new ResizeObserver(() => this.#resize());
    this.watch.observe(canvas);
    this.#listen();
  }

  leave() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
  }

  show(nodes, links) {
    const before = new Map(this.nodes.map((node, at) => [node.id, [this.layout.x[at], this.layout.y[at]]]));
    this.nodes = nodes;
    this.canvas.dataset.kinds = [...new Set(nodes.map(node => node.kind))].join(" ");
    this.layout = new Layout(nodes, links, before);
    delete this.canvas.dataset.settled;
    this.links = this.layout.ends;
    this.at = new Map(nodes.map((node, at) => [node.id, at]));
    // whose name is written where there is room for some: facts first, then what is linked most
    this.named = [...nodes.keys()].sort((a, b) => (nodes[b].kind === "fact") - (nodes[a].kind === "fact")
      || this.layout.degree[b] - this.layout.degree[a]).slice(0, CANDIDATES);
    this.#later();
  }

  mark(id) {
    this.chosen = id;
    const place = id && this.placeOf(id), { clientWidth: width, clientHeight: height } = this.canvas;
    if (place && (place[0] < 0 || place[1] < 0 || place[0] > width || place[1] > height)) this.move(width / 2 - place[0], height / 2 - place[1]);
    this.#later();
  }

  // Where a memory is drawn, in the canvas.
  placeOf(id) {
    const at = this.at.get(id);
    return at === undefined ? null : [this.layout.x[at] * this.scale + this.left, this.layout.y[at] * this.scale + this.top];
  }

  move(right, down) {
    this.moved = true;
    this.left += right;
    this.top += down;
    this.#later();
  }

  zoom(factor, [x, y] = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]) {
    const scale = Math.min(6, Math.max(0.04, this.scale * factor)), by = scale / this.scale;
    this.scale = scale;
    this.move((x - this.left) * (1 - by), (y - this.top) * (1 - by));
  }

  fit() {
    this.moved = false;
    this.#later();
  }

  #fitted() {
    const { x, y } = this.layout, { clientWidth: width, clientHeight: height } = this.canvas;
    let [least, most, high, low] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < x.length; at += 1) {
      least = Math.min(least, x[at]); most = Math.max(most, x[at]); high = Math.min(high, y[at]); low = Math.max(low, y[at]);
    }
    if (!x.length) return;
    this.scale = Math.min(2, Math.max(0.04, Math.min((width - 60) / (most - least + 1), (height - 60) / (low - high + 1))));
    this.left = width / 2 - this.scale * (least + most) / 2;
    this.top = height / 2 - this.scale * (high + low) / 2;
  }

  #resize() {
    const dense = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(this.canvas.clientWidth * dense);
    this.canvas.height = Math.round(this.canvas.clientHeight * dense);
    this.dense = dense;
    this.#later();
  }

  // Draw with the next frame, once however often that is asked for.
  #later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const goesOn = this.layout.run(SLICE);
      if (!this.moved) this.#fitted();
      this.#draw();
      this.canvas.dataset.frames = String(Number(this.canvas.dataset.frames ?? 0) + 1);
      if (goesOn) this.#later();
      else if (this.nodes.length) this.canvas.dataset.settled = String(this.nodes.length);
    });
  }

  #draw() {
    const { pen, scale, left, top, nodes, canvas, colours } = this, { x, y, degree } = this.layout;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    pen.setTransform(this.dense, 0, 0, this.dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    const chosen = this.at.get(this.chosen), strong = [];
    pen.beginPath();
    for (const [from, to] of this.links) {
      const a = x[from] * scale + left, b = y[from] * scale + top, c = x[to] * scale + left, d = y[to] * scale + top;
      if ((a < 0 && c < 0) || (b < 0 && d < 0) || (a > width && c > width) || (b > height && d > height)) continue;
      if (from === chosen || to === chosen) strong.push([a, b, c, d]);
      pen.moveTo(a, b);
      pen.lineTo(c, d);
    }
    pen.lineWidth = 1;
    pen.strokeStyle = colours("line");
    pen.stroke();
    pen.beginPath();
    for (const [a, b, c, d] of strong) { pen.moveTo(a, b); pen.lineTo(c, d); }
    pen.lineWidth = 2;
    pen.strokeStyle = colours("accent");
    pen.stroke();

    const shapes = new Map();
    for (let at = 0; at < nodes.length; at += 1) {
      const a = x[at] * scale + left, b = y[at] * scale + top;
      if (a < -10 || b < -10 || a > width + 10 || b > height + 10) continue;
      let shape = shapes.get(nodes[at].kind);
      if (!shape) shapes.set(nodes[at].kind, shape = new Path2D());
      const round = Math.max(1.5, Math.min(2.5 + Math.sqrt(degree[at]), 9) * Math.min(1, scale + 0.25));
      shape.moveTo(a + round, b);
      shape.arc(a, b, round, 0, 7);
    }
    for (const [kind, shape] of shapes) { pen.fillStyle = colours(kind); pen.fill(shape); }
    if (chosen !== undefined) {
      pen.beginPath();
      pen.arc(x[chosen] * scale + left, y[chosen] * scale + top, 12, 0, 7);
      pen.stroke();
    }
    this.#name(chosen, width, height);
  }

  // Write names where no other one is, the most important first.
  #name(chosen, width, height) {
    const { pen, scale, left, top, nodes, colours } = this, { x, y } = this.layout, taken = [];
    pen.font = "13px system-ui, sans-serif";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeStyle = colours("sheet");
    pen.fillStyle = colours("ink");
    for (const at of chosen === undefined ? this.named : [chosen, ...this.named]) {
      if (taken.length >= LABELS) return;
      const text = nodes[at].name ??= short(nodes[at].text, 30), long = nodes[at].long ??= pen.measureText(text).width, b = y[at] * scale + top + 4;
      // at the right edge it stands on the left, and nowhere beyond an edge
      const beside = x[at] * scale + left, a = beside + 11 + long > width ? Math.max(4, beside - 11 - long) : beside + 11;
      if (beside < 0 || b < 10 || beside > width || b > height) continue;
      if (!text || taken.some(one => a < one.a + one.long && one.a < a + long && Math.abs(b - one.b) < 17)) continue;
      taken.push({ a, b, long });
      pen.strokeText(text, a, b);
      pen.fillText(text, a, b);
    }
  }

  #nearest(px, py) {
    let best = null, least = 16 * 16;
    for (const node of this.nodes) {
      const [x, y] = this.placeOf(node.id), square = (x - px) ** 2 + (y - py) ** 2;
      if (square < least) { least = square; best = node; }
    }
    return best;
  }

  #listen() {
    const { canvas } = this, fingers = new Map();
    let dragged = 0;
    const here = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", event => {
      fingers.set(event.pointerId, here(event));
      dragged = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      const was = fingers.get(event.pointerId), now = here(event);
      if (!was) return;
      fingers.set(event.pointerId, now);
      dragged += Math.hypot(now[0] - was[0], now[1] - was[1]);
      if (fingers.size === 1) return this.move(now[0] - was[0], now[1] - was[1]);
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      this.zoom(Math.hypot(now[0] - other[0], now[1] - other[1]) / (Math.hypot(was[0] - other[0], was[1] - other[1]) || 1), other);
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => {
      if (end === "pointerup" && fingers.size === 1 && dragged < 5) this.choose(this.#nearest(...here(event)));
      fingers.delete(event.pointerId);
    });
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 500), here(event));
    }, { passive: false });
    const keys = { ArrowLeft: () => this.move(60, 0), ArrowRight: () => this.move(-60, 0), ArrowUp: () => this.move(0, 60),
      ArrowDown: () => this.move(0, -60), "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), 0: () => this.fit() };
    canvas.addEventListener("keydown", event => {
      const act = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  }
}
