// One cell per row and column. What is no number has a mark of its own.
const rows = D.cells.map(row => row.map(v => (v === '' ? undefined : num(v))));
const finite = rows.flat().filter(v => Number.isFinite(v));
const low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
const marks = new Set(D.marked.map(([y, x]) => y * D.columns.length + x));
const dark = matchMedia('(prefers-color-scheme: dark)');
// From quiet to loud, readable for people who do not see red and green.
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const ODD = { nan: '#ff2fd0', up: '#ff3b30', down: '#2f7bff' };

function ramp(share) {
  const at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1), n = Math.min(RAMP.length - 2, Math.floor(at)), t = at - n;
  return `rgb(${RAMP[n].map((c, i) => Math.round(c + (RAMP[n + 1][i] - c) * t)).join(',')})`;
}
const bar = el(main, 'div', { class: 'bar' });
const lowText = el(bar, 'span', {}, finite.length ? amount(low, D.unit) : '');
const scale = el(bar, 'i');
scale.style.cssText = 'display:inline-block;width:160px;height:12px;border-radius:2px;background:linear-gradient(90deg,' +
  [0, .25, .5, .75, 1].map(ramp).join(',') + ')';
el(bar, 'span', {}, finite.length ? amount(high, D.unit) : '');
let log = false;
if (low > 0 && high / low > 10) {
  const toggle = el(bar, 'label');
  const box = el(toggle, 'input', { type: 'checkbox' });
  toggle.append('logarithmic');
  box.onchange = () => { log = box.checked; redraw(); };
}
const CELL = { nan: 'NaN', up: '+inf', down: '-inf', none: 'no value (NULL)', missing: 'missing' };
for (const [kind, text] of Object.entries(CELL)) {
  const sample = el(bar, 'span', { class: 'key' });
  const canvas = el(sample, 'canvas', { width: 16, height: 14 });
  canvas.kind = kind;
  sample.append(text);
}
if (D.marked.length) {
  const sample = el(bar, 'span', { class: 'key' });
  const box = el(sample, 'i');
  box.style.cssText = 'border:2px solid var(--bad);background:none';
  sample.append('marked');
}
function position(v) {
  if (high === low) return 0.5;
  return log ? (Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low)) : (v - low) / (high - low);
}
function kindOf(v) {
  if (v === undefined) return 'missing';
  if (v === null) return 'none';
  return Number.isNaN(v) ? 'nan' : v === Infinity ? 'up' : v === -Infinity ? 'down' : '';
}
function cell(c, x, y, w, h, v) {
  const kind = typeof v === 'string' ? v : kindOf(v), line = dark.matches ? '#5a636b' : '#b4bbc2';
  if (!kind) { c.fillStyle = ramp(position(v)); c.fillRect(x, y, w, h); return; }
  if (kind === 'missing' || kind === 'none') {
    c.strokeStyle = line;
    c.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 1), Math.max(1, h - 1));
    if (kind === 'none') { c.beginPath(); c.moveTo(x, y + h); c.lineTo(x + w, y); c.stroke(); }
    return;
  }
  c.fillStyle = ODD[kind];
  c.fillRect(x, y, w, h);
  if (w < 6 || h < 6) return;
  c.strokeStyle = '#fff';
  c.lineWidth = 1.5;
  c.beginPath();
  const l = x + w / 2 - 3, t = y + h / 2 - 3;
  if (kind === 'nan') { c.moveTo(l, t); c.lineTo(l + 6, t + 6); c.moveTo(l + 6, t); c.lineTo(l, t + 6); }
  if (kind === 'up') { c.moveTo(l, t + 5); c.lineTo(l + 3, t + 1); c.lineTo(l + 6, t + 5); }
  if (kind === 'down') { c.moveTo(l, t + 1); c.lineTo(l + 3, t + 5); c.lineTo(l + 6, t + 1); }
  c.stroke();
  c.lineWidth = 1;
}
const place = el(main, 'div', { class: 'scroll' });
function redraw() {
  document.querySelectorAll('.key canvas').forEach(canvas => {
    const c = canvas.getContext('2d');
    c.clearRect(0, 0, 16, 14);
    cell(c, 1, 1, 14, 12, canvas.kind);
  });
  const names = D.rows.map(clean), left = Math.min(320, Math.max(...names.map(n => ruler.measureText(n).width))) + 12;
  const room = Math.max(200, main.clientWidth - left - 24), head = 34;
  const w = Math.max(4, Math.min(64, Math.floor(room / D.columns.length)));
  const h = Math.max(5, Math.min(26, Math.floor(900 / D.rows.length)));
  const width = left + w * D.columns.length + 2, height = head + h * D.rows.length + 2;
  const canvas = el(null, 'canvas'), sharp = height * (devicePixelRatio || 1) < 30000 ? devicePixelRatio || 1 : 1;
  canvas.width = width * sharp;
  canvas.height = height * sharp;
  canvas.style.cssText = `width:${width}px;height:${height}px;display:block`;
  const c = canvas.getContext('2d'), style = getComputedStyle(document.body);
  c.scale(sharp, sharp);
  c.font = ruler.font;
  const gap = w > 8 && h > 8 ? 1 : 0;
  rows.forEach((row, y) => row.forEach((v, x) => cell(c, left + x * w, head + y * h, w - gap, h - gap, v)));
  c.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--bad');
  c.lineWidth = 2;
  D.marked.forEach(([y, x]) => c.strokeRect(left + x * w + 1, head + y * h + 1, w - gap - 2, h - gap - 2));
  c.fillStyle = style.color;
  const every = Math.ceil(14 / h);
  names.forEach((name, y) => { if (y % every === 0) c.fillText(fitted(name, left - 10), 2, head + y * h + h / 2 + 4); });
  const wide = Math.max(...D.columns.map(n => ruler.measureText(n).width)) + 10, skip = Math.ceil(wide / w);
  c.textAlign = 'center';
  D.columns.forEach((n, x) => { if (x % skip === 0) c.fillText(n, left + x * w + w / 2, head - 6); });
  c.textAlign = 'left';
  c.fillText(`${D.axes[0]} \\ ${D.axes[1]}`, 2, 12);
  canvas.onmousemove = event => {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - left) / w), y = Math.floor((event.clientY - box.top - head) / h);
    if (x < 0 || y < 0 || x >= D.columns.length || y >= D.rows.length) { hide(); return; }
    const v = rows[y][x], kind = kindOf(v), compared = D.compared.length ? num(D.compared[y][x]) : null;
    show(event, [`${D.rows[y]}, ${D.axes[1]} ${D.columns[x]}`, kind ? CELL[kind] : amount(v, D.unit),
      compared === null ? '' : `${plain(compared)} times the median`, marks.has(y * D.columns.length + x) ? 'marked' : '']);
  };
  canvas.onmouseleave = hide;
  place.replaceChildren(canvas);
}
dark.addEventListener('change', redraw);
onResize(redraw);
