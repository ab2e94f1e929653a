// The page's behaviour: which hazard is shown, zoom, pan, search, keys. Words are in the HTML
// already, so the page says everything but the picture without any script.
const data = JSON.parse(document.getElementById('data').textContent);
const at = id => document.getElementById(id);

function sizeText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; ++unit) bytes /= 1024;
  return unit ? bytes.toFixed(1) + ' ' + units[unit] : bytes + ' B';
}

class Picture {
  constructor(raw) {
    Object.assign(this, raw);
    this.idle = new Set(this.ops.idle || []);  // waits for what nobody had recorded
    this.next = new Map();  // a life: who got its storage
    this.lives.forEach((life, i) => {
      if (life[5] < 0) return;
      if (!this.next.has(life[5])) this.next.set(life[5], []);
      this.next.get(life[5]).push(i);
    });
  }
  heirs(life) { return this.next.get(life) || []; }
  lifeEnd(life) { return this.lives[life][4] < 0 ? this.ops.lane.length : this.lives[life][4]; }
  // Touches lie one after the other, four numbers each: life, mode, begin, end.
  touches(position) {
    const out = [], t = this.touch;
    for (let i = this.ops.touch[position]; i < (this.ops.touch[position + 1] ?? t.length / 4); ++i)
      out.push({life: t[4 * i], mode: t[4 * i + 1], begin: t[4 * i + 2], end: t[4 * i + 3]});
    return out;
  }
  touchText(position, life) {
    const family = [life, ...this.heirs(life)];
    let mode = 0;
    let which = life;
    for (const touch of this.touches(position)) {
      if (!family.includes(touch.life)) continue;
      mode |= touch.mode;
      which = touch.life;
    }
    return mode ? modeText(mode) + ' ' + this.names[this.lives[which][0]] : '';
  }
}

function modeText(mode) {
  if (mode & 4) return 'updates';
  return mode === 3 ? 'reads and writes' : mode === 2 ? 'writes' : 'reads';
}

const pictures = data.pictures.map(raw => new Picture(raw));
const canvas = at('picture'), painter = canvas && new Painter(canvas);
const view = {hazard: null, picture: null, axis: null, x0: 0, scale: 1, found: -1};
let current = 0, all = false, queued = false;

function draw() {
  if (!painter || queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    if (view.picture) painter.paint(view);
  });
}

function room() { return Math.max(50, canvas.clientWidth - GUTTER); }

function fitView() {
  if (!view.axis) return;
  const least = view.axis.focus ? 0.8 : 0;  // words are still read at that
  view.scale = Math.min(view.axis.focus ? 1.25 : 1, Math.max(least, room() / view.axis.total));
  view.x0 = 0;
  const keys = view.hazard ? view.hazard.keys.map(k => view.axis.at(k)).filter(Boolean) : [];
  if (keys.length && view.axis.total * view.scale > room()) {
    const last = Math.max(...keys.map(k => k.x + k.w));
    view.x0 = Math.max(0, last + 130 - room() / view.scale);
  }
  draw();
}

function show(number) {
  if (!painter) return;
  current = Math.max(0, Math.min(number, data.hazards.length - 1));
  const hazard = data.hazards[current] || null;
  document.querySelectorAll('article').forEach((a, i) => { a.hidden = i !== current; });
  document.querySelectorAll('nav button').forEach((b, i) => b.setAttribute('aria-current', i === current));
  document.querySelector('nav button[aria-current=true]')?.scrollIntoView({block: 'nearest'});
  view.hazard = hazard;
  view.picture = pictures[hazard ? hazard.picture : 0] || null;
  view.found = -1;
  const slot = hazard && document.querySelectorAll('article .slot')[current];
  if (slot) slot.append(at('board'));
  chooseAxis();
}

function chooseAxis() {
  const focus = !all && view.hazard && view.hazard.focus.length;
  at('board').hidden = !view.picture || !view.picture.ops.lane.length;
  if (at('board').hidden) { view.picture = null; return; }
  view.axis = focus ? painter.focusAxis(view.picture, view.hazard) : painter.allAxis(view.picture);
  at('all').textContent = focus ? 'Show all operations (A)' : 'Show this hazard alone (A)';
  at('all').hidden = !view.hazard || !view.hazard.focus.length;
  const left = view.picture.left_out;
  at('note').textContent = focus ? '⋯n: n operations in between that do not concern it'
    : view.picture.ops.lane.length + ' operations' + (left ? ', ' + left + ' far from every hazard left out' : '');
  fitView();
}

function zoom(factor, x = GUTTER + room() / 2) {
  const world = view.x0 + (x - GUTTER) / view.scale;
  view.scale = Math.min(3, Math.max(room() / Math.max(view.axis.total, 1) / 2, view.scale * factor));
  view.x0 = world - (x - GUTTER) / view.scale;
  clampView();
}

function clampView() {
  const slack = room() / view.scale;
  view.x0 = Math.max(-slack / 2, Math.min(view.x0, view.axis.total - slack / 2));
  draw();
}

function pan(pixels) {
  view.x0 += pixels / view.scale;
  clampView();
}

function centre(position) {
  const place = view.axis.at(position);
  if (!place) return;
  if (!view.axis.focus) view.scale = Math.max(view.scale, 0.8);
  view.x0 = place.x + place.w / 2 - room() / 2 / view.scale;
  draw();
}

// The next operation after the last hit whose number, name or lane has the text in it.
function search(text, backwards) {
  const picture = view.picture, words = text.trim().toLowerCase();
  if (!picture || !words) return;
  const count = picture.ops.lane.length, hits = picture.names.map(n => n.toLowerCase().includes(words));
  const lanes = picture.lanes.map(l => l[0].toLowerCase() === words), number = /^[0-9]+$/.test(words);
  const fits = p => number ? String(picture.ops.id[p]) === words : hits[picture.ops.name[p]] || lanes[picture.ops.lane[p]];
  for (let step = 1; step <= count; ++step) {
    const p = (view.found + (backwards ? -step : step) + 2 * count) % count;
    if (!fits(p)) continue;
    if (!all && !(view.hazard && view.hazard.focus.includes(p))) {
      all = true;
      chooseAxis();
    }
    view.found = p;
    at('hit').textContent = 'op ' + picture.ops.id[p];
    centre(p);
    return;
  }
  at('hit').textContent = 'nothing found';
}

function hit(x, y) {
  const {picture, axis} = view, range = painter.visible();
  const inside = p => {
    const b = painter.place(p);
    return b && x >= b.x && x <= b.x + Math.max(b.w, 3) && y >= b.y && y <= b.y + b.h;
  };
  if (axis.focus) return axis.order.find(inside) ?? -1;
  const near = Math.floor((view.x0 + (x - GUTTER) / view.scale) / SLOT), spread = Math.ceil(2 / (SLOT * view.scale));
  for (let p = Math.max(range[0], near - spread); p <= Math.min(range[1], near + spread); ++p)
    if (inside(p)) return p;
  return -1;
}

function tipText(p) {
  const {ops, names, lanes, lives} = view.picture, lines = [names[ops.name[p]]];
  lines.push((ops.id[p] ? data.kinds[0] === 'step' ? '' : 'op ' + ops.id[p] + ', ' : '') + data.kinds[ops.kind[p]] + ' on ' + lanes[ops.lane[p]][0]);
  if (ops.note && ops.note[p]) lines.push(ops.note[p]);
  const place = names[ops.place[p]];
  if (place) lines.push(place);
  const touches = view.picture.touches(p);
  for (const t of touches.slice(0, 12))
    lines.push(modeText(t.mode) + ' ' + names[lives[t.life][0]] + ' [' + t.begin + ':' + t.end + ']');
  if (touches.length > 12) lines.push('and ' + (touches.length - 12) + ' more');
  return lines.join('\n');
}

function tip(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const p = x > GUTTER && view.picture ? hit(x, y) : -1;
  at('tip').hidden = p < 0;
  if (p < 0) return;
  at('tip').textContent = tipText(p);
  at('tip').style.left = Math.min(x + 14, box.width - 280) + 'px';
  at('tip').style.top = (y + 16) + 'px';
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target === at('search');
  if (typing && event.key === 'Enter') return search(at('search').value, event.shiftKey);
  if (typing && event.key === 'Escape') return at('search').blur();
  if (typing || !view.picture) return;
  const actions = {
    ArrowLeft: () => pan(-120), ArrowRight: () => pan(120), '+': () => zoom(1.4), '=': () => zoom(1.4),
    '-': () => zoom(1 / 1.4), f: fitView, '0': fitView, a: toggle, n: () => show(current + 1),
    p: () => show(current - 1), '/': () => at('search').focus(), Home: () => { view.x0 = 0; clampView(); },
    End: () => { view.x0 = view.axis.total; clampView(); },
  };
  const action = actions[event.key] || actions[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
}

function toggle() {
  all = !all;
  chooseAxis();
  if (all && view.hazard && view.hazard.keys.length) centre(view.hazard.keys[0]);
}

if (painter) {
  let dragged = null;
  canvas.addEventListener('pointerdown', e => { dragged = e.clientX; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointerup', () => { dragged = null; });
  canvas.addEventListener('pointermove', e => {
    if (dragged === null) return tip(e);
    pan(dragged - e.clientX);
    dragged = e.clientX;
  });
  canvas.addEventListener('pointerleave', () => { at('tip').hidden = true; });
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) return pan(e.deltaX);
    zoom(Math.exp(-e.deltaY / 400), e.clientX - canvas.getBoundingClientRect().left);
  }, {passive: false});
  document.addEventListener('keydown', keys);
  addEventListener('resize', fitView);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  at('all').addEventListener('click', toggle);
  at('fit').addEventListener('click', fitView);
  at('in').addEventListener('click', () => zoom(1.4));
  at('out').addEventListener('click', () => zoom(1 / 1.4));
  document.querySelectorAll('nav button').forEach((b, i) => b.addEventListener('click', () => show(i)));
  const wanted = data.hazards.findIndex(h => '#' + h.alias === location.hash);
  show(Math.max(0, wanted));
}
