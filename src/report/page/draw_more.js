// Edges and lives: the second half of Painter.
Object.assign(Painter.prototype, {
  // Out of the right side of one box and into the left side of the other.
  arrow(a, b, colour, width, dash) {
    const from = [a.x + Math.max(a.w, 2), a.y + a.h / 2], to = [b.x, b.y + b.h / 2];
    const bend = Math.max(14, Math.min(70, Math.abs(to[0] - from[0]) / 2));
    return this.curve([from, [from[0] + bend, from[1]], [to[0] - bend, to[1]], to], [1, 0], colour, width, dash);
  },

  // Along the gap between two lanes, so that it crosses no box of theirs.
  hop(a, b, colour, width, dash) {
    if (a.y === b.y) return this.arrow(a, b, colour, width, dash);
    const way = b.y > a.y ? 1 : -1;
    const from = [a.x + Math.max(a.w - 12, a.w / 2), way > 0 ? a.y + a.h : a.y];
    const to = [b.x + Math.min(12, b.w / 2), way > 0 ? b.y : b.y + b.h];
    const bend = way * Math.max(12, Math.abs(to[1] - from[1]) * 0.8);
    return this.curve([from, [from[0], from[1] + bend], [to[0], to[1] - bend], to], [0, way], colour, width, dash);
  },

  // `way`: the direction in which it arrives. A function from 0..1 to places on it.
  curve(points, way, colour, width, dash) {
    const g = this.g, [from, leave, arrive, to] = points, back = 7 + width, side = 3 + width;
    g.strokeStyle = g.fillStyle = colour;
    g.lineWidth = width;
    g.setLineDash(dash || []);
    g.beginPath();
    g.moveTo(...from);
    g.bezierCurveTo(...leave, ...arrive, to[0] - 5 * way[0], to[1] - 5 * way[1]);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(...to);
    for (const s of [side, -side]) g.lineTo(to[0] - back * way[0] + s * way[1], to[1] - back * way[1] - s * way[0]);
    g.fill();
    return t => [0, 1].map(i => (1 - t) ** 3 * points[0][i] + 3 * (1 - t) ** 2 * t * points[1][i] +
      3 * (1 - t) * t * t * points[2][i] + t ** 3 * points[3][i]);
  },

  // An arrow that comes from nowhere: a cross where its record should be.
  stub(at) {
    const g = this.g, y = at.y + at.h / 2, x = at.x - STUB + 4;
    g.strokeStyle = this.c.mark;
    g.lineWidth = 2;
    g.beginPath();
    for (const way of [4, -4]) {
      g.moveTo(x - 4, y - way);
      g.lineTo(x + 4, y + way);
    }
    g.moveTo(x + 4, y);
    g.lineTo(at.x, y);
    g.stroke();
  },

  // A place on the curve for a label that hides no words, or its middle.
  freeSpot(curve, width) {
    const {axis, hazard} = this.view;
    const boxes = (axis.focus ? hazard.focus : hazard.keys).map(p => this.place(p)).filter(Boolean);
    for (const t of [0.5, 0.45, 0.55, 0.4, 0.6, 0.35, 0.65, 0.3, 0.7, 0.25, 0.75]) {
      const [x, y] = curve(t);
      const hidden = boxes.some(b => x + width / 2 > b.x && x - width / 2 < b.x + b.w && y + 10 > b.y && y - 10 < b.y + b.h);
      if (!hidden) return [x, y];
    }
    return curve(0.5);
  },

  edges() {
    const {picture, axis, hazard} = this.view, edges = picture.edges;
    const focus = axis.focus ? new Set(hazard.focus) : null, range = this.visible();
    let drawn = 0;
    for (let i = 0; i < edges.length && drawn < 2500; i += 2) {
      const from = edges[i], to = edges[i + 1];
      if (focus ? !(focus.has(from) && focus.has(to)) : (to < range[0] || from > range[1])) continue;
      const a = this.place(from), b = this.place(to);
      if (!a || !b || (!axis.focus && b.x - a.x < 3)) continue;
      this.arrow(a, b, this.c.edge, 1.4);
      ++drawn;
    }
  },

  missing() {
    const {hazard} = this.view;
    if (!hazard.edge) return;
    const a = this.place(hazard.edge[0]), b = this.place(hazard.edge[1]);
    if (!a || !b) return;
    const curve = this.hop(a, b, this.c.bad, 2.5, [7, 5]), g = this.g;
    const text = 'missing edge';
    g.font = BOLD;
    const w = g.measureText(text).width + 12;
    const [x, y] = this.freeSpot(curve, w);
    g.fillStyle = this.c.bad;
    g.beginPath();
    g.roundRect(x - w / 2, y - 10, w, 20, 10);
    g.fill();
    g.fillStyle = this.c.paper;
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.fillText(text, x, y + 0.5);
  },

  // Where a position is on the axis; in focus, the nearest shown one at or after it.
  edgeOf(position, end) {
    const {axis, picture} = this.view;
    if (position < 0) return end ? axis.total : 0;
    if (!axis.focus) return position * SLOT + (end ? SLOT : 0);
    let best = null;
    for (const p of axis.order) {
      if (p === position) return end ? axis.at(p).x + axis.at(p).w : axis.at(p).x;
      if (p > position) { best = axis.at(p).x - 8; break; }
    }
    return best ?? axis.total;
  },

  lives() {
    const {picture, hazard} = this.view, g = this.g;
    this.lay.rows.forEach((row, i) => {
      const y = this.lay.lifeTop + i * this.lay.life, h = this.lay.life - 8;
      for (const life of row || []) this.lifeBar(life, y, h, hazard);
    });
  },

  lifeBar(life, y, h, hazard) {
    const {picture, axis} = this.view, g = this.g;
    const [name, bytes, owner, born, died] = picture.lives[life];
    const x = Math.max(GUTTER, this.sx(this.edgeOf(born, false)));
    const end = Math.min(this.width, this.sx(died < 0 ? axis.total : this.edgeOf(died, true)));
    if (end - x < 1 && end < GUTTER) return;
    const own = hazard && hazard.life === life, heir = hazard && !own && picture.heirs(hazard.life).includes(life);
    g.fillStyle = own ? this.c.life : heir ? this.c.next : this.c.order;
    g.fillRect(x, y, Math.max(1, end - x), h);
    g.strokeStyle = own ? this.c.workLine : heir ? this.c.bad : this.c.orderLine;
    g.lineWidth = 1;
    g.strokeRect(x + 0.5, y + 0.5, Math.max(1, end - x), h);
    if (end - x > 40) {
      g.fillStyle = this.c.ink;
      g.font = own ? BOLD : FONT;
      g.textAlign = 'left';
      g.textBaseline = 'middle';
      const whose = owner < 0 ? '' : ', owner ' + picture.lanes[owner][0];
      const text = (heir ? 'same storage, now: ' : '') + picture.names[name] + ' (' + sizeText(bytes) + whose + ')' +
        (own && died >= 0 && (!axis.focus || axis.at(died)) ? ', until its free' : '');
      g.fillText(this.fit(text, end - x - 10), x + 6, y + h / 2);
    }
  },
});
