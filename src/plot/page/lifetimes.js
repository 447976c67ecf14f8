// One box per block: from its allocation to its release, as high as it is large.
const blocks = D.blocks.map(([name, place, bytes, from, to, edge]) =>
  ({ name: D.names[name], place: D.names[place], bytes, from, to: to < 0 ? D.span_ns : to, open: to < 0, edge }));
function hue(text) {
  let n = 7;
  for (const c of text) n = (n * 31 + c.codePointAt(0)) >>> 0;
  return n % 360;
}
const dark = matchMedia('(prefers-color-scheme: dark)');
const bar = el(main, 'div', { class: 'bar' });
const search = el(bar, 'input', { type: 'search', placeholder: 'find in names', 'aria-label': 'find in names' });
const matched = el(bar, 'span');
el(bar, 'span', {}, 'colours tell places in the code apart; a white edge at the right: not released');
const place = el(main, 'div');
function redraw() {
  const width = Math.max(360, main.clientWidth), height = 560, left = 64, bottom = 40, top = 10, high = D.height * 1.02 || 1;
  const x = ns => left + (width - left - 12) * ns / D.span_ns, y = b => height - bottom - (height - bottom - top) * b / high;
  const picture = draw(null, 'svg', { width, height, role: 'img' });
  for (const [v, text] of ticks(0, high, 6, D.unit)) {
    draw(picture, 'line', { class: 'grid', x1: left, x2: width - 12, y1: y(v), y2: y(v) });
    draw(picture, 'text', { class: 'soft', x: left - 6, y: y(v) + 4, 'text-anchor': 'end' }, text);
  }
  for (const [ns, text] of timeTicks(D.span_ns, 8)) {
    draw(picture, 'text', { class: 'soft', x: x(ns), y: height - bottom + 17, 'text-anchor': 'middle' }, text);
  }
  draw(picture, 'text', { class: 'soft', x: left, y: height - 6 }, `time since ${utc(D.from_ns, 0)}`);
  const wanted = search.value.trim().toLowerCase();
  let found = 0, bytes = 0;
  for (const b of blocks) {
    const w = Math.max(1, x(b.to) - x(b.from)), h = Math.max(0.7, y(b.edge) - y(b.edge + b.bytes));
    const hit = wanted && (b.name + ' ' + b.place).toLowerCase().includes(wanted);
    if (hit) { found += 1; bytes += b.bytes; }
    const fill = hit ? 'var(--found)' : `hsl(${hue(b.place || b.name)} 55% ${dark.matches ? 42 : 68}%)`;
    const g = draw(picture, 'g', { class: 'node' });
    draw(g, 'rect', { x: x(b.from), y: y(b.edge + b.bytes), width: w, height: h, style: `fill:${fill};stroke-width:${h > 3 ? 0.6 : 0}` });
    if (b.open) draw(g, 'rect', { x: x(b.to) - 2, y: y(b.edge + b.bytes), width: 2, height: h, style: 'fill:#fff;stroke:none' });
    if (h > 13 && w > 40) {
      const text = fitted(clean(`${amount(b.bytes, D.unit)}  ${b.name}  ${b.place}`), w - 8);
      draw(g, 'text', { x: x(b.from) + 4, y: y(b.edge + b.bytes / 2) + 4 }, text);
    }
    g.onmousemove = event => show(event, [b.name || '(no name)', `${amount(b.bytes, D.unit)} (${b.bytes} bytes)`, b.place,
      `allocated ${milliseconds(D.from_ns, b.from)} ms, ${span(b.from)} after the beginning`,
      b.open ? 'not released' : `lives for ${span(b.to - b.from)}`]);
    g.onmouseleave = hide;
  }
  matched.textContent = wanted ? `${found} blocks, ${amount(bytes, D.unit)}` : '';
  place.replaceChildren(picture);
}
search.oninput = redraw;
dark.addEventListener('change', redraw);
onResize(redraw);
