// One statistic over steps: a large picture of the chosen line with its band, small ones of all.
const lines = D.lines.map(line => ({ ...line, values: line.values.map(num), band: line.band.map(num) }));
const numbers = line => line.values.filter(v => Number.isFinite(v));
const all = lines.flatMap(numbers);
const low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
const bar = el(main, 'div', { class: 'bar' });
const title = el(bar, 'b');
key(bar, 'var(--c0)', D.statistic, 'line');
key(bar, 'var(--band)', 'usual band');
key(bar, 'var(--bad)', 'outside of it');
const others = el(bar, 'label');
const together = el(others, 'input', { type: 'checkbox', checked: '' });
others.append('other lines behind it');
together.onchange = () => redraw();
let log = false;
if (low > 0 && high / low > 10) {
  const toggle = el(bar, 'label');
  const box = el(toggle, 'input', { type: 'checkbox' });
  toggle.append('logarithmic');
  box.onchange = () => { log = box.checked; redraw(); };
}
const place = el(main, 'div');
let chosen = lines[0];

function path(line, x, y) {
  let d = '', open = false;
  line.values.forEach((v, at) => {
    if (!Number.isFinite(v)) { open = false; return; }
    d += `${open ? 'L' : 'M'}${x(line.steps[at]).toFixed(1)},${y(v).toFixed(1)}`;
    open = true;
  });
  return d;
}
function redraw() {
  const width = Math.max(360, main.clientWidth), height = 360, left = 72, bottom = 36, top = 20, right = 14;
  const drawn = together.checked && lines.length <= 200 ? lines : [chosen];
  const values = drawn.flatMap(numbers).concat(chosen.band.filter(v => Number.isFinite(v) && (!log || v > 0)));
  let min = values.reduce((a, b) => Math.min(a, b), Infinity), max = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(min)) { min = 0; max = 1; }
  if (min === max) { const by = Math.abs(min) * 0.1 || 1; max += by; if (!log) min -= by; else min /= 1.1; }
  const map = log ? Math.log10 : v => v;
  const span = map(max) - map(min), steps = lines.flatMap(l => l.steps);
  const first = steps.reduce((a, b) => Math.min(a, b), Infinity), last = steps.reduce((a, b) => Math.max(a, b), -Infinity);
  const x = s => left + 8 + (width - left - right - 16) * (last === first ? 0.5 : (s - first) / (last - first));
  const y = v => height - bottom - (height - bottom - top) * (0.04 + 0.92 * (map(v) - map(min)) / span);
  const picture = draw(null, 'svg', { width, height, role: 'img' });
  const marks = log
    ? ticks(map(min), map(max), 6, '').map(([v]) => [10 ** v, plain(10 ** v)])
    : ticks(min, max, 6, '');
  for (const [v, text] of marks) {
    draw(picture, 'line', { class: 'grid', x1: left, x2: width - right, y1: y(v), y2: y(v) });
    draw(picture, 'text', { class: 'soft', x: left - 6, y: y(v) + 4, 'text-anchor': 'end' }, text);
  }
  const whole = ticks(first, last, Math.min(12, Math.max(1, last - first)), '').filter(([v]) => Number.isInteger(v));
  for (const [v, text] of whole) {
    draw(picture, 'line', { class: 'grid', x1: x(v), x2: x(v), y1: height - bottom, y2: height - bottom + 4 });
    draw(picture, 'text', { class: 'soft', x: x(v), y: height - bottom + 17, 'text-anchor': 'middle' }, text);
  }
  draw(picture, 'text', { class: 'soft', x: width - right, y: height - 4, 'text-anchor': 'end' }, 'step');
  const [middle, from, to] = chosen.band;
  if (Number.isFinite(from) && Number.isFinite(to)) {
    const down = log && from <= 0 ? height - bottom : Math.min(height - bottom, y(from)), up = Math.max(top, y(to));
    draw(picture, 'rect', { x: left, width: width - left - right, y: up, height: Math.max(1, down - up), style: 'fill:var(--band)' });
    draw(picture, 'line', { class: 'mark', x1: left, x2: width - right, y1: y(middle), y2: y(middle) });
    draw(picture, 'text', { class: 'soft halo', x: width - right - 4, y: y(middle) - 4, 'text-anchor': 'end' }, `median ${plain(middle)}`);
  }
  for (const line of drawn) {
    if (line !== chosen) draw(picture, 'path', { d: path(line, x, y), style: 'fill:none;stroke:var(--soft);opacity:.3' });
  }
  draw(picture, 'path', { d: path(chosen, x, y), style: 'fill:none;stroke:var(--c0);stroke-width:1.8' });
  const outside = new Set(chosen.outside);
  chosen.values.forEach((v, at) => {
    if (v === null) return;
    const odd = !Number.isFinite(v), bad = outside.has(at);
    const py = odd ? (v === -Infinity ? height - bottom - 6 : top + 2) : y(v);
    const px = x(chosen.steps[at]);
    if (odd) {
      draw(picture, 'line', { x1: px, x2: px, y1: top, y2: height - bottom, style: 'stroke:var(--bad);stroke-dasharray:3 3;opacity:.6' });
      draw(picture, 'text', { x: px, y: py - 5, 'text-anchor': 'middle', style: 'fill:var(--bad);font-weight:600' }, plain(v));
    } else if (bad || chosen.values.length <= 60) {
      draw(picture, 'circle', { cx: px, cy: py, r: bad ? 4.5 : 2.5, style: `fill:var(${bad ? '--bad' : '--c0'})` });
    }
    if (bad && at === chosen.outside[0]) {
      const end = px > width - 160;
      draw(picture, 'text', { class: 'halo', x: px + (end ? -8 : 8), y: Math.max(top + 26, py + (odd ? 34 : 4)), 'text-anchor': end ? 'end' : 'start' },
        `first outside: step ${chosen.steps[at]}`);
    }
  });
  const cross = draw(picture, 'line', { class: 'cross', y1: top, y2: height - bottom, x1: -9, x2: -9 });
  picture.onmousemove = event => {
    const px = event.clientX - picture.getBoundingClientRect().left;
    let best = -1;
    chosen.steps.forEach((s, at) => { if (best < 0 || Math.abs(x(s) - px) < Math.abs(x(chosen.steps[best]) - px)) best = at; });
    if (best < 0) return;
    set(cross, { x1: x(chosen.steps[best]), x2: x(chosen.steps[best]) });
    const v = chosen.values[best];
    show(event, [`step ${chosen.steps[best]}`, v === null ? 'no value (NULL)' : String(v), outside.has(best) ? 'outside of the band' : '']);
  };
  picture.onmouseleave = hide;
  place.replaceChildren(picture);
  title.textContent = clean(chosen.label);
}
const order = [...lines].sort((a, b) => b.outside.length - a.outside.length);
const pick = chooser(order, l => l.label, l => (l.outside.length ? `${l.outside.length} outside` : ''), (picture, line, w, h) => {
  const first = line.steps[0], last = line.steps[line.steps.length - 1];
  const x = s => 2 + (w - 4) * (last === first ? 0.5 : (s - first) / (last - first));
  const y = v => h - 3 - (h - 6) * (high === low ? 0.5 : (v - low) / (high - low));
  draw(picture, 'path', { d: path(line, x, y), style: 'fill:none;stroke:var(--c0)', 'vector-effect': 'non-scaling-stroke' });
  line.outside.forEach(at => {
    const v = line.values[at], py = Number.isFinite(v) ? y(v) : v === -Infinity ? h - 3 : 3;
    draw(picture, 'circle', { cx: x(line.steps[at]), cy: py, r: 2.5, style: 'fill:var(--bad)' });
  });
}, line => { chosen = line; redraw(); });
chosen = order[0];
onResize(redraw);
pick(0);
