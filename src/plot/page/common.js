// What all pictures share. Nothing here makes markup of data: texts are set as texts.
const D = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('picture');
main.replaceChildren();
const tip = el(document.body, 'div', { id: 'tip' });

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  return node;
}
function el(parent, name, attributes, text) {
  const node = set(document.createElement(name), attributes);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}
function draw(parent, name, attributes, text) {
  const node = set(document.createElementNS('http://www.w3.org/2000/svg', name), attributes);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}
// Control characters, and those that turn the direction of text, are shown and not obeyed.
function clean(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '\ufffd');
}
// Numbers that JSON does not have come as texts.
function num(value) {
  if (typeof value === 'number') return value;
  return { NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity }[value] ?? null;
}
const SIZES = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
function plain(v) {
  if (!Number.isFinite(v)) return Number.isNaN(v) ? 'NaN' : v > 0 ? '+inf' : '-inf';
  if (v === 0) return '0';
  const a = Math.abs(v);
  return a >= 1e-4 && a < 1e7 ? String(Number(v.toPrecision(5))) : v.toExponential(3);
}
function amount(value, unit) {
  if (value === null || value === undefined) return 'no value';
  const first = SIZES.indexOf(unit);
  if (first < 0 || !Number.isFinite(value)) return plain(value);
  let v = value, at = first;
  while (Math.abs(v) >= 1024 && at + 1 < SIZES.length) { v /= 1024; at += 1; }
  return (SIZES[at] === 'B' ? Math.round(v) : v.toFixed(1)) + ' ' + SIZES[at];
}
// Round values for an axis from low to high, with their texts.
function ticks(low, high, count, unit) {
  let scale = 1, name = '';
  const first = SIZES.indexOf(unit);
  if (first >= 0) {
    let at = first;
    while (Math.max(Math.abs(low), Math.abs(high)) / scale >= 1024 && at + 1 < SIZES.length) { scale *= 1024; at += 1; }
    name = ' ' + SIZES[at];
  }
  const span = (high - low) / scale || 1, rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough) || rough;
  const found = [];
  for (let n = Math.ceil(low / scale / step - 1e-9); n * step <= high / scale + step * 1e-9; n++) {
    found.push([n * step * scale, (first >= 0 ? String(Number((n * step).toPrecision(6))) : plain(n * step)) + name]);
  }
  return found;
}
function show(event, lines) {
  tip.replaceChildren();
  for (const line of lines) if (line) el(tip, 'div', {}, clean(line));
  tip.style.display = 'block';
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
  const y = event.clientY + 14 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 14;
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = Math.max(4, y) + 'px';
}
function hide() { tip.style.display = 'none'; }
const ruler = document.createElement('canvas').getContext('2d');
ruler.font = '12px system-ui, sans-serif';
function fitted(text, width) {
  if (ruler.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ruler.measureText(text.slice(0, middle) + '…').width <= width) low = middle; else high = middle - 1;
  }
  return low > 1 ? text.slice(0, low) + '…' : '';
}
function key(parent, style, text, kind) {
  const node = el(parent, 'span', { class: 'key' });
  const sign = el(node, 'i', { class: kind || '' });
  if (kind) sign.style.borderColor = style; else sign.style.background = style;
  node.append(text);
  return node;
}
// A span of ns as people say it.
function span(ns) {
  for (const [size, name] of [[3.6e12, 'h'], [6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'us']]) {
    if (ns >= size) return Number((ns / size).toPrecision(4)) + ' ' + name;
  }
  return ns + ' ns';
}
// A moment in ms since the epoch with all its digits.
function milliseconds(from, offset) {
  const ns = BigInt(from) + BigInt(Math.round(offset));
  const rest = String(ns % 1000000n).padStart(6, '0').replace(/0+$/, '');
  return String(ns / 1000000n) + (rest ? '.' + rest : '');
}
function utc(from, offset) {
  const ms = Number((BigInt(from) + BigInt(Math.round(offset))) / 1000000n);
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('T', ' ').replace('Z', ' UTC');
}
function timeTicks(ns, count) {
  const units = [[3.6e12, ' h'], [6e10, ' min'], [1e9, ' s'], [1e6, ' ms'], [1e3, ' us'], [1, ' ns']];
  const [size, name] = units.find(([s]) => ns >= s * 2) || units[5];
  return ticks(0, ns / size, count, '').map(([v, text]) => [v * size, text + name]);
}
let waiting = 0;
function onResize(redraw) {
  addEventListener('resize', () => { clearTimeout(waiting); waiting = setTimeout(redraw, 120); });
  redraw();
}
// A grid of small pictures, each drawn when it comes into view; a click chooses one.
function chooser(items, label, side, spark, choose) {
  const list = el(main, 'div', { class: 'list' });
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); entry.target.fill(); }
  }, { rootMargin: '200px' });
  const nodes = items.map((item, at) => {
    const node = el(list, 'button', { class: 'item', type: 'button' });
    const head = el(node, 'span');
    el(head, 'em', {}, clean(label(item)));
    el(head, 'b', {}, side(item));
    node.fill = () => {
      const picture = draw(node, 'svg', { width: '100%', height: 34, viewBox: '0 0 260 34', preserveAspectRatio: 'none' });
      spark(picture, item, 260, 34);
    };
    node.onclick = () => pick(at);
    seen.observe(node);
    return node;
  });
  function pick(at) {
    nodes.forEach((node, n) => node.classList.toggle('chosen', n === at));
    choose(items[at], at);
  }
  return pick;
}
