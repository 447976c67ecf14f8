// Flame graph, outermost frame on top. A click widens a node to the whole width.
const ROW = 19;
const byKind = ['var(--library)', 'var(--user)', 'var(--label)', 'var(--unknown)', 'var(--smaller)'];

// The tree from its rows: a node comes before its children.
function tree() {
  const path = [];
  D.depth.forEach((depth, at) => {
    const node = { name: D.names[D.name[at]], kind: +D.kinds[D.name[at]], bytes: D.bytes[at], children: [] };
    if (D.sides) { node.before = D.before[at]; node.after = D.after[at]; }
    path.length = depth;
    if (depth) path[depth - 1].children.push(node);
    path.push(node);
  });
  return path[0];
}
// The same tree without frames of libraries: what these hold goes to the frame around them.
function withoutLibraries(node) {
  const copy = { ...node, children: [] };
  const byName = new Map();
  const add = child => {
    if (child.kind === 0) { child.children.forEach(add); return; }
    const key = child.kind + child.name, known = byName.get(key);
    if (!known) { byName.set(key, { ...child, children: [...child.children] }); return; }
    known.bytes += child.bytes;
    if (D.sides) { known.before += child.before; known.after += child.after; }
    known.children = known.children.concat(child.children);
  };
  node.children.forEach(add);
  copy.children = [...byName.values()].map(withoutLibraries).sort((a, b) => b.bytes - a.bytes);
  return copy;
}
const whole = tree();
let root = whole, focus = whole, searched = '';

// function · file:line, because the function is what people look for.
function short(node) {
  const parts = node.kind > 1 ? null : /^(.*?)([^\/\\]*)\((\d+)\): ([^]*)$/.exec(node.name);
  return clean(parts ? `${parts[4]} · ${parts[2]}:${parts[3]}` : node.name);
}
function colour(node) {
  if (!D.sides || node.kind > 1) return byKind[node.kind];
  const most = Math.max(node.before, node.after) || 1, change = (node.after - node.before) / most;
  const strength = Math.round(Math.sqrt(Math.min(1, Math.abs(change))) * 100);
  return `color-mix(in srgb, var(${change > 0 ? '--more' : '--less'}) ${strength}%, var(--same))`;
}
function figures(node, parent) {
  const share = of => (of ? (100 * node.bytes / of).toFixed(1) : '0') + ' %';
  const lines = [node.name];
  if (D.sides) {
    const diff = node.after - node.before;
    lines.push(`${diff >= 0 ? '+' : ''}${amount(diff, D.unit)} (${diff} bytes)`);
    lines.push(`before ${amount(node.before, D.unit)}, after ${amount(node.after, D.unit)}`);
  } else {
    lines.push(`${amount(node.bytes, D.unit)} (${node.bytes} bytes)`);
    lines.push(`${share(whole.bytes)} of all${parent ? `, ${share(parent.bytes)} of what is around it` : ''}`);
  }
  return lines;
}

const bar = el(main, 'div', { class: 'bar' });
const search = el(bar, 'input', { type: 'search', placeholder: 'find in names', 'aria-label': 'find in names' });
const matched = el(bar, 'span');
const reset = el(bar, 'button', { type: 'button' }, 'whole width');
if ([...D.kinds].includes('0')) {
  const hide = el(bar, 'label');
  const box = el(hide, 'input', { type: 'checkbox' });
  hide.append('hide frames of libraries');
  box.onchange = () => { root = focus = box.checked ? withoutLibraries(whole) : whole; redraw(); };
}
if (D.sides) {
  key(bar, 'var(--more)', 'allocates more'); key(bar, 'var(--less)', 'less'); key(bar, 'var(--same)', 'the same');
} else {
  [['1', 'user code'], ['0', 'libraries'], ['2', 'rank, owner'], ['3', 'not known']].forEach(([digit, text]) => {
    if (D.kinds.includes(digit)) key(bar, byKind[digit], text);
  });
}
const place = el(main, 'div');

function redraw() {
  const width = Math.max(320, main.clientWidth);
  const path = [];
  (function find(node, above) {
    if (node === focus) { path.push(...above, node); return true; }
    return node.children.some(child => find(child, [...above, node]));
  })(root, []);
  if (!path.length) { focus = root; path.push(root); }
  const nodes = [];
  path.forEach((node, depth) => nodes.push([node, path[depth - 1], 0, width, depth]));
  const stack = [[focus, 0, width, path.length - 1]];
  while (stack.length) {
    const [node, left, room, depth] = stack.pop();
    let x = left;
    for (const child of node.children) {
      const w = node.bytes ? room * child.bytes / node.bytes : 0;
      if (w >= 0.6) {
        nodes.push([child, node, x, w, depth + 1]);
        stack.push([child, x, w, depth + 1]);
      }
      x += w;
    }
  }
  const height = (Math.max(...nodes.map(n => n[4])) + 1) * ROW;
  const picture = draw(null, 'svg', { width, height, role: 'img' });
  let found = 0;
  const looksFor = searched && searched.toLowerCase();
  (function sum(node) {
    if (looksFor && node.name.toLowerCase().includes(looksFor)) { found += node.bytes; return; }
    node.children.forEach(sum);
  })(root);
  for (const [node, parent, x, w, depth] of nodes) {
    const hit = looksFor && node.name.toLowerCase().includes(looksFor);
    const g = draw(picture, 'g', { class: 'node' + (hit ? ' found' : '') + (depth < path.length - 1 ? ' faded' : '') });
    draw(g, 'rect', { x, y: depth * ROW, width: w, height: ROW - 1, rx: 2, style: `fill:${colour(node)}` });
    if (w > 26) {
      const diff = node.after - node.before;
      const size = D.sides ? (diff > 0 ? '+' : '') + amount(diff, D.unit) : amount(node.bytes, D.unit);
      const all = `${short(node)} · ${size}`;
      const text = ruler.measureText(all).width <= w - 8 ? all : fitted(short(node), w - 8);
      draw(g, 'text', { x: x + 4, y: depth * ROW + 13 }, text);
    }
    g.onmousemove = event => show(event, figures(node, parent));
    g.onmouseleave = hide;
    g.onclick = () => { focus = node; hide(); redraw(); };
  }
  place.replaceChildren(picture);
  matched.textContent = looksFor ? `${amount(found, D.unit)} in nodes with this, ${(100 * found / (root.bytes || 1)).toFixed(1)} %` : '';
  reset.style.visibility = focus === root ? 'hidden' : 'visible';
}
reset.onclick = () => { focus = root; redraw(); };
search.oninput = () => { searched = search.value.trim(); redraw(); };
addEventListener('keydown', event => { if (event.key === 'Escape') { focus = root; search.value = searched = ''; redraw(); } });
onResize(redraw);
