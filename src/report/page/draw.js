'use strict';
// Draws one picture: lanes downwards, operations to the right in the order of issue, the edges that
// were there, the one that is missing, and the lives of buffers under the lanes.
//
// Two axes share this code. `focus` gives every operation that concerns the hazard a column as wide
// as its words; `all` gives every operation of the program the same width, and what is narrower
// than a pixel is drawn once a pixel.
const GUTTER = 132, ROW = 58, BOX = 42, LIFE = 24, TOP = 22, SLOT = 100, STUB = 18;
const FAMILY = 'system-ui, "DejaVu Sans", sans-serif';
const FONT = '12px ' + FAMILY, BOLD = '600 12px ' + FAMILY;
const WORK = new Set(['kernel', 'copy', 'memset', 'host_fn', 'host access', 'collective', 'launch graph', 'step']);
const ALLOCATOR = new Set(['alloc', 'free', 'record_stream', 'malloc_async', 'free_async']);

function palette() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  return dark
    ? {ink: '#e6edf3', soft: '#9198a1', line: '#30363d', paper: '#0d1117', band: '#12181f', work: '#1f3a5f',
       workLine: '#4493f8', order: '#21262d', orderLine: '#9198a1', pool: '#1c3325', poolLine: '#3fb950',
       bad: '#ff7b72', badFill: '#5c1e20', edge: '#57ab5a', life: '#2b4a6f', next: '#6e2b2e', mark: '#d29922'}
    : {ink: '#1b1f24', soft: '#59636e', line: '#e4e8ec', paper: '#ffffff', band: '#f9fafb', work: '#ddf0ff',
       workLine: '#0969da', order: '#f3f4f6', orderLine: '#818b98', pool: '#e6f6ea', poolLine: '#1a7f37',
       bad: '#cf222e', badFill: '#ffd7d5', edge: '#2da44e', life: '#b6dcff', next: '#ffc1bc', mark: '#bf8700'};
}

class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.g = canvas.getContext('2d');
  }

  // Words of an operation's box: what it is, and what it does to the hazard's buffer.
  words(picture, position, life) {
    const name = picture.names[picture.ops.name[position]];
    const short = name.length > 32 ? name.slice(0, 31) + '…' : name;
    const kind = data.kinds[picture.ops.kind[position]], id = picture.ops.id[position];
    const number = id ? (kind === 'step' ? 'step ' : 'op ') + id : '';
    const touch = kind === 'stuck' ? picture.ops.note[position]
      : picture.idle.has(position) ? 'orders nothing' : life < 0 ? '' : picture.touchText(position, life);
    return [short, number + (number && touch ? ' ' : '') + touch];
  }

  // Columns may overlap where their lanes differ, but nobody begins left of who was issued before,
  // and nobody before an edge that leads to it has ended.
  focusAxis(picture, hazard) {
    const g = this.g, at = new Map(), ends = new Map(), into = new Map();
    for (let i = 0; i < picture.edges.length; i += 2) {
      if (!into.has(picture.edges[i + 1])) into.set(picture.edges[i + 1], []);
      into.get(picture.edges[i + 1]).push(picture.edges[i]);
    }
    let x = 14, last = -1;
    for (const position of hazard.focus) {
      const skipped = last < 0 ? position : position - last - 1;
      const lane = picture.ops.lane[position];
      x = Math.max(last < 0 ? x : x + 30, (ends.get(lane) ?? 0) + 16);
      for (const from of into.get(position) || []) {
        if (at.has(from)) x = Math.max(x, at.get(from).x + at.get(from).w + 28);
      }
      const edge = hazard.edge;
      if (edge && edge[1] === position && at.has(edge[0])) x = Math.max(x, at.get(edge[0]).x + at.get(edge[0]).w + 130);
      if (skipped > 0 && last >= 0) x += 12;
      if (picture.idle.has(position)) x += STUB;
      const [a, b] = this.words(picture, position, hazard.life);
      g.font = BOLD;
      let w = g.measureText(a).width;
      g.font = FONT;
      w = Math.max(46, w + 12, g.measureText(b).width + 12);
      at.set(position, {x, w, skipped});
      ends.set(lane, x + w);
      last = position;
    }
    const total = Math.max(...ends.values()) + 60;
    return {order: hazard.focus, at: p => at.get(p), total, focus: true};
  }

  allAxis(picture) {
    const count = picture.ops.lane.length;
    return {order: null, at: p => (p < 0 || p >= count) ? undefined : {x: p * SLOT + 4, w: SLOT - 8, skipped: 0},
            total: count * SLOT, focus: false};
  }

  // Life rows: the hazard's buffer, who got its storage next, then as many others as there is room.
  lifeRows(picture, hazard, axis) {
    const rows = [];
    if (hazard && hazard.life >= 0) {
      rows.push([hazard.life, ...picture.heirs(hazard.life).filter(
        life => !axis.focus || axis.at(picture.lives[life][3]))]);
    }
    if (axis.focus) return rows;
    const taken = new Set(rows.flat()), ends = [];
    for (let life = 0; life < picture.lives.length; ++life) {
      if (taken.has(life)) continue;
      const begin = Math.max(0, picture.lives[life][3]), end = picture.lifeEnd(life);
      let row = ends.findIndex(e => e <= begin);
      if (row < 0 && ends.length < 12) row = ends.push(0) - 1;
      if (row < 0) continue;  // said under the picture
      ends[row] = end;
      (rows[row + (taken.size ? 1 : 0)] ??= []).push(life);
    }
    return rows;
  }

  layout(picture, hazard, axis) {
    const lanes = axis.focus ? hazard.lanes : picture.lanes.map((_, i) => i);
    const row = axis.focus ? ROW : Math.max(18, Math.min(ROW, 900 / Math.max(1, lanes.length)));
    const y = new Map(lanes.map((lane, i) => [lane, TOP + i * row]));
    const rows = this.lifeRows(picture, hazard, axis);
    const lifeTop = TOP + lanes.length * row + (rows.length ? 18 : 0);
    const life = axis.focus ? 34 : LIFE;
    return {lanes, row, y, rows, lifeTop, life, height: lifeTop + rows.length * life + 14};
  }

  paint(view) {
    const {picture, hazard, axis} = view, g = this.g, ratio = devicePixelRatio || 1;
    this.c = palette();
    const lay = this.lay = this.layout(picture, hazard, axis);
    const width = this.canvas.clientWidth;
    this.canvas.style.height = lay.height + 'px';
    this.canvas.width = width * ratio;
    this.canvas.height = lay.height * ratio;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = this.c.paper;
    g.fillRect(0, 0, width, lay.height);
    this.view = view;
    this.width = width;
    this.bands();
    g.save();
    g.beginPath();
    g.rect(GUTTER, 0, width - GUTTER, lay.height);
    g.clip();
    this.lives();
    this.edges();
    this.boxes();
    if (hazard) this.missing();
    g.restore();
    this.gutter();
  }

  sx(x) { return GUTTER + (x - this.view.x0) * this.view.scale; }

  place(position) {
    const at = this.view.axis.at(position), lane = this.lay.y.get(this.view.picture.ops.lane[position]);
    if (!at || lane === undefined) return null;
    const h = Math.min(BOX, this.lay.row - 6);
    return {x: this.sx(at.x), w: at.w * this.view.scale, y: lane + (this.lay.row - h) / 2, h, skipped: at.skipped};
  }

  bands() {
    const g = this.g;
    this.lay.lanes.forEach((lane, i) => {
      g.fillStyle = i % 2 ? this.c.paper : this.c.band;
      g.fillRect(0, this.lay.y.get(lane), this.width, this.lay.row);
      g.strokeStyle = this.c.line;
      g.beginPath();
      g.moveTo(GUTTER, this.lay.y.get(lane) + this.lay.row / 2);
      g.lineTo(this.width, this.lay.y.get(lane) + this.lay.row / 2);
      g.stroke();
    });
  }

  gutter() {
    const g = this.g, picture = this.view.picture;
    g.fillStyle = this.c.paper;
    g.fillRect(0, 0, GUTTER, this.lay.height);
    g.strokeStyle = this.c.line;
    g.strokeRect(GUTTER + 0.5, -1, 1, this.lay.height + 2);
    g.textBaseline = 'middle';
    g.textAlign = 'left';
    for (const lane of this.lay.lanes) {
      const [name, kind] = picture.lanes[lane], y = this.lay.y.get(lane) + this.lay.row / 2;
      g.fillStyle = this.c.ink;
      g.font = BOLD;
      g.fillText(this.fit(name, GUTTER - 18), 10, this.lay.row > 30 ? y - 7 : y);
      if (this.lay.row <= 30) continue;
      g.fillStyle = this.c.soft;
      g.font = FONT;
      g.fillText(kind, 10, y + 9);
    }
    g.fillStyle = this.c.soft;
    g.font = FONT;
    if (this.lay.rows.length) g.fillText('memory', 10, this.lay.lifeTop + this.lay.life / 2);
    g.fillText(data.kinds[0] === 'step' ? 'steps →' : 'issued →', 10, TOP / 2);
  }

  fit(text, width) {
    if (this.g.measureText(text).width <= width) return text;
    let n = Math.max(1, Math.floor(text.length * width / this.g.measureText(text).width) - 1);
    return text.slice(0, n) + '…';
  }

  // Positions that the view shows, first and last.
  visible() {
    const {x0, scale, axis, picture} = this.view;
    if (axis.focus) return null;
    const first = Math.max(0, Math.floor(x0 / SLOT) - 1);
    const last = Math.min(picture.ops.lane.length - 1, Math.ceil((x0 + (this.width - GUTTER) / scale) / SLOT));
    return [first, last];
  }

  boxes() {
    const {axis, hazard, picture} = this.view;
    if (axis.focus) {
      for (const position of hazard.focus) this.box(position);
      return;
    }
    const [first, last] = this.visible(), ops = picture.ops;
    if (SLOT * this.view.scale >= 3) {
      for (let p = first; p <= last; ++p) this.box(p);
    } else {
      const drawn = new Map(), g = this.g;
      for (let p = first; p <= last; ++p) {
        const lane = ops.lane[p], x = Math.floor(this.sx(p * SLOT)), y = this.lay.y.get(lane);
        if (drawn.get(lane) === x || y === undefined) continue;
        drawn.set(lane, x);
        const kind = data.kinds[ops.kind[p]];
        g.fillStyle = WORK.has(kind) ? this.c.workLine : ALLOCATOR.has(kind) ? this.c.poolLine : this.c.orderLine;
        g.fillRect(x, y + 5, 1, this.lay.row - 10);
      }
      for (const key of hazard ? hazard.keys : []) this.box(key);
    }
    if (this.view.found >= 0) this.outline(this.view.found, this.c.mark);
  }

  box(position) {
    const at = this.place(position);
    if (!at) return;
    const {picture, hazard, scale} = this.view, g = this.g;
    const kind = data.kinds[picture.ops.kind[position]];
    const key = hazard && hazard.keys.includes(position), idle = picture.idle.has(position);
    const w = Math.max(at.w, 2);
    g.fillStyle = key ? this.c.badFill : WORK.has(kind) ? this.c.work : ALLOCATOR.has(kind) ? this.c.pool : this.c.order;
    g.strokeStyle = key ? this.c.bad : WORK.has(kind) ? this.c.workLine : ALLOCATOR.has(kind) ? this.c.poolLine : this.c.orderLine;
    g.lineWidth = key || idle ? 2 : 1;
    if (idle) g.strokeStyle = this.c.mark;
    g.setLineDash(idle ? [4, 3] : []);
    g.beginPath();
    g.roundRect(at.x, at.y, w, at.h, Math.min(5, w / 4));
    g.fill();
    g.stroke();
    g.setLineDash([]);
    if (idle && this.view.axis.focus) this.stub(at);
    if (at.skipped > 0) {
      g.fillStyle = this.c.soft;
      g.font = FONT;
      g.textAlign = 'center';
      g.fillText('⋯' + at.skipped, at.x, TOP / 2);
    }
    if (w < 34) return;
    const [a, b] = this.words(picture, position, hazard ? hazard.life : -1);
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.fillStyle = this.c.ink;
    const size = (this.view.axis.focus ? 12 * Math.min(1, scale) : 12) + 'px ' + FAMILY;
    g.font = '600 ' + size;
    const two = at.h > 30;
    g.fillText(this.fit(a, w - 8), at.x + w / 2, two ? at.y + at.h / 2 - 8 : at.y + at.h / 2);
    if (!two) return;
    g.font = size;
    g.fillStyle = key ? this.c.ink : this.c.soft;
    g.fillText(this.fit(b, w - 6), at.x + w / 2, at.y + at.h / 2 + 9);
  }

  outline(position, colour) {
    const at = this.place(position);
    if (!at) return;
    this.g.strokeStyle = colour;
    this.g.lineWidth = 3;
    this.g.strokeRect(at.x - 3, at.y - 3, Math.max(at.w, 2) + 6, at.h + 6);
  }
}
