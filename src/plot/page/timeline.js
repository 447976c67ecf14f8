// Levels over time: one large picture of the chosen series, small ones of all.
const LOOKS = {
  allocated: ['var(--c0)', 'area'], used: ['var(--c0)', 'area'], active: ['var(--c1)', ''],
  reserved: ['var(--c2)', 'dash'], live: ['var(--c3)', ''],
};
const series = D.series.map(s => ({ ...s, values: s.values.map(v => v.map(num)) }));
const most = values => values.reduce((high, v) => (v !== null && v > high ? v : high), -Infinity);
series.forEach(s => { s.peak = most(s.values[0] || []); });
const highest = Math.max(0, ...series.flatMap(s => s.values.map(most)).filter(Number.isFinite));
const sparkHigh = Math.max(0, ...series.map(s => s.peak).filter(Number.isFinite));

// Steps: each bucket is level, and a gap where there is no value.
function path(values, x, y) {
  let d = '', open = false;
  values.forEach((v, at) => {
    if (v === null) { open = false; return; }
    d += `${open ? 'L' : 'M'}${x(at).toFixed(1)},${y(v).toFixed(1)}L${x(at + 1).toFixed(1)},${y(v).toFixed(1)}`;
    open = true;
  });
  return d;
}
function area(values, x, y) {
  let d = '';
  values.forEach((v, at) => {
    if (v !== null) d += `M${x(at).toFixed(1)},${y(0).toFixed(1)}V${y(v).toFixed(1)}H${x(at + 1).toFixed(1)}V${y(0).toFixed(1)}Z`;
  });
  return d;
}

const bar = el(main, 'div', { class: 'bar' });
const title = el(bar, 'b');
const hidden = new Set();
[...new Set(series.flatMap(s => s.names))].forEach(name => {
  const [colour, kind] = LOOKS[name] || ['var(--c3)', ''];
  const toggle = el(bar, 'label');
  const box = el(toggle, 'input', { type: 'checkbox', checked: '' });
  key(toggle, colour, name, kind === 'dash' ? 'dash' : kind === '' ? 'line' : '');
  box.onchange = () => { box.checked ? hidden.delete(name) : hidden.add(name); redraw(); };
});
const same = el(bar, 'label');
const shared = el(same, 'input', { type: 'checkbox', checked: '' });
same.append('one scale for all');
shared.onchange = () => redraw();
const place = el(main, 'div');
let chosen = series[0];

function redraw() {
  const s = chosen, width = Math.max(360, main.clientWidth), height = 340, left = 64, bottom = 40, top = 14;
  const count = s.values[0].length, shown = s.names.map((n, at) => [n, s.values[at]]).filter(([n]) => !hidden.has(n));
  const own = Math.max(0, ...shown.map(([, v]) => most(v)).filter(Number.isFinite));
  const high = (shared.checked ? highest : own) * 1.04 || 1;
  const x = at => left + (width - left - 12) * at / count, y = v => height - bottom - (height - bottom - top) * v / high;
  const picture = draw(null, 'svg', { width, height, role: 'img' });
  for (const [v, text] of ticks(0, high, 6, D.unit)) {
    draw(picture, 'line', { class: 'grid', x1: left, x2: width - 12, y1: y(v), y2: y(v) });
    draw(picture, 'text', { class: 'soft', x: left - 6, y: y(v) + 4, 'text-anchor': 'end' }, text);
  }
  for (const [ns, text] of timeTicks(s.span_ns, 8)) {
    const at = x(ns * count / s.span_ns);
    draw(picture, 'line', { class: 'grid', x1: at, x2: at, y1: height - bottom, y2: height - bottom + 4 });
    draw(picture, 'text', { class: 'soft', x: at, y: height - bottom + 17, 'text-anchor': 'middle' }, text);
  }
  draw(picture, 'text', { class: 'soft', x: left, y: height - 6 }, `time since ${utc(s.from_ns, 0)}`);
  for (const [name, values] of shown) {
    const [colour, kind] = LOOKS[name] || ['var(--c3)', ''];
    if (kind === 'area') draw(picture, 'path', { d: area(values, x, y), style: `fill:${colour};opacity:.22` });
    draw(picture, 'path', { d: path(values, x, y), style: `fill:none;stroke:${colour};stroke-width:1.5${kind === 'dash' ? ';stroke-dasharray:5 3' : ''}` });
  }
  let free = 0;
  for (const [ns, text] of s.marks) {
    const at = x(ns * count / s.span_ns);
    draw(picture, 'line', { class: 'mark', x1: at, x2: at, y1: top, y2: height - bottom });
    if (at >= free) {
      const name = clean(text);
      draw(picture, 'text', { class: 'soft', x: at + 3, y: top + 8 }, name);
      free = at + 10 + ruler.measureText(name).width;
    }
  }
  const peak = (s.values[0] || []).indexOf(s.peak);
  if (peak >= 0 && !hidden.has(s.names[0])) {
    const at = x(peak + 0.5);
    draw(picture, 'circle', { cx: at, cy: y(s.peak), r: 3.5, style: 'fill:var(--bad)' });
    const right = at > width - 180;
    draw(picture, 'text', { class: 'halo', x: at + (right ? -7 : 7), y: y(s.peak) - 5, 'text-anchor': right ? 'end' : 'start' }, `peak ${amount(s.peak, D.unit)}`);
  }
  const cross = draw(picture, 'line', { class: 'cross', y1: top, y2: height - bottom, x1: -9, x2: -9 });
  picture.onmousemove = event => {
    const px = event.clientX - picture.getBoundingClientRect().left;
    const at = Math.floor((px - left) / (width - left - 12) * count);
    if (at < 0 || at >= count) { hide(); return; }
    const offset = (at + 0.5) * s.span_ns / count;
    set(cross, { x1: px, x2: px });
    const lines = s.names.map((n, m) => `${n}: ${amount(s.values[m][at], D.unit)}`);
    const command = s.selects ? `.plot flame at=${milliseconds(s.from_ns, offset)} ${s.selects}` : '';
    show(event, [`${span(Math.round(offset))} after the beginning`, ...lines, utc(s.from_ns, offset), command]);
  };
  picture.onmouseleave = hide;
  place.replaceChildren(picture);
  title.textContent = clean(s.label);
}
const order = [...series].sort((a, b) => (Number.isFinite(b.peak) ? b.peak : -1) - (Number.isFinite(a.peak) ? a.peak : -1));
const pick = chooser(order, s => s.label, s => (Number.isFinite(s.peak) ? amount(s.peak, D.unit) : 'no level'), (picture, s, w, h) => {
  const values = s.values[0] || [], x = at => w * at / values.length, y = v => h - 1 - (h - 3) * v / (sparkHigh || 1);
  draw(picture, 'path', { d: area(values, x, y), style: 'fill:var(--c0);opacity:.3' });
  draw(picture, 'path', { d: path(values, x, y), style: 'fill:none;stroke:var(--c0)', 'vector-effect': 'non-scaling-stroke' });
}, s => { chosen = s; redraw(); });
chosen = order[0];
onResize(redraw);
pick(0);
