'use strict';
// Shows the rows of the page: sorted, filtered, some at a time. Texts become text nodes, never markup.
(() => {
  // Rows that are shown at once: thousands would take seconds.
  const STEP = 200;
  const SVG = 'http://www.w3.org/2000/svg';
  const byId = (id) => document.getElementById(id);
  const entries = JSON.parse(byId('runs').textContent);
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children.filter((it) => it !== undefined && it !== ''));
    return made;
  };

  const number = (value) => {
    const digits = Math.max(0, 3 - Math.max(1, Math.ceil(Math.log10(Math.abs(value) + 1e-9))));
    return value.toLocaleString('en', { maximumFractionDigits: Math.min(digits, 3) });
  };
  const time = (millis) => (millis >= 1000 ? `${number(millis / 1000)}\u00a0s` : `${number(millis)}\u00a0ms`);
  const NOTHING = '\u2013';
  const range = (values, show) => {
    if (!values) return NOTHING;
    const [least, most] = values.map(show);
    if (least === most) return most;
    // The unit once, where both have the same.
    const [one, other] = [least, most].map((it) => it.split('\u00a0'));
    return `${one[1] === other[1] ? one[0] : least} to ${most}`;
  };
  const cut = (text) => (text ? element('small', { class: 'cut', title: text }, text) : '');
  const duration = (millis) => {
    const seconds = Math.round(millis / 1000);
    if (seconds < 120) return time(millis);
    return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 360) / 10} h`;
  };
  const outcomeOf = (entry) => {
    if (entry.run) return entry.run.outcome;
    return entry.kind === 'unfinished' ? 'not finished' : 'not readable';
  };
  const kindOf = (outcome) => {
    if (outcome === 'Passed') return 'good';
    if (outcome === 'Inconclusive' || outcome === 'Cancelled' || outcome === 'not finished') return 'doubt';
    return outcome ? 'bad' : '';
  };
  // A verdict needs no colour.
  const SIGNS = { good: '\u2713\u00a0', doubt: '?\u00a0', bad: '\u2717\u00a0' };
  // Each segment is encoded, and the link is relative whatever the folder is called.
  const address = (entry) => `./${[...entry.folder.split('/'), entry.page].map(encodeURIComponent).join('/')}`;
  const started = (entry) => entry.run?.started || new Date(entry.stamp.modifiedMs).toISOString();

  const curve = (run) => {
    if (!run?.curve?.length) return NOTHING;
    const image = document.createElementNS(SVG, 'svg');
    const points = run.curve.length === 1 ? [run.curve[0], run.curve[0]] : run.curve;
    const line = document.createElementNS(SVG, 'polyline');
    const x = (index) => ((index * 98) / (points.length - 1) + 1).toFixed(1);
    line.setAttribute('points', points.map((it, index) => `${x(index)},${(24 - it * 0.22).toFixed(1)}`).join(' '));
    image.setAttribute('viewBox', '0 0 100 26');
    image.setAttribute('role', 'img');
    image.setAttribute('aria-label', `output tokens per second over time, at most ${number(run.curveMost)}`);
    image.append(line);
    return image;
  };

  const figure = (title, key, show) => ({
    title,
    numeric: true,
    value: (entry) => entry.run?.[key]?.[1],
    cell: (entry) => [range(entry.run?.[key], show)],
  });
  const columns = [
    {
      title: 'Run',
      kind: 'name',
      value: (entry) => entry.run?.name || entry.folder,
      cell: (entry) => {
        const name = entry.run?.name || entry.folder;
        const link = entry.page ? element('a', { href: address(entry) }, name) : name;
        return [element('span', {}, link, name === entry.folder ? '' : cut(entry.folder))];
      },
    },
    {
      title: 'Started (UTC)',
      kind: 'when',
      value: started,
      cell: (entry) => {
        const [date, time] = started(entry).split('T');
        const length = entry.run?.durationMs ? `, for ${duration(entry.run.durationMs)}` : '';
        return [element('span', {}, date, element('small', {}, (time ?? '').slice(0, 5) + length))];
      },
    },
    {
      title: 'Model',
      kind: 'model',
      value: (entry) => entry.run?.model || undefined,
      cell: (entry) => (entry.run?.model ? [element('span', {}, entry.run.model, cut(entry.run.target))] : [NOTHING]),
    },
    {
      title: 'Load',
      kind: 'texts',
      value: (entry) => entry.run?.stages || undefined,
      cell: (entry) => (entry.run?.stages ? [element('span', {}, entry.run.stages, cut(entry.run.profile))] : [NOTHING]),
    },
    {
      title: 'Outcome',
      kind: 'texts',
      value: outcomeOf,
      cell: (entry) => {
        const outcome = outcomeOf(entry);
        const remark = element('small', {}, entry.problem ?? entry.run?.remark ?? '');
        const kind = kindOf(outcome);
        return [element('span', {}, element('span', { class: kind }, (SIGNS[kind] ?? '') + outcome), remark)];
      },
    },
    {
      title: 'Requests',
      numeric: true,
      value: (entry) => (entry.kind === 'run' ? entry.run?.requests : undefined),
      cell: (entry) => {
        if (entry.kind !== 'run' || !entry.run) return [NOTHING];
        const { requests, unanswered } = entry.run;
        const missing = unanswered ? element('small', { class: 'bad' }, `${unanswered.toLocaleString('en')} not answered`) : '';
        return [element('span', {}, requests.toLocaleString('en'), missing)];
      },
    },
    figure('Output tokens/s', 'outputTokensPerSecond', number),
    { title: 'Over time', cell: (entry) => [curve(entry.run)] },
    figure('TTFT p50', 'ttftP50Ms', time),
    figure('TTFT p99', 'ttftP99Ms', time),
    figure('TPOT p50', 'tpotP50Ms', time),
    figure('Latency p99', 'latencyP99Ms', time),
  ];

  const searched = entries.map((entry) => {
    const run = entry.run ?? {};
    return [entry.folder, run.name, run.model, run.target, run.profile, run.stages, outcomeOf(entry), run.remark, entry.problem]
      .join('\n')
      .toLowerCase();
  });
  const state = { column: columns[1], down: true, shown: STEP };
  let found = [];

  const select = () => {
    const words = byId('text').value.toLowerCase().split(/\s+/).filter(Boolean);
    const [model, outcome] = [byId('model').value, byId('outcome').value];
    const places = entries.map((_, index) => index).filter((index) => {
      const entry = entries[index];
      if (model && entry.run?.model !== model) return false;
      if (outcome && outcomeOf(entry) !== outcome) return false;
      return words.every((word) => searched[index].includes(word));
    });
    const { value, numeric } = state.column;
    const keyed = places.map((index) => [value(entries[index]), index]);
    const compare = numeric ? (one, other) => one - other : collator.compare;
    keyed.sort(([one, first], [other, second]) => {
      // What has no value is last in both directions.
      if (one === undefined || other === undefined) return (one === undefined) - (other === undefined) || first - second;
      return (state.down ? compare(other, one) : compare(one, other)) || first - second;
    });
    found = keyed.map(([, index]) => entries[index]);
  };

  const body = element('tbody');
  const show = () => {
    const made = found.slice(0, state.shown).map((entry) => {
      const cells = columns.map((it) => {
        const kind = it.numeric ? 'number' : it.kind ?? 'curve';
        const cell = it.cell(entry);
        const none = cell[0] === NOTHING ? ' none' : '';
        return element('td', { class: kind + none, 'data-label': it.title }, ...cell);
      });
      return element('tr', {}, ...cells);
    });
    body.replaceChildren(...made);
    const all = entries.length.toLocaleString('en');
    const some = found.length === entries.length ? `${all} folders` : `${found.length.toLocaleString('en')} of ${all} folders`;
    byId('count').textContent = found.length ? some : `${some}: nothing matches the filters`;
    const left = found.length - state.shown;
    byId('more').hidden = left <= 0;
    byId('more').textContent = `Show ${Math.min(STEP, left)} more of ${left.toLocaleString('en')}`;
  };
  const update = () => {
    state.shown = STEP;
    select();
    show();
  };

  const heads = columns.map((column) => {
    const kind = column.numeric ? 'number' : column.kind ?? 'curve';
    const head = element('th', { scope: 'col', class: kind });
    if (!column.value) {
      head.append(element('span', { class: 'plain' }, column.title));
      return head;
    }
    const button = element('button', { type: 'button' }, column.title);
    button.addEventListener('click', () => {
      // Numbers and times begin with the largest.
      const first = Boolean(column.numeric) || column.title.startsWith('Started');
      state.down = state.column === column ? !state.down : first;
      state.column = column;
      mark();
      update();
    });
    head.append(button);
    return head;
  });
  const mark = () => {
    columns.forEach((column, index) => {
      if (column === state.column) heads[index].setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
      else heads[index].removeAttribute('aria-sort');
    });
  };

  // `12 runs: 9 Passed, 2 Failed, 1 not finished`, the most frequent outcome first.
  const answer = () => {
    const counts = new Map();
    for (const it of entries.map(outcomeOf)) counts.set(it, (counts.get(it) ?? 0) + 1);
    const sorted = [...counts].sort((one, other) => other[1] - one[1] || collator.compare(one[0], other[0]));
    const runs = `${entries.length.toLocaleString('en')} ${entries.length === 1 ? 'run' : 'runs'}`;
    if (sorted.length === 0) return 'No runs yet';
    if (sorted.length === 1) return `${runs}, ${entries.length > 1 ? 'all ' : ''}${sorted[0][0]}`;
    return `${runs}: ${sorted.map(([outcome, count]) => `${count.toLocaleString('en')} ${outcome}`).join(', ')}`;
  };
  byId('answer').textContent = answer();

  const options = (id, values) => {
    const sorted = [...new Set(values.filter(Boolean))].sort(collator.compare);
    byId(id).append(...sorted.map((it) => element('option', { value: it }, it)));
  };
  options('model', entries.map((it) => it.run?.model));
  options('outcome', entries.map(outcomeOf));
  byId('table').append(element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body));
  for (const id of ['text', 'model', 'outcome']) byId(id).addEventListener('input', update);
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  // The fields are empty after the event alone.
  byId('filters').addEventListener('reset', () => setTimeout(update, 0));
  byId('more').addEventListener('click', () => {
    state.shown += STEP;
    show();
  });

  const theme = byId('theme');
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  };
  const name = () => {
    theme.textContent = dark() ? 'Light' : 'Dark';
  };
  theme.addEventListener('click', () => {
    document.documentElement.dataset.theme = dark() ? 'light' : 'dark';
    name();
  });
  theme.hidden = false;
  byId('filters').hidden = false;
  name();
  mark();
  update();
})();
